"""Operations in flight: who waits for whom, and which of them can start.

Stands between `core.py` and `threaded.py`. An operation is *admitted* in program order, becomes
*ready* when everything it depends on has been *settled*, and is settled after it ran. The rules,
for one variable: a read waits for the last write before it, a write for the last write before it
and all reads since. Nothing here locks: `threaded.py` sees to it that one thread at a time admits
and settles. The exception is `take_ready`, which any worker may call at any time.
"""

from __future__ import annotations

import heapq
import itertools

from asyncguard.engine.core import Operation, Variable

__all__ = ["Flight"]


class Flight:
    """The dependency graph of the operations that were admitted and not yet settled."""

    def __init__(self) -> None:
        self.operations: set[Operation] = set()
        self.ready: list[tuple[int, int, Operation]] = []  # a heap: priority, then program order
        self._order = itertools.count()
        self._writer: dict[Variable, Operation] = {}  # the last write in flight
        self._readers: dict[Variable, dict[Operation, None]] = {}  # the reads since that write

    def is_free(self, operation: Operation) -> bool:
        """Whether `operation` could start at once: nothing in flight comes before it."""
        writer, readers = self._writer, self._readers
        for variable in operation.reads:
            if variable in writer:
                return False
        return not any(v in writer or v in readers for v in operation.writes)

    def admit(self, operation: Operation) -> None:
        """Take `operation` into the graph, behind everything that was admitted before it."""
        self.operations.add(operation)
        operation.followers = []
        before = [*self._writers_of(operation.reads)]
        for variable in operation.reads:
            self._readers.setdefault(variable, {})[operation] = None
        before += self._writers_of(operation.writes)
        for variable in operation.writes:
            before += self._readers.pop(variable, ())
            self._writer[variable] = operation
        before = [other for other in before if other is not operation]
        operation.unmet = len(before)  # an operation may count twice, and then follows twice
        for other in before:
            other.followers.append(operation)
        if not before:
            self.make_ready(operation)

    def settle(self, operation: Operation) -> list[Operation]:
        """Take an operation that ran out of the graph; return those that can start now."""
        for variable in operation.reads:
            readers = self._readers.get(variable)
            if readers is not None and readers.pop(operation, self) is None and not readers:
                del self._readers[variable]
        for variable in operation.writes:
            if self._writer.get(variable) is operation:
                del self._writer[variable]
        self.operations.remove(operation)
        free = []
        for follower in operation.followers:
            follower.unmet -= 1
            if follower.unmet == 0:
                free.append(follower)
        operation.followers = []
        return free

    def make_ready(self, operation: Operation) -> None:
        """Offer `operation` to `take_ready`."""
        heapq.heappush(self.ready, (-operation.priority, next(self._order), operation))

    def take_ready(self) -> Operation | None:
        """Return the ready operation that comes first, None where there is none. Atomic."""
        try:
            return heapq.heappop(self.ready)[2]
        except IndexError:
            return None

    def _writers_of(self, variables: tuple[Variable, ...]) -> list[Operation]:
        return [self._writer[variable] for variable in variables if variable in self._writer]
