"""The threaded engine: worker threads run operations as soon as their variables allow.

Stands above `core.py` (the words) and `flight.py` (the dependency graph); `default.py` makes the
one that the array frontend uses. The way of an operation:

    submit -> inbox -> [schedule: run a brief one, admit any other] -> ready -> worker -> finished

**The frontend only appends.** `submit` puts the operation into the inbox, a deque, and calls a
worker where none is awake. A signal can interrupt that anywhere and tear nothing: the operation is
in the inbox or it is not. Dependencies are found by whoever *schedules*: the one thread that holds
`_schedule_lock`, which no worker ever waits for. Who cannot have it may go on, for its holder
looks into the mailboxes (`_inbox`, `_finished`) once more after giving it back.

**Brief operations are not handed over.** Handing one to another thread costs tens of microseconds,
running it costs one. The scheduling thread runs a brief operation itself when it comes to it,
if nothing in flight stands before it.

**A waiting frontend lends its thread.** Instead of going to sleep, it runs what stands at the head
of the inbox, in program order, as long as that is brief, free and `repeatable`; so an interrupt in
the middle loses nothing, and the operation runs again. Everything else is left to the workers. The
stall is the same stall: the frontend enqueues nothing meanwhile.

**No loop stands directly inside `with lock`.** CPython 3.12 and 3.13 look for signals at the end
of a loop's body, and there do not release the lock when a signal handler raises. A call is safe.

**Nobody polls.** A worker with nothing to do blocks on its bell. `_must_call` says that a push has
to ring one: it is true while no worker is searching for work and one could. An operation that
waits inside (for another one) gives its place to one more worker until it goes on.

**The end.** `close` runs everything. At interpreter exit what has not started is dropped, and what
is running is given up; failures that nobody was told of are logged. A forked child starts afresh:
what was pending is pending in the parent only, and its variables raise EngineError in the child.
"""

from __future__ import annotations

import _thread
import atexit
import os
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asyncguard.engine import hooks
from asyncguard.engine.core import (
    Engine,
    EngineError,
    Failure,
    Operation,
    Variable,
    carry_out,
    inherited_failure,
    record,
)
from asyncguard.engine.flight import Flight

__all__ = ["ThreadedEngine", "UnboundedQueueWarning"]

WARN_BYTES = 1 << 30


class UnboundedQueueWarning(RuntimeWarning):
    """Rule ASG401 at run time: the frontend runs away from the engine and memory fills up."""


class _Fence(Operation):
    """Does nothing, but waits its turn among the reads and writes of its variables."""

    __slots__ = ()
    name = "fence"
    repeatable = True
    changes = False

    def run(self) -> None:
        """Having had its turn is all."""


class _Worker(threading.Thread):
    """A worker thread: `bell` is released to wake it, `operation` is what it is running."""

    def __init__(self, engine: ThreadedEngine, number: int) -> None:
        super().__init__(name=f"asyncguard-worker-{number}", daemon=True)
        self.engine = engine
        self.bell = _closed_bell()
        self.operation: Operation | None = None

    def run(self) -> None:
        self.engine._work(self)


