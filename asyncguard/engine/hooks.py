"""How the engine reports itself: sync points, enqueues and executions, as they happen.

Stands below every other module of the package and imports none of them. The engines and the
array frontend call in here, a listener (the runtime's adapter, `pictures.Recording`, the cost
model) is called from here. Nothing else leaves the engine.

    from asyncguard.engine import hooks

    class Mine(hooks.Listener):
        def synced(self, sync):     # in the thread that waited, the user's frames on the stack
            print(sync.kind, sync.api, sync.t_end - sync.t_begin)
        def settled(self, sync):    # later, from any thread: sync.idle_ns is now final
            print(sync.idle_ns)

    mine = Mine()
    hooks.attach(mine)              # or attach(mine, clock=my_clock)
    ...
    hooks.detach(mine)

What a listener can count on:

* `synced` is called once for each outermost blocker: a `print(y)` that waits inside `__str__`
  is one sync point of kind ``text``. A wait on a finished value is a sync point too, a short one.
* `sync.idle_ns` is the time for which the wait left the engine without work: nothing running
  and nothing queued. It counts from the moment the engine ran dry within the wait up to the start
  of the next operation; where the engine was dry before the wait began, only the wait itself
  counts. Each idle instant belongs to one sync point at most. It is final once `settled` is
  called: at the start of the next operation, or on `detach` where none followed.
* Operations enqueued before `attach` are not reported. Attach to an idle engine where the idle
  time must be exact.
* All times are whole nanoseconds of one clock, the one given to `attach`.
* `begins` is called before each outermost blocker; it may refuse the wait by raising one of
  `raises`: then nothing waits, and `synced` is not called.
* A listener that raises is detached and its error logged, and the program runs on. The exceptions
  that it names in `raises` are meant for the user and go through.

With no listener attached the engine reads `listeners` once per call and does nothing more.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncguard.idle import ENDLESS, Bubble, DryMeter

if TYPE_CHECKING:
    from asyncguard.engine.core import Engine, Operation, Site, Variable

__all__ = ["Enqueue", "Execution", "Listener", "Sync", "attach", "detach"]

Clock = Callable[[], int]

log = logging.getLogger("asyncguard.engine")


@dataclass(slots=True)
class Sync:
    """One sync point: `thread` was blocked from `t_begin` to `t_end` (ns of the hook clock).

    `kind` is one of ``barrier scalar array text truth shape upload queue``, `api` the public name,
    as ``engine.ndarray.wait_to_read``. `idle_ns` is final once `settled`.
    """

    kind: str
    api: str
    t_begin: int
    thread: int
    t_end: int = 0
    idle_ns: int = 0
    settled: bool = False

    @property
    def begin(self) -> int:
        """When it began."""
        return self.t_begin

    @property
    def end(self) -> int:
        """When it ended; ENDLESS while it lasts."""
        return self.t_end or ENDLESS


@dataclass(frozen=True, slots=True)
class Enqueue:
    """One operation was handed over: the frontend spent `t_begin` to `t_end` (t1) on it.

    `reads` and `writes` name variables by numbers that are never used again within the process;
    `depth` and `pending_bytes` are those of the queue just after; `nbytes` is the result's size.
    """

    serial: int
    name: str
    t_begin: int
    t_end: int
    thread: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    nbytes: int
    depth: int
    pending_bytes: int
    site: Site


@dataclass(frozen=True, slots=True)
class Execution:
    """One operation ran from `t_begin` to `t_end` (t2) on the thread called `worker`.

    `lent` is True where a waiting frontend ran it in a worker's stead.
    """

    serial: int
    name: str
    t_begin: int
    t_end: int
    worker: str
    lent: bool
    failed: bool


class Listener:
    """Base of all listeners: override what you need. Instances are compared by identity."""

    raises: tuple[type[BaseException], ...] = ()
    """Exceptions that `begins` raises on purpose and that must reach the user's line."""

    def enqueued(self, event: Enqueue) -> None:
        """Called in the frontend's thread after each operation is queued."""

    def executed(self, event: Execution) -> None:
        """Called in the thread that ran the operation, after it."""

    def begins(self, sync: Sync) -> None:
        """Called in the thread that is about to wait; the times of `sync` are not set yet."""

    def synced(self, sync: Sync) -> None:
        """Called in the thread that waited, when the wait is over."""

    def settled(self, sync: Sync) -> None:
        """Called once per sync point, from any thread, when `sync.idle_ns` is final."""


