"""What workers do: run what is ready, and sleep where nothing is.

An operation that waits inside (for another one) gives its place to one more worker meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from asyncguard.engine.core import EngineError, Operation
from asyncguard.engine.crew import Worker
from asyncguard.engine.scheduling import Scheduler


class Workforce(Scheduler):
    """The scheduler with the crew at work."""

    _closed = False

    def _work(self, worker: Worker) -> None:
        with self._gate:
            self._searching += 1
        while (operation := self._next(worker)) is not None:
            worker.operation = operation
            self._execute(operation)
            worker.operation = None
            with self._gate:
                self._pushed -= 1
                self._bytes_in -= operation.nbytes
                operation.done = True
                self._searching += 1
            self._finished.append(operation)
            del operation  # an idle worker keeps nothing alive

    def _next(self, worker: Worker) -> Operation | None:
        """Return the operation to run next; None ends the worker."""
        while True:
            self._schedule()
            operation = self._flight.take_ready()
            if operation is not None:
                self._stop_searching()
                return operation
            if not self._rest(worker):
                return None

    def _stop_searching(self) -> None:
        with self._gate:
            self._searching -= 1
            self._must_call = True
            if self._inbox or self._finished or self._flight.ready:
                self._wake_someone()  # who does the same: as many wake as there is work

    def _rest(self, worker: Worker) -> bool:
        """Sleep until called. Return False where the worker is not needed any more."""
        with self._gate:
            self._searching -= 1
            self._must_call = True
            if len(self._threads) > self._size or (self._closed and self._is_over(None)):
                self._threads.discard(worker)
                return False
            self._idle.append(worker)
        if not self._something_to_do():
            worker.bell.acquire()
        with self._gate:
            self._idle.remove(worker)
            self._searching += 1
        return True

    def _something_to_do(self) -> bool:
        """Look again, after registering as idle: from here on others call, before they did not."""
        if self._flight.ready:
            return True
        if (self._inbox or self._finished) and self._schedule_lock.acquire(blocking=False):
            self._schedule_lock.release()
            return True
        return False

    @contextmanager
    def _place_lent(self, goal: Operation | None) -> Iterator[None]:
        """While an operation waits for `goal` inside, let one more worker run."""
        worker = self._current_worker()
        if worker is None or worker.operation is None:
            yield
            return
        if goal is not None and leads_to(worker.operation, goal, list(self._inbox)):
            raise EngineError(f"{worker.operation.name!r} waits for what depends on itself")
        with self._gate:
            self._size += 1
            self._must_call = True
            self._wake_someone()
        try:
            yield
        finally:
            with self._gate:
                self._size -= 1


def leads_to(first: Operation, goal: Operation, inbox: list[Operation]) -> bool:
    """Whether `goal` is `first` or waits for it, directly or through others."""
    behind, todo = {first}, [first]
    while todo:
        following = [other for other in list(todo.pop().followers) if other not in behind]
        behind.update(following)
        todo += following
    reads = {variable for operation in behind for variable in operation.reads}
    writes = {variable for operation in behind for variable in operation.writes}
    for operation in inbox:  # not linked yet, but in program order
        if not writes.isdisjoint(operation.reads) or not (reads | writes).isdisjoint(
            operation.writes
        ):
            behind.add(operation)
            reads.update(operation.reads)
            writes.update(operation.writes)
    return goal in behind
