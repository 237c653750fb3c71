"""Who listens: what hooks report to while at least one session or limit is active.

The hooks of all frameworks share this one object. With nobody listening no hook is installed;
one that somebody kept a reference to finds `sink` and `scope` empty and calls straight through.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from asyncguard.model import SyncKind
from asyncguard.runtime.compiled import quick as compiled
from asyncguard.runtime.sinks import Several, Sink
from asyncguard.runtime.sites import Blocker, Site

log = logging.getLogger("asyncguard")
BATCH = 256  # waits logged before they are added up
running_loop = asyncio._get_running_loop  # of the calling thread: there tasks may run


@runtime_checkable
class Logged(Protocol):
    """A sink that hooks need not call: they append to its beat's log, and it looks there later."""

    beat: Beat

    def settle(self) -> None:
        """A log has reached its BATCH."""


class Marked(Protocol):
    """Who wants to know where steps end."""

    def mark(self, source: object | None) -> None:
        """A step ended: `source` is the optimizer, None where the user said so."""


class Beat:
    """What a read and the mark of a step touch in every step, of a sink that keeps a log.

    One object, since code that runs once a step finds no cache warm. `log` is that of one thread,
    whose id is `thread` (0 while its reads go the long way) and which is `doing`; an entry is a
    site, begin, end and step. `pacer` is the id of the optimizer whose mark ends a step beyond
    doubt, as long as it lives; else 0. `last` is when the step under way began.
    """

    __slots__ = (
        "_kept_by", "_paced_by", "clock", "doing", "last", "log", "pacer", "step", "thread",
    )  # fmt: skip

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.step = 0
        self.last = 0
        self.pacer = 0
        self.thread = 0
        self.doing = Doing()  # of no thread yet
        self.log: deque[Any] = deque()
        self._paced_by: weakref.ref[object] | None = None
        self._kept_by: weakref.ref[object] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it is some thread's already."""
        return self._kept_by is not None

    def keep(self, log: deque[Any], doing: Doing, presence: object) -> None:
        """Reads of the calling thread take the short cut, until `presence` goes: with the thread.

        (The id of a thread that ended may be given again.)
        """
        self.log, self.doing = log, doing
        self.thread = threading.get_ident()
        self._kept_by = weakref.ref(presence, self._close)

    def _close(self, _: object) -> None:
        self.thread = 0

    def lead(self, leader: object | None) -> None:
        """The mark of `leader` (None: of nobody) ends a step, without a second look."""
        self.pacer = 0
        self._paced_by = None
        if leader is not None:
            self._paced_by = weakref.ref(leader, self._forget)  # an id may be given again
            self.pacer = id(leader)

    def _forget(self, reference: object) -> None:
        if reference is self._paced_by:
            self.pacer = 0


class Collector(Protocol):
    """A call under way, inside of which reads are noted."""

    sink: Sink
    parts: list[Any]

    def add(self, began: Any, site: Site, times: int) -> None:
        """A read inside is over."""


class Composite:
    """A call under way whose waits are the reads inside, if any are seen: see `sinks`.

    Of one that does other work (SyncKind.COMPOSITE) nothing else is a wait; another one has waited
    from begin to end where no read was seen in it.
    """

    __slots__ = ("_works", "entered", "parts", "sink", "site", "times")

    def __init__(self, sink: Sink, site: Site, times: int) -> None:
        self.sink = sink
        self.site = site
        self.times = times  # how often it waits
        self.parts: list[Any] = []
        self._works = site.blocker.point.kind is SyncKind.COMPOSITE
        self.entered = sink.enter() if self._works else sink.begin()

    def charged(self, blocker: Blocker, times: int) -> tuple[Site, int] | None:
        """Whom to charge for a call inside: it, for a read; where it is on the host, on that."""
        is_read = times and blocker.point.kind is not SyncKind.COMPOSITE
        alike = blocker.stand_in == self.site.blocker.stand_in
        return (self.site, times) if is_read and alike else None

    def add(self, began: Any, site: Site, times: int) -> None:
        """A read inside is over."""
        self.parts.append(self.sink.part(site, began))

    def leave(self) -> None:
        """Report the call; where it waits more than once, all of its time as the first wait's."""
        if self.parts or self._works:
            self.sink.leave(self.site, self.entered, self.parts)
        else:
            self.sink.end(self.site, self.entered)
        for _ in range(self.times - 1):
            self.sink.end(self.site, self.sink.begin())


class Doing:
    """What one thread is doing."""

    __slots__ = ("around", "compiled", "loading", "stepping", "waiting")

    def __init__(self) -> None:
        self.compiled: object = None  # the outermost compiled function that is being called
        self.around: Collector | None = None  # inside that, and in no read within it
        self.loading = False  # inside a data loader, which works on the host
        self.waiting = False  # inside a sync point, where nested ones do not count
        self.stepping = False  # inside an optimizer's step, which may call another one's