class ThreadedEngine(Engine):
    """Runs operations on `workers` threads (default: ASYNCGUARD_ENGINE_WORKERS, else 1, as MXNet).

    `queue_limit` bounds the operations pending, `queue_limit_bytes` the bytes of their results; a
    push beyond either blocks, which is a sync point of kind ``queue``. Pushes made by
    operations themselves are exempt: a worker that blocked could not make room. Without a byte
    limit, UnboundedQueueWarning is given once when more than `warn_bytes` are pending.
    Threads start when first needed.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        queue_limit: int | None = None,
        queue_limit_bytes: int | None = None,
        warn_bytes: int = WARN_BYTES,
    ) -> None:
        self._size = _worker_count(workers)
        self.queue_limit = _positive("queue_limit", queue_limit)
        self.queue_limit_bytes = _positive("queue_limit_bytes", queue_limit_bytes)
        self._limited = queue_limit is not None or queue_limit_bytes is not None
        self._warn_bytes: float = float("inf") if queue_limit_bytes is not None else warn_bytes
        self._closed = False
        self._special = self._limited  # something that `submit` must look at
        self._peak_depth = 0
        self._peak_bytes = 0
        self._start_afresh()
        _engines.add(self)

    def _start_afresh(self) -> None:
        self._inbox: deque[Operation] = deque()
        self._finished: deque[Operation] = deque()
        self._flight = Flight()
        self._failures: deque[Failure] = deque()
        self._schedule_lock: Any = threading.RLock()  # typeshed does not know _is_owned
        self._scheduling = False  # a worker holds the lock; a hint for waiters to keep away
        # The gate guards what pushes and sleeping workers must agree on: all that follows.
        self._gate = threading.RLock()
        # What is pending is the difference, counted off before an operation is `done`.
        self._pushed = self._bytes_in = 0  # at the gate, less what was handed to a worker and done
        self._done = self._bytes_out = 0  # by the scheduling thread: what was not handed over
        self._threads: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._searching = 0  # workers awake and not running an operation
        self._must_call = True
        self._waiters: dict[Operation, list[_thread.LockType]] = {}
        # These two stay the same lists: who rings empties them, and misses nobody who comes late.
        self._room_waiters: list[_thread.LockType] = []
        self._drain_waiters: list[_thread.LockType] = []

    # ------------------------------------------------------------------ the frontend's side

    def submit(self, operation: Operation) -> None:
        if hooks.listeners or self._special:
            self._submit_carefully(operation)
        else:
            self._enqueue(operation)

    def _submit_carefully(self, operation: Operation) -> None:
        """Submit with all that is rare: a listener, a limit, a closed engine."""
        begin = hooks.clock()
        while not self._enqueue_if_room(operation):
            self._wait_for_room(operation)
            begin = hooks.clock()
        if hasattr(operation, "serial"):
            hooks.enqueued(self, operation, begin)

    def _enqueue_if_room(self, operation: Operation) -> bool:
        with self._gate:
            if self._closed:
                raise EngineError("the engine is closed")
            if self._limited and not self._has_room(operation):
                return False
            if hooks.listeners:
                hooks.enroll(self, operation)
            self._enqueue(operation)
            return True

    def _enqueue(self, operation: Operation) -> None:
        with self._gate:
            # Counted before it is there: interrupted in between, the count is too high, which
            # `_balance` corrects, and no limit is ever passed.
            self._pushed = pushed = self._pushed + 1
            if pushed - self._done > self._peak_depth:
                self._peak_depth = pushed - self._done
            if operation.nbytes:
                self._bytes_in += operation.nbytes
                pending = self._bytes_in - self._bytes_out
                if pending > self._peak_bytes:
                    self._peak_bytes = pending
            self._inbox.append(operation)
            operation.sign()
            if self._must_call:
                self._call_worker()
        if self._peak_bytes > self._warn_bytes:
            self._warn(operation)

    def _has_room(self, operation: Operation) -> bool:
        if self._current_worker() is not None:
            return True
        if self.queue_limit is not None and self.depth >= self.queue_limit:
            return False
        if self.queue_limit_bytes is None:
            return True
        if operation.nbytes > self.queue_limit_bytes:
            raise ValueError(
                f"the result of {operation.name!r} takes {operation.nbytes} bytes, and "
                f"the queue is limited to {self.queue_limit_bytes}"
            )
        return self.pending_bytes + operation.nbytes <= self.queue_limit_bytes

    def _wait_for_room(self, operation: Operation) -> None:
        if hooks.listeners:
            with hooks.sync_point(self, "queue", "engine.push"):
                self._make_room(operation)
        else:
            self._make_room(operation)

    def _make_room(self, operation: Operation) -> None:
        self._lend_thread(None)
        self._balance()
        bell = _closed_bell()
        with self._gate:
            self._room_waiters.append(bell)
            if self._has_room(operation):  # made before the bell was hung: nobody may ring it
                return
            self._wake_someone()
        bell.acquire()

    def _warn(self, operation: Operation) -> None:
        pending, self._warn_bytes = self.pending_bytes, float("inf")
        path, line, _ = operation.site
        warnings.warn_explicit(
            f"ASG401: {pending:,} bytes of results are pending and nothing waits for them; "
            "wait once per batch, or give the engine a queue_limit",
            UnboundedQueueWarning,
            path,
            line,
        )

    def wait_for_var(self, variable: Variable) -> None:
        if hooks.listeners:
            with hooks.sync_point(self, "barrier", "engine.wait_for_var"):
                self._await(variable.last_write)
        else:
            self._await(variable.last_write)
        if variable.failure is not None:
            variable.failure.throw()

    def wait_to_write(self, variable: Variable) -> None:
        if hooks.listeners:
            with hooks.sync_point(self, "barrier", "engine.wait_to_write"):
                self._await_fence(variable)
        else:
            self._await_fence(variable)
        if variable.failure is not None:
            variable.failure.throw()

    def wait_for_all(self) -> None:
        if hooks.listeners:
            with hooks.sync_point(self, "barrier", "engine.wait_for_all"):
                self._await_all()
        else:
            self._await_all()
        self._throw_oldest()

    def _await(self, operation: Operation | None) -> None:
        if operation is None or operation.done:
            return
        self._lend_thread(operation)
        if not operation.done:
            self._sleep_until(operation)

    def _await_fence(self, variable: Variable) -> None:
        fence = _Fence((variable,), (variable,), nbytes=0, brief=True)
        self.submit(fence)
        self._await(fence)

    def _await_all(self) -> None:
        if self._current_worker() is not None:
            raise EngineError("an operation cannot wait for all operations: it is one of them")
        self._lend_thread(None)
        while not self._is_over(None):
            self._sleep_until(None)
        self._balance()

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

    def _wake_for_mail(self) -> None:
        """Make good that a worker may have gone to sleep because this thread held the lock."""
        if self._inbox or self._finished:
            with self._gate:
                self._wake_someone()

    def _sleep_until(self, operation: Operation | None) -> None:
        """Block until `operation` is done; None: until nothing is pending, or nearly so."""
        bell = _closed_bell()
        with self._gate:
            if operation is None:
                self._drain_waiters.append(bell)
            else:
                self._waiters.setdefault(operation, []).append(bell)
            self._wake_someone()
        if self._is_over(operation):  # before the bell was hung: nobody may ring it
            if operation is not None:
                self._ring(self._waiters.pop(operation, []))
            return
        with self._place_lent(operation):
            bell.acquire()

    def _is_over(self, operation: Operation | None) -> bool:
        if operation is not None:
            return operation.done
        return not self._inbox and not self._flight.operations

    def _throw_oldest(self) -> None:
        with self._gate:  # two threads must not raise the same one
            self._throw_first_of_failures()

    def _throw_first_of_failures(self) -> None:
        while self._failures:
            if not self._failures[0].raised:
                self._failures[0].throw()
            self._failures.popleft()

    # ------------------------------------------------------------ lending the waiting thread

    def _lend_thread(self, goal: Operation | None) -> None:
        """Run what may be run from the head of the inbox until `goal` is done (None: all)."""
        if self._schedule_lock._is_owned():
            raise EngineError("a handler or finalizer that interrupts a wait cannot wait")
        if self._scheduling:
            return  # a worker is at it
        at: list[Operation] = []
        try:
            with self._schedule_lock:
                self._run_inbox(goal, at)
        except Exception as error:  # noqa: BLE001 - judged, then raised
            self._judge(at[-1] if at else None, error)
        finally:
            self._wake_for_mail()

    def _run_inbox(self, goal: Operation | None, at: list[Operation]) -> None:
        while self._inbox and (goal is None or not goal.done):
            head = self._inbox[0]
            at[:] = [head]
            if not head.done and not self._run_on_loan(head):
                break
            self._leave_inbox(head)

    def _run_on_loan(self, operation: Operation) -> bool:
        flight = self._flight
        if not (operation.brief and operation.repeatable) or (
            flight.operations and not flight.is_free(operation)
        ):
            return False
        failure = inherited_failure(operation.reads)
        if hooks.listeners and hasattr(operation, "serial"):
            with hooks.execution(self, operation, lent=True):
                if failure is None:
                    operation.run()
                record(operation, failure)
                operation.done = True  # interrupted from here on, it must not run again
        else:
            if failure is None:
                operation.run()
            record(operation, failure)
            operation.done = True
        return True

    def _judge(self, head: Operation | None, error: Exception) -> None:
        """Was `error` raised by the operation, or by a signal handler that came in between?

        A worker runs the operation again. If it fails too, the error has its place in there.
        """
        if head is not None and not head.done:
            self._sleep_until(head)
        failure = head.failure if head is not None else None
        if failure is None or type(failure.error) is not type(error):
            raise error

    # ------------------------------------------------------------------------ the workers

    def _work(self, worker: _Worker) -> None:
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

    def _next(self, worker: _Worker) -> Operation | None:
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

    def _rest(self, worker: _Worker) -> bool:
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

    def _wake_someone(self) -> None:
        if self._must_call:
            self._call_worker()

    def _call_worker(self) -> None:
        """Wake a worker, or start one where the engine may have more; called at the gate.

        Ringing comes first and clearing `_must_call` last: interrupted, it is done twice.
        """
        if self._searching:
            pass
        elif self._idle:
            _ring(self._idle[-1].bell)
        elif len(self._threads) < self._size:
            self._start_worker()
        self._must_call = False

    def _start_worker(self) -> None:
        worker = _Worker(self, len(self._threads))
        self._threads.add(worker)
        try:
            worker.start()
        finally:
            if not worker.is_alive():
                self._threads.discard(worker)

    def _current_worker(self) -> _Worker | None:
        thread = threading.current_thread()
        return thread if isinstance(thread, _Worker) and thread.engine is self else None

    @contextmanager
    def _place_lent(self, goal: Operation | None) -> Iterator[None]:
        """While an operation waits for `goal` inside, let one more worker run."""
        worker = self._current_worker()
        if worker is None or worker.operation is None:
            yield
            return
        if goal is not None and _leads_to(worker.operation, goal, list(self._inbox)):
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

    # --------------------------------------------------------------------- the scheduling

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
            self._ring(self._waiters.pop(operation, []))
        if self._room_waiters:
            self._ring(self._room_waiters)
        if self._drain_waiters and self._is_over(None):
            self._ring(self._drain_waiters)

    @staticmethod
    def _ring(bells: list[_thread.LockType]) -> None:
        try:
            while bells:
                _ring(bells.pop())
        except IndexError:
            return  # another thread rang the last one

    # ------------------------------------------------------------------ figures and the end

    @property
    def workers(self) -> int:
        """How many threads run operations."""
        return self._size

    @property
    def depth(self) -> int:
        return self._pushed - self._done

    @property
    def pending_bytes(self) -> int:
        return self._bytes_in - self._bytes_out

    @property
    def peak_depth(self) -> int:
        return self._peak_depth

    @property
    def peak_pending_bytes(self) -> int:
        return self._peak_bytes

    def reset_peaks(self) -> None:
        with self._gate:
            self._peak_depth, self._peak_bytes = self.depth, self.pending_bytes

    def close(self) -> None:
        self._await_all()
        with self._gate:
            self._closed = self._special = True
            workers = list(self._threads)
        for worker in workers:
            _ring(worker.bell)
        for worker in workers:
            worker.join()
        self._throw_oldest()

    def _abandon(self) -> None:
        """The interpreter exits: drop what has not started, leave what is running alone."""
        self._closed = self._special = True
        self._inbox.clear()
        self._flight.ready.clear()
        for failure in self._failures:
            if not failure.raised:
                notes = "".join(f" ({note})" for note in getattr(failure.error, "__notes__", ()))
                hooks.log.error("nobody waited for this failure: %r%s", failure.error, notes)

    def _after_fork(self) -> None:
        """In the child: no worker came along, so begin again without what was pending."""
        pending = [*self._inbox, *self._flight.operations]
        self._start_afresh()
        for operation in pending:
            if not operation.done:
                error = EngineError("the process forked while this operation was pending")
                record(operation, Failure(error, operation))
                operation.done = True


def _worker_count(workers: int | None) -> int:
    source = "workers"
    if workers is None:
        source = "ASYNCGUARD_ENGINE_WORKERS"
        text = os.environ.get(source, "1")
        workers = int(text) if text.isdecimal() else 0
    if workers < 1:
        raise ValueError(f"{source} must be a whole number from 1 up")
    return workers


def _positive(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, or None for no limit")
    return value


def _closed_bell() -> _thread.LockType:
    """Return a lock to sleep on: `acquire` blocks until somebody rings."""
    bell = _thread.allocate_lock()
    bell.acquire()
    return bell


def _ring(bell: _thread.LockType) -> None:
    if bell.locked():
        try:
            bell.release()
        except RuntimeError:
            return  # somebody else rang in between


def _leads_to(first: Operation, goal: Operation, inbox: list[Operation]) -> bool:
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


_engines: weakref.WeakSet[ThreadedEngine] = weakref.WeakSet()


def _for_all(action: str) -> None:
    for engine in list(_engines):
        getattr(engine, action)()


atexit.register(_for_all, "_abandon")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _for_all("_after_fork"))
