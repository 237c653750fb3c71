"""How often each named unit waits, for a trace: nothing is looked at until one is marked."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime import units
from asyncguard.runtime.hub import hub
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Site
from asyncguard.runtime.units import Unit

KEY = "units"  # in a record's `extra`


@dataclass(slots=True)
class _Figures:
    """Of the complete units of one name."""

    count: int = 0
    waits: int = 0
    steady_count: int = 0  # of those, after the warm-up
    steady_waits: int = 0
    most: int = 0  # waits in one of the steady ones

    def add(self, waits: int, *, steady: bool) -> None:
        self.count += 1
        self.waits += waits
        if steady:
            self.steady_count += 1
            self.steady_waits += waits
            self.most = max(self.most, waits)


@dataclass(slots=True)
class _Tally:
    """Of one unit: waits for devices, and for the CPU in their stead."""

    steady: bool
    waits: int = 0
    stood_in: int = 0


class UnitCounts(Sink):
    """Counts the waits in each unit that begins and ends in a session. A `units.Listener`.

    A unit that is marked by calls is known from its first call on.
    """

    def __init__(self, recorder: Recorder, warmup: int, frameworks: frozenset[str] | None) -> None:
        self._recorder = recorder
        self._warmup = warmup
        self._frameworks = frameworks  # None: all
        self._lock = threading.Lock()
        self._begun: dict[str, int] = {}
        # By name: without, and with, what stood in for a device.
        self._figures: dict[str, tuple[_Figures, _Figures]] = {}
        self._listens = False
        self._fresh: weakref.WeakSet[Unit] = weakref.WeakSet()  # may be that, of those marked

    def start(self) -> None:
        """Look out for units."""
        units.listen(self)

    def stop(self) -> None:
        """Count no more."""
        for unit in list(self._fresh):
            unit.settle()
        units.forget(self)
        hub.remove(self)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """Add the figures of each name, where units were marked."""
        stood_in = self._recorder.stand_ins_count()
        with self._lock:
            told = [
                {"name": name, **asdict(figures[stood_in])}
                for name, figures in sorted(self._figures.items())
            ]
        return replace(record, extra={**record.extra, KEY: told}) if told else record

    def minds(self, name: str) -> bool:
        """As `units.Listener`."""
        return True

    def marked(self, unit: Unit) -> None:
        """As `units.Listener`: its waits are to be seen before it is known to have begun."""
        self._fresh.add(unit)
        self._listen()

    def withdrawn(self, unit: Unit) -> None:
        """As `units.Listener`."""

    def began(self, unit: Unit) -> None:
        """As `units.Listener`."""
        if unit.lead_of is not None:
            return
        with self._lock:
            number = self._begun.get(unit.name, 0)
            self._begun[unit.name] = number + 1
            unit.tallies[self] = _Tally(steady=number >= self._warmup)
        self._listen()

    def ended(self, unit: Unit) -> None:
        """As `units.Listener`."""
        tally = unit.tallies.pop(self, None)
        if tally is not None:
            with self._lock:
                without, whole = self._figures.setdefault(unit.name, (_Figures(), _Figures()))
                without.add(tally.waits, steady=tally.steady)
                whole.add(tally.waits + tally.stood_in, steady=tally.steady)

    def end(self, site: Site, began: Any) -> None:
        self._count(site)

    def leave(self, site: Site, entered: Any, parts: Sequence[Any]) -> None:
        self._count(site)

    def apart(self, site: Site, part: Any) -> None:
        self._count(site)

    def waited(self, site: Site, begin: int, end: int) -> None:
        self._count(site)

    def _listen(self) -> None:
        with self._lock:
            listens, self._listens = self._listens, True
        if not listens:
            hub.add(self)

    def _count(self, site: Site) -> None:
        framework = site.blocker.point.framework
        if self._frameworks is not None and framework not in self._frameworks:
            return
        for unit in units.under_way():
            tally = unit.tallies.get(self)
            if tally is not None:
                with self._lock:
                    if site.blocker.stand_in:
                        tally.stood_in += 1
                    else:
                        tally.waits += 1