class ThreadState(threading.local):
    """`state.doing` is the calling thread's own."""

    def __init__(self) -> None:
        self.doing = Doing()


class Hub:
    """The active sinks, step listeners and scopes of the process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.generation = 0  # 0 while nobody listens, another number each time that somebody does
        self._generations = itertools.count(1)
        self.sink: Sink = Several(())
        self.scope: Callable[[Site], Site] | None = None
        self._sinks: tuple[Sink, ...] = ()
        self.marked: tuple[Marked, ...] = ()
        self._failed: dict[str, str] = {}  # of the hooks, in this generation

    def allow(self, site: Site, times: int) -> Site:
        """Ask whoever limits waits, for each wait of a call that waits so often."""
        allowed = site
        for _ in range(times):
            if self.scope is not None:
                allowed = self.scope(site)
        return allowed

    @staticmethod
    def end(sink: Sink, site: Site, began: Any, times: int, parts: Sequence[Any] = ()) -> None:
        """Report a call that waited so often: all of its time, or its parts', as the first's."""
        if parts:
            sink.leave(site, began, parts)
        else:
            sink.end(site, began)
        for _ in range(times - 1):
            sink.end(site, sink.begin())

    @staticmethod
    def apart(sink: Sink, site: Site, part: Any, times: int) -> None:
        """Report that what was taken for a part of a call is a wait of its own, at `site`."""
        sink.apart(site, part)
        for _ in range(times - 1):
            sink.end(site, sink.begin())

    def add(self, sink: Sink) -> None:
        """Report waits to `sink` from now on."""
        with self.lock:
            self._set_sinks((*self._sinks, sink))

    def remove(self, sink: Sink) -> None:
        """Stop reporting waits to `sink`."""
        with self.lock:
            self._set_sinks(tuple(other for other in self._sinks if other is not sink))

    def set_scope(self, scope: Callable[[Site], Site] | None) -> None:
        """Let `scope` look at each site before it waits; it may raise to forbid the wait."""
        with self.lock:
            self.scope = scope
            self._set_active()

    def add_marked(self, listener: Marked) -> None:
        """Tell `listener` where steps end."""
        with self.lock:
            self._set_marked((*self.marked, listener))

    def remove_marked(self, listener: Marked) -> None:
        """Stop telling `listener` where steps end."""
        with self.lock:
            self._set_marked(tuple(other for other in self.marked if other is not listener))

    def mark(self, source: object | None) -> None:
        """A step ended."""
        for listener in self.marked:
            try:
                listener.mark(source)
            except Exception as error:  # noqa: BLE001, PERF203  the user's training must go on
                self.remove_marked(listener)
                self.fail("steps", error)

    def fail(self, what: str, error: Exception) -> None:
        """Note a fault of asyncguard's own: logged once in a generation, never raised."""
        front.reads = _SHUT  # what the short way led past minds its own faults
        if what not in self._failed:
            self._failed[what] = f"The hook of {what} failed, and waits are missing ({error!r})."
            log.error("the hook of %s failed and is off from now on", what, exc_info=error)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of hooks since somebody listens; none where nobody does."""
        return tuple(self._failed.values()) if self.generation else ()

    def _set_sinks(self, sinks: tuple[Sink, ...]) -> None:
        self._sinks = sinks
        self.sink = sinks[0] if len(sinks) == 1 else Several(sinks)
        self._set_active()

    def _set_marked(self, listeners: tuple[Marked, ...]) -> None:
        self.marked = listeners
        alone = listeners[0] if len(listeners) == 1 else None
        front.marks = alone.beat if isinstance(alone, Logged) else _SHUT

    def _set_active(self) -> None:
        sink = self.sink
        front.reads = sink.beat if self.scope is None and isinstance(sink, Logged) else _SHUT
        if not (self._sinks or self.scope):
            self.generation = 0
        elif not self.generation:
            self.generation = next(self._generations)
            self._failed = {}

    def _forked(self) -> None:
        """In a forked child nothing is recorded, and no lock that the parent held is waited for."""
        self.lock = threading.RLock()
        self.scope = None
        self._set_marked(())
        self._set_sinks(())


class Front:
    """Whose reads and marks take the short way: the only listener's, where no limit holds."""

    __slots__ = ("marks", "reads")

    def __init__(self, beat: Beat) -> None:
        self.marks = self.reads = beat


_SHUT = Beat(time.perf_counter_ns)  # of no thread, with nobody who sets the pace
front = Front(_SHUT)
hub = Hub()
state = ThreadState()


def _updated(optimizer: object, _args: Any, _kwargs: Any) -> None:
    beat = front.marks
    if id(optimizer) == beat.pacer:
        beat.last = beat.clock()
        beat.step += 1
    else:
        hub.mark(optimizer)


# Marks a step after an optimizer's update, by the short way if it sets the pace.
updated: Callable[[object, Any, Any], None] = _updated
if compiled is not None:
    updated = compiled.Mark(hub.mark, front, Beat, Doing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=hub._forked)
