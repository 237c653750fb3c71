"""The reference async engine: MXNet's dependency engine, small enough to read in an evening.

Read it in this order: `core` (the words), `naive` (runs at once), `flight` and `threaded` (worker
threads), `hooks` (how it reports itself), `default` (which engine is in use), then the array
frontend `np`: `handle`, `ndarray`, `kernels`, `infer`. `costmodel` measures t1, t2 and t3,
`pictures` draws the dependency graph and the timeline. Knows the standard library and NumPy only.

    from asyncguard import engine
    from asyncguard.engine import np

    x = np.ones((1, 2))
    y = x * 2 + 1          # enqueued; y.shape is known already
    y.wait_to_read()       # a sync point
    engine.waitall()       # another one
"""

from asyncguard.extras import needs

with needs("engine", "numpy"):
    from asyncguard.engine import np
    from asyncguard.engine.core import Engine, EngineError, Operation, Site, Variable
    from asyncguard.engine.default import current, use, waitall
    from asyncguard.engine.naive import NaiveEngine
    from asyncguard.engine.ndarray import ndarray
    from asyncguard.engine.threaded import ThreadedEngine, UnboundedQueueWarning

__all__ = [
    "Engine",
    "EngineError",
    "NaiveEngine",
    "Operation",
    "Site",
    "ThreadedEngine",
    "UnboundedQueueWarning",
    "Variable",
    "current",
    "ndarray",
    "np",
    "use",
    "waitall",
]
