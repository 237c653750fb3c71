"""The cost model of asynchronous execution, and how far it holds for an operation.

Stands above `hooks.py` and the engines. One operation costs the frontend t1 to enqueue, a worker
t2 to execute, and the frontend t3 to get its result back. The chapter "Asynchronous Computation"
of Dive into Deep Learning
(https://d2l.ai/chapter_computational-performance/async-computation.html) says that n operations
with a wait after each take n(t1 + t2 + t3), and with one wait at the end t1 + n t2 + t3, provided
that n t2 > (n - 1) t1: that the worker is the bottleneck. Where that fails, the frontend is, and n
operations take n t1 + t2 + t3. All of it supposes that frontend and worker run at the same time.
Operations that keep Python's interpreter lock (tiny ones do) cannot, and take n(t1 + t2) + t3.
`measure` measures all of it on the engine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from asyncguard.engine import default, hooks
from asyncguard.engine.core import Engine

__all__ = ["CostModel", "measure", "report"]


@dataclass(frozen=True)
class CostModel:
    """What n operations cost: the measured parts, the predictions, and the measured totals (s)."""

    name: str
    n: int
    t1: float
    t2: float
    t3: float
    measured_synchronous: float
    measured_asynchronous: float

    @property
    def synchronous(self) -> float:
        """n(t1 + t2 + t3): the frontend waits after every operation."""
        return self.n * (self.t1 + self.t2 + self.t3)

    @property
    def asynchronous(self) -> float:
        """t1 + n t2 + t3: the frontend runs ahead and waits once."""
        return self.t1 + self.n * self.t2 + self.t3

    @property
    def frontend_bound(self) -> float:
        """n t1 + t2 + t3: what takes the place of `asynchronous` where the assumption fails."""
        return self.n * self.t1 + self.t2 + self.t3

    @property
    def serial(self) -> float:
        """n(t1 + t2) + t3: what operations take that keep Python's interpreter lock."""
        return self.n * (self.t1 + self.t2) + self.t3

    @property
    def worker_is_bottleneck(self) -> bool:
        """The assumption of the model: n t2 > (n - 1) t1."""
        return self.n * self.t2 > (self.n - 1) * self.t1


@dataclass(eq=False)
class _Parts(hooks.Listener):
    """Collects t1 and t2 of each operation, and when each ended."""

    t1: list[int] = field(default_factory=list)
    t2: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)

    def enqueued(self, event: hooks.Enqueue) -> None:
        self.t1.append(event.t_end - event.t_begin)

    def executed(self, event: hooks.Execution) -> None:
        self.t2.append(event.t_end - event.t_begin)
        self.ended.append(event.t_end)


def measure(
    operation: Callable[[], object],
    n: int,
    *,
    name: str = "operation",
    clock: hooks.Clock = time.perf_counter_ns,
) -> CostModel:
    """Measure t1, t2 and t3 of `operation`, which enqueues once, and both totals for `n` of them.

    All three are medians of `n`: t1 of the time in which `operation` returns while the engine has
    nothing else to do, t2 of the executions as the engine reports them, t3 of the time from the
    end of an execution to the return of the wait for it (some microseconds of it are the
    reporting; with tiny operations they show). The totals are taken with nobody listening. `clock`
    counts ns. Uses the engine in use; raises ValueError where `n` is not positive.
    """
    if n < 1:
        raise ValueError("n must be at least 1")
    engine = default.current()
    operation()
    engine.wait_for_all()
    return CostModel(
        name,
        n,
        _time_of_enqueue(engine, operation, n, clock),
        _time_of_execution(engine, operation, n, clock),
        _time_of_return(engine, operation, n, clock),
        _synchronous_total(engine, operation, n, clock),
        _asynchronous_total(engine, operation, n, clock),
    )


@contextmanager
def listening(clock: hooks.Clock) -> Iterator[_Parts]:
    """Collect parts within the block."""
    parts = _Parts()
    hooks.attach(parts, clock)
    try:
        yield parts
    finally:
        hooks.detach(parts)


def _time_of_enqueue(
    engine: Engine, operation: Callable[[], object], n: int, clock: hooks.Clock
) -> float:
    times = []
    for _ in range(n):
        begin = clock()
        operation()
        times.append(clock() - begin)
        engine.wait_for_all()  # alone: a worker that ran beside it would share the interpreter
    return statistics.median(times) / 1e9


def _time_of_execution(
    engine: Engine, operation: Callable[[], object], n: int, clock: hooks.Clock
) -> float:
    with listening(clock) as parts:
        for _ in range(n):
            operation()
        engine.wait_for_all()
    return statistics.median(parts.t2) / 1e9


def _time_of_return(
    engine: Engine, operation: Callable[[], object], n: int, clock: hooks.Clock
) -> float:
    times = []
    for _ in range(n):
        with listening(clock) as parts:
            operation()
            engine.wait_for_all()
            times.append(clock() - parts.ended[-1])
    return statistics.median(times) / 1e9


def _synchronous_total(
    engine: Engine, operation: Callable[[], object], n: int, clock: hooks.Clock
) -> float:
    begin = clock()
    for _ in range(n):
        operation()
        engine.wait_for_all()
    return (clock() - begin) / 1e9


def _asynchronous_total(
    engine: Engine, operation: Callable[[], object], n: int, clock: hooks.Clock
) -> float:
    begin = clock()
    for _ in range(n):
        operation()
    engine.wait_for_all()
    return (clock() - begin) / 1e9


def report(model: CostModel) -> str:
    """Return the model beside the measurements, in words, one line each."""
    lines = [
        f"{model.name}, n = {model.n:,}",
        f"  t1 enqueue {_us(model.t1)}, t2 execute {_us(model.t2)}, t3 return {_us(model.t3)}",
        f"  n(t1 + t2 + t3) {_ms(model.synchronous)}, "
        f"measured with a wait after each {_ms(model.measured_synchronous)}",
        f"  t1 + n t2 + t3  {_ms(model.asynchronous)}, "
        f"measured with one wait {_ms(model.measured_asynchronous)}",
    ]
    left, right = model.n * model.t2, (model.n - 1) * model.t1
    sides = f"n t2 {_ms(left)}, (n - 1) t1 {_ms(right)}"
    if model.worker_is_bottleneck:
        lines.append(f"  {sides}: n t2 > (n - 1) t1 holds, the worker is the bottleneck")
    else:
        lines.append(f"  {sides}: n t2 > (n - 1) t1 fails, the frontend is the bottleneck,")
        lines.append(
            f"  and n t1 + t2 + t3 = {_ms(model.frontend_bound)} is what to expect instead"
        )
    lines.append(
        f"  n(t1 + t2) + t3 = {_ms(model.serial)} if both sides need Python's lock throughout"
    )
    return "\n".join(lines)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} us"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms"
