"""The engine that waits at once: every operation runs inside `submit`, in the caller's thread.

Stands beside `threaded.py` with the same interface; `ASYNCGUARD_ENGINE=naive` chooses it, as
MXNET_ENGINE_TYPE=NaiveEngine does in MXNet. It is there to debug with, and to check against: what
an operation raises comes out of the very line that pushed it, and every result is known.
"""

from __future__ import annotations

import threading

from asyncguard.engine import hooks
from asyncguard.engine.core import (
    Engine,
    EngineError,
    Operation,
    Variable,
    carry_out,
)

__all__ = ["NaiveEngine"]


class NaiveEngine(Engine):
    """Runs each operation as it is pushed. Nothing is ever pending between two calls."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # one operation at a time; an operation may push others
        self._closed = False
        self._running: list[Operation] = []  # innermost last: an operation may push others
        self._peak_depth = 0
        self._peak_bytes = 0

    def submit(self, operation: Operation) -> None:
        """Run `operation` now; raises what it raises."""
        if self._closed:
            raise EngineError("the engine is closed")
        with self._lock:
            self._run(operation)
        if operation.failure is not None:
            operation.failure.throw()

    def _run(self, operation: Operation) -> None:
        self._running.append(operation)
        self._peak_depth = max(self._peak_depth, self.depth)
        self._peak_bytes = max(self._peak_bytes, self.pending_bytes)
        try:
            if hooks.listeners:
                self._run_observed(operation)
            else:
                carry_out(operation)
        finally:
            self._running.remove(operation)
            operation.release()

    def _run_observed(self, operation: Operation) -> None:
        begin = hooks.clock()
        hooks.enroll(self, operation)
        hooks.enqueued(self, operation, begin)
        with hooks.execution(self, operation, lent=False):
            carry_out(operation)

    def wait_for_var(self, variable: Variable) -> None:
        self._report("engine.wait_for_var")
        if variable.failure is not None:
            variable.failure.throw()

    def wait_to_write(self, variable: Variable) -> None:
        self._report("engine.wait_to_write")
        if variable.failure is not None:
            variable.failure.throw()

    def wait_for_all(self) -> None:
        """Return at once: failures were raised where they happened."""
        self._report("engine.wait_for_all")

    def _report(self, api: str) -> None:
        """Report a wait that has nothing to wait for: it is a sync point all the same."""
        if hooks.listeners:
            with hooks.sync_point(self, "barrier", api):
                pass

    def close(self) -> None:
        self._closed = True

    @property
    def depth(self) -> int:
        return len(self._running)

    @property
    def pending_bytes(self) -> int:
        return sum(operation.nbytes for operation in self._running)

    @property
    def peak_depth(self) -> int:
        return self._peak_depth

    @property
    def peak_pending_bytes(self) -> int:
        return self._peak_bytes

    def reset_peaks(self) -> None:
        self._peak_depth, self._peak_bytes = self.depth, self.pending_bytes
