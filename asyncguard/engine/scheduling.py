"""The scheduling: from the mailboxes to what is ready, and from what is done to who waits for it.

Dependencies are found by whoever *schedules*: the one thread that holds `_schedule_lock`, which no
worker ever waits for. Who cannot have it may go on, for its holder looks into the mailboxes
(`_inbox`, `_finished`) once more after giving it back.

**Brief operations are not handed over.** Handing one to another thread costs tens of microseconds,
running it costs one. The scheduling thread runs a brief operation itself when it comes to it,
if nothing in flight stands before it.
"""

from __future__ import annotations

import _thread
import threading
from collections import deque
from typing import Any

from asyncguard.engine import hooks
from asyncguard.engine.bells import ring_all
from asyncguard.engine.core import Failure, Operation, carry_out
from asyncguard.engine.crew import Crew
from asyncguard.engine.flight import Flight


class Scheduler(Crew):
    """What is pending, in which order it may run, and who waits for it."""

    def _start_afresh(self) -> None:
        super()._start_afresh()
        self._inbox: deque[Operation] = deque()
        self._finished: deque[Operation] = deque()
        self._flight = Flight()
        self._failures: deque[Failure] = deque()
        self._schedule_lock: Any = threading.RLock()  # typeshed does not know _is_owned
        self._scheduling = False  # a worker holds the lock; a hint for waiters to keep away
        # What is pending is the difference, counted off before an operation is `done`.
        self._pushed = self._bytes_in = 0  # at the gate, less what was handed to a worker and done
        self._done = self._bytes_out = 0  # by the scheduling thread: what was not handed over
        self._waiters: dict[Operation, list[_thread.LockType]] = {}
        # These two stay the same lists: who rings empties them, and misses nobody who comes late.
        self._room_waiters: list[_thread.LockType] = []
        self._drain_waiters: list[_thread.LockType] = []

    def _schedule(self) -> None:
        """Sort the mailboxes, unless another thread is at it; it will see what is in them."""
        while (self._finished or self._inbox) and self._schedule_lock.acquire(blocking=False):
            self._scheduling = True
            try:
                self._sort_finished()
                self._sort_inbox()
            finally:
                self._scheduling = False
                self._schedule_lock.release()
            if self._flight.ready:
                break

    def _sort_inbox(self) -> None:
        """Run what is brief and free, admit the rest; stop early if that lets others begin."""
        inbox, flight = self._inbox, self._flight
        for _ in range(len(inbox)):
            operation = inbox[0]
            if operation.done:  # a waiter ran it and was interrupted before it said so
                self._leave_inbox(operation)
            elif operation.brief and (not flight.operations or flight.is_free(operation)):
                self._execute(operation)
                self._count(operation)
                inbox.popleft()
                self._retire(operation)
            else:
                flight.admit(operation)
                inbox.popleft()
            if self._finished:
                self._sort_finished()
            if flight.ready and (self._idle or len(self._threads) < self._size):
                break

    def _sort_finished(self) -> None:
        finished, flight = self._finished, self._flight
        while finished:
            operation = finished.popleft()
            free = flight.settle(operation)
            self._retire(operation)
            for follower in free:
                if follower.brief:
                    self._execute(follower)
                    self._count(follower)
                    finished.append(follower)
                else:
                    flight.make_ready(follower)

    def _execute(self, operation: Operation) -> None:
        if hooks.listeners and hasattr(operation, "serial"):
            with hooks.execution(self, operation, lent=False):
                failure = carry_out(operation)
        else:
            failure = carry_out(operation)
        if failure is not None:
            while self._failures and self._failures[0].raised:
                self._failures.popleft()
            self._failures.append(failure)

    def _leave_inbox(self, operation: Operation) -> None:
        self._inbox.popleft()
        self._count(operation)
        self._retire(operation)

    def _count(self, operation: Operation) -> None:
        self._done += 1
        self._bytes_out += operation.nbytes
        operation.done = True

    def _retire(self, operation: Operation) -> None:
        """`operation` is done and out of the queue: let go, tell who waits."""
        operation.release()
        if self._waiters:
            ring_all(self._waiters.pop(operation, []))
        if self._room_waiters:
            ring_all(self._room_waiters)
        if self._drain_waiters and self._is_over(None):
            ring_all(self._drain_waiters)

    def _is_over(self, operation: Operation | None) -> bool:
        if operation is not None:
            return operation.done
        return not self._inbox and not self._flight.operations

    def _wake_for_mail(self) -> None:
        """Make good that a worker may have gone to sleep because this thread held the lock."""
        if self._inbox or self._finished:
            with self._gate:
                self._wake_someone()

    def _balance(self) -> None:
        """Correct the counts that an interrupt may have torn, if nothing is pending."""
        if self._pushed == self._done:
            return
        try:
            with self._schedule_lock, self._gate:
                if self._is_over(None):
                    self._done, self._bytes_out = self._pushed, self._bytes_in
        finally:
            self._wake_for_mail()
