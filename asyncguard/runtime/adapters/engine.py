"""The reference engine: it reports its sync points itself, and the device's idle time with them.

No attribute is replaced: the engine asks before each wait, which a limit may then refuse.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

from asyncguard.catalogue import SyncPoint
from asyncguard.engine import current, hooks, ndarray
from asyncguard.model import SyncKind
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.adapter import Clock, Undo
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.frames import nearest
from asyncguard.runtime.hub import hub
from asyncguard.runtime.sinks import Event
from asyncguard.runtime.sites import Blocker, Site, ranks
from asyncguard.runtime.transit import RESULT, Copy, Slotted, on_host
from asyncguard.version import __version__

# What the engine calls by the method that was entered, and the catalogue by what it does.
_OTHER_NAMES = {
    "engine.ndarray.__str__": "engine.ndarray.__repr__",
    "engine.ndarray.wait_to_write": "engine.ndarray.wait_to_read",
    "engine.wait_to_write": "engine.wait_for_var",
    "engine.ndarray._read_masked": "engine.ndarray.__getitem__.mask",
}


class Adapter(Base):
    """asyncguard.engine: listens instead of patching."""

    patches = False

    @classmethod
    def copier(cls) -> Copier:
        """By an operation of the engine's."""
        return Copier()

    def device_of(self, value: Any) -> str | None:
        """The host, on which the engine runs."""
        return "cpu" if isinstance(value, ndarray) else None

    def install(self, clock: Clock) -> Undo:
        """Listen. The engine has one clock for all of its listeners: the first session's."""
        listener = _Listener({point.id: point for point in self.framework.sync}, clock)
        hooks.attach(listener, clock)
        self._listener = listener
        return lambda: hooks.detach(listener)

    def peak_pending_bytes(self) -> int:
        """The engine says so at each enqueue."""
        return self._listener.peak_pending_bytes

    def version(self) -> str:
        """The engine is part of asyncguard."""
        return __version__


class _Listener(hooks.Listener):
    """Turns what the engine reports into waits at sites, and timeline events."""

    raises = (SyncLimitExceeded,)

    def __init__(self, points: dict[str, SyncPoint], clock: Clock) -> None:
        self._points = points
        self._clock = clock
        self._blockers: dict[str, Blocker] = {}
        self._begun: dict[int, Site] = {}  # id of the sync point -> where it waits
        self.peak_pending_bytes = 0
        self._unsettled: dict[int, tuple[hooks.Sync, Site]] = {}

    def begins(self, sync: hooks.Sync) -> None:
        site = self._blocker(sync).site(nearest(sys._getframe(), ranks))
        if site is not None:
            self._begun[id(sync)] = hub.scope(site) if hub.scope is not None else site

    def synced(self, sync: hooks.Sync) -> None:
        site = self._begun.pop(id(sync), None)
        if site is None:
            return
        hub.sink.waited(site, sync.t_begin, sync.t_end)
        if sync.settled:
            self._report_idle(sync, site)
        else:
            self._unsettled[id(sync)] = (sync, site)

    def settled(self, sync: hooks.Sync) -> None:
        _, site = self._unsettled.pop(id(sync), (sync, None))
        if site is not None:
            self._report_idle(sync, site)

    def enqueued(self, event: hooks.Enqueue) -> None:
        self.peak_pending_bytes = max(self.peak_pending_bytes, event.pending_bytes)
        hub.sink.event(
            Event(
                "enqueue",
                event.name,
                event.t_begin,
                event.t_end,
                serial=event.serial,
                nbytes=event.nbytes,
            )
        )

    def executed(self, event: hooks.Execution) -> None:
        span = event.t_begin, event.t_end
        hub.sink.event(Event("run", event.name, *span, event.worker, event.serial))

    def _report_idle(self, sync: hooks.Sync, site: Site) -> None:
        now = max(self._clock(), sync.t_end)
        hub.sink.idled(site, now - sync.idle_ns, now)

    def _blocker(self, sync: hooks.Sync) -> Blocker:
        blocker = self._blockers.get(sync.api)
        if blocker is None:
            blocker = self._blockers[sync.api] = Blocker(self._point(sync), "cpu", stand_in=False)
        return blocker

    def _point(self, sync: hooks.Sync) -> SyncPoint:
        """The catalogue's entry; one of the same kind where it has none of that name."""
        point = self._points.get(_OTHER_NAMES.get(sync.api, sync.api))
        if point is None:
            kind = SyncKind(sync.kind)
            points = list(self._points.values())
            like = next((p for p in points if p.kind is kind), points[0])
            point = like._replace(id=sync.api)
        return point


class Copier:
    """The engine's arrays: one operation copies all of them."""

    framework = "engine"

    def takes(self, kind: type) -> bool:
        """Whether it is the engine's array."""
        return issubclass(kind, ndarray)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """Enqueue the operation."""
        return [_Flight([slot for slot, _ in arrays], [array for _, array in arrays])]


class _Flight:
    """An operation that copies arrays, and the variable that it writes when it has."""

    reports = True

    def __init__(self, slots: Sequence[int], arrays: Sequence[Any]) -> None:
        self.slots = slots
        self.source = arrays[0]
        self._values: list[Any] = []
        stores = [array._store for array in arrays]
        engine = current()
        self._done = engine.new_variable()
        engine.push(
            lambda: self._values.extend(on_host(store.data) for store in stores),
            reads=dict.fromkeys(chain.from_iterable(array._vars for array in arrays)),
            writes=(self._done,),
            name="later",
            nbytes=sum(array.nbytes for array in arrays),
        )

    def done(self) -> bool:
        """Whether the operation has run, or has failed."""
        return self._done.version > 0

    def wait(self) -> None:
        """Wait for it, as a sync point of the engine's own."""
        engine = current()
        with hooks.sync_point(engine, "barrier", RESULT):
            engine.wait_for_var(self._done)

    def fetch(self) -> list[Any]:
        """The values; raises what computing them raised."""
        if self._done.failure is not None:
            self._done.failure.throw()
        return self._values