class IdleMeter:
    """Charges the time in which one engine had no work to the sync point that caused it.

    The rule is `asyncguard.idle`'s; here is the engine's queue, and the lock of its threads. Each
    method returns the sync point whose idle time is final now, if there is one.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pending = 0  # operations enqueued and not yet ended
        self._meter: DryMeter[Sync] = DryMeter()

    def enqueued(self) -> None:
        with self._lock:
            self._pending += 1
            self._meter.refilled()

    def started(self, now: int) -> Sync | None:
        """An operation starts."""
        with self._lock:
            return _charged(self._meter.started(now))

    def ended(self, now: int) -> None:
        with self._lock:
            self._pending -= 1
            if self._pending == 0:
                self._meter.ran_dry(now, now)

    def wait_began(self, sync: Sync) -> Sync | None:
        """A wait begins; it may relieve an earlier one."""
        with self._lock:
            return _charged(self._meter.wait_began(sync))

    def wait_ended(self, sync: Sync) -> bool:
        """A wait ends; return whether its idle time is final already."""
        with self._lock:
            _charged(self._meter.wait_ended(sync))
            return not self._meter.owes(sync)

    def close(self) -> Sync | None:
        """Nothing more will be reported: what is still owed ends with the wait itself."""
        with self._lock:
            return _charged(self._meter.close())


def _charged(bubble: Bubble | None) -> Sync | None:
    if bubble is None:
        return None
    sync: Sync = bubble.wait
    sync.idle_ns += bubble.end - bubble.begin
    return sync


listeners: tuple[Listener, ...] = ()
"""Who listens. Read by the engine on every call; changed by `attach` and `detach` alone."""

clock: Clock = time.perf_counter_ns

_change = threading.RLock()
_serials = itertools.count(1)
_meters: weakref.WeakKeyDictionary[Engine, IdleMeter] = weakref.WeakKeyDictionary()
_variables: weakref.WeakKeyDictionary[Variable, int] = weakref.WeakKeyDictionary()
_inside = threading.local()


def attach(listener: Listener, clock: Clock = time.perf_counter_ns) -> None:
    """Report to `listener` from now on. `clock` returns ns and never runs backwards.

    Raises ValueError where the listener is attached already, or where others are attached
    with another clock: times of two clocks do not compare.
    """
    global listeners
    with _change:
        if listener in listeners:
            raise ValueError("this listener is attached already")
        if listeners and clock is not globals()["clock"]:
            raise ValueError("listeners are attached with another clock; detach them first")
        if not listeners:
            globals()["clock"] = clock
            _meters.clear()
        listeners = (*listeners, listener)


def detach(listener: Listener) -> None:
    """Stop reporting to `listener`; settle what no later operation can settle."""
    global listeners
    with _change:
        if listener not in listeners:
            raise ValueError("this listener is not attached")
        if len(listeners) == 1:
            _settle_all()
        listeners = tuple(other for other in listeners if other is not listener)


def _settle_all() -> None:
    for meter in list(_meters.values()):
        _settled(meter.close())


@contextmanager
def sync_point(engine: Engine, kind: str, api: str) -> Iterator[None]:
    """Report the body as one sync point, unless it runs inside another one of this thread."""
    if getattr(_inside, "sync", False):
        yield
        return
    sync = Sync(kind, api, 0, threading.get_ident())
    _emit("begins", sync)
    sync.t_begin = clock()
    meter = _meter(engine)
    _inside.sync = True
    _settled(meter.wait_began(sync))
    try:
        yield
    finally:
        _inside.sync = False
        sync.t_end = clock()
        final = meter.wait_ended(sync)
        _emit("synced", sync)
        if final:
            _settled(sync)


def enqueued(engine: Engine, operation: Operation, t_begin: int) -> None:
    """Report that `operation` is in the queue of `engine`; called by engines."""
    _emit(
        "enqueued",
        Enqueue(
            operation.serial,
            operation.name,
            t_begin,
            clock(),
            threading.get_ident(),
            tuple(map(_number, operation.reads)),
            tuple(map(_number, operation.writes)),
            operation.nbytes,
            engine.depth,
            engine.pending_bytes,
            operation.site,
        ),
    )


def enroll(engine: Engine, operation: Operation) -> None:
    """Number an operation that is about to be enqueued; called by engines."""
    operation.serial = next(_serials)
    _meter(engine).enqueued()


@contextmanager
def execution(engine: Engine, operation: Operation, lent: bool) -> Iterator[None]:
    """Report the body as the execution of `operation`; called by engines."""
    serial, name = operation.serial, operation.name
    begin = clock()
    _settled(_meter(engine).started(begin))
    yield  # raises where a loan is interrupted: the operation did not end and runs again
    end = clock()
    _meter(engine).ended(end)
    failed = operation.failure is not None
    worker = threading.current_thread().name
    _emit("executed", Execution(serial, name, begin, end, worker, lent, failed))


def _after_fork() -> None:
    global _change
    _change = threading.RLock()
    _meters.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _meter(engine: Engine) -> IdleMeter:
    meter = _meters.get(engine)
    if meter is None:
        with _change:
            meter = _meters.setdefault(engine, IdleMeter())
    return meter


def _number(variable: Variable) -> int:
    number = _variables.get(variable)
    if number is None:
        with _change:
            number = _variables.setdefault(variable, next(_serials))
    return number


def _settled(sync: Sync | None) -> None:
    if sync is not None and not sync.settled:
        sync.settled = True
        _emit("settled", sync)


def _emit(method: str, event: Sync | Enqueue | Execution) -> None:
    for listener in listeners:
        _tell(listener, method, event)


def _tell(listener: Listener, method: str, event: Sync | Enqueue | Execution) -> None:
    try:
        getattr(listener, method)(event)
    except Exception as error:
        if method == "begins" and isinstance(error, listener.raises):
            raise
        log.exception("%r raised in %s() and is detached", listener, method)
        detach(listener)
