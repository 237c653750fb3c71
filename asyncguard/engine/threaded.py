"""The threaded engine: worker threads run operations as soon as their variables allow.

This is the frontend's side; it stands above `working.py` (the workers), `scheduling.py`, `crew.py`
(the threads), `flight.py` (the dependency graph) and `core.py` (the words). `default.py` makes the
one that the array frontend uses. The way of an operation:

    submit -> inbox -> [schedule: run a brief one, admit any other] -> ready -> worker -> finished

**The frontend only appends.** `submit` puts the operation into the inbox, a deque, and calls a
worker where none is awake. A signal can interrupt that anywhere and tear nothing: the operation is
in the inbox or it is not.

**A waiting frontend lends its thread.** Instead of going to sleep, it runs what stands at the head
of the inbox, in program order, as long as that is brief, free and `repeatable`; so an interrupt in
the middle loses nothing, and the operation runs again. Everything else is left to the workers. The
stall is the same stall: the frontend enqueues nothing meanwhile.

**No loop stands directly inside `with lock`.** CPython 3.12 and 3.13 look for signals at the end
of a loop's body, and there do not release the lock when a signal handler raises. A call is safe.

**The end.** `close` runs everything. At interpreter exit what has not started is dropped, and what
is running is given up; failures that nobody was told of are logged. A forked child starts afresh:
what was pending is pending in the parent only, and its variables raise EngineError in the child.
"""

from __future__ import annotations

import atexit
import os
import time
import warnings
import weakref

from asyncguard.engine import hooks
from asyncguard.engine.bells import closed_bell, ring, ring_all
from asyncguard.engine.core import (
    EngineError,
    Failure,
    Operation,
    Variable,
    inherited_failure,
    record,
)
from asyncguard.engine.crew import worker_count
from asyncguard.engine.working import Workforce

__all__ = ["ThreadedEngine", "UnboundedQueueWarning"]

LAST_WAIT = 1.0  # seconds, for what runs at the end of the interpreter
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


class ThreadedEngine(Workforce):
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
        self._size = worker_count(workers)
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
        bell = closed_bell()
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

    def _sleep_until(self, operation: Operation | None) -> None:
        """Block until `operation` is done; None: until nothing is pending, or nearly so."""
        bell = closed_bell()
        with self._gate:
            if operation is None:
                self._drain_waiters.append(bell)
            else:
                self._waiters.setdefault(operation, []).append(bell)
            self._wake_someone()
        if self._is_over(operation):  # before the bell was hung: nobody may ring it
            if operation is not None:
                ring_all(self._waiters.pop(operation, []))
            return
        with self._place_lent(operation):
            bell.acquire()

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
            ring(worker.bell)
        for worker in workers:
            worker.join()
        self._throw_oldest()

    def _abandon(self) -> None:
        """The interpreter exits: drop what has not started, and let what is running end if it can.

        A BLAS library takes its threads down at exit, and hangs if a product is under way then.
        """
        self._closed = self._special = True
        self._inbox.clear()
        self._flight.ready.clear()
        until = time.monotonic() + LAST_WAIT
        for worker in list(self._threads):
            while worker.operation is not None and worker.is_alive() and time.monotonic() < until:
                time.sleep(0.001)
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


def _positive(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, or None for no limit")
    return value


_engines: weakref.WeakSet[ThreadedEngine] = weakref.WeakSet()


def _for_all(action: str) -> None:
    for engine in list(_engines):
        getattr(engine, action)()


atexit.register(_for_all, "_abandon")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _for_all("_after_fork"))
