"""Traces of some steps of a long run: wait, warm up, record, and again.

While it waits only the ends of steps are watched, so that a training of days can keep it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from asyncguard.model import AsyncguardError, SiteStats, TraceRecord
from asyncguard.runtime.figures import Figures, Totals
from asyncguard.runtime.hub import hub
from asyncguard.runtime.options import Options
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import Session
from asyncguard.runtime.steps import Pace

OnRecord = Callable[[TraceRecord], object]


@dataclass(frozen=True)
class Schedule:
    """Which steps of a run are recorded, as in `torch.profiler.schedule`.

    wait:   steps of each cycle that are not recorded at all.
    warmup: steps that are recorded and kept apart from the per-step figures.
    active: steps that are recorded.
    repeat: how many cycles; 0: until the trace stops.

    Raises AsyncguardError for numbers below 0, or an `active` of 0.
    """

    wait: int = 0
    warmup: int = 1
    active: int = 10
    repeat: int = 1

    def __post_init__(self) -> None:
        for name, least in (("wait", 0), ("warmup", 0), ("active", 1), ("repeat", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise AsyncguardError(f"schedule: {name} must be {least} or more, not {value!r}")


class Cycles:
    """Runs a session in each cycle of a schedule. A `hub.Marked`, and to a trace a session.

    `on_record` is handed the record of each cycle, in the thread that ended its last step. `record`
    is the record of the cycle under way, else that of the last one.
    """

    def __init__(
        self, options: Options, schedule: Schedule, on_record: OnRecord | None = None
    ) -> None:
        self._options = replace(options, warmup=schedule.warmup)
        self._schedule = schedule
        self._on_record = on_record
        self._lock = threading.RLock()
        self._pace = Pace()
        self._step = 0  # of the cycle
        self._left = schedule.repeat or -1  # cycles; below 0: without end
        self._session = Session(self._options)  # of the cycle under way, or of the last one
        self._is_recording = self._is_watching = self.has_started = False

    def start(self) -> Cycles:
        """Watch the ends of steps from now on. Raises RuntimeError the second time."""
        if self.has_started:
            raise RuntimeError("a schedule can be started only once; make another trace")
        self.has_started = self._is_watching = True
        registry.acquire(self._options.watched, self._options.clock)
        try:
            hub.add_marked(self)
            self._begin_cycle()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Watch no more, and end the cycle that is under way."""
        with self._lock:
            if not self._is_watching:
                return
            self._is_watching = False
            hub.remove_marked(self)
            try:
                record = self._end_session()
            finally:
                registry.release(self._options.watched, self._options.clock)
        self._hand_on(record)

    def failed(self, error: BaseException | None) -> None:
        """Note the exception, if any, by which the program leaves the block."""
        if self._is_recording:
            self._session.failed(error)

    def mark(self, source: object | None) -> None:
        """A step ended."""
        with self._lock:
            if source is None and not self._pace.explicit:
                self._step = 0  # what optimizers marked before is forgotten
            if not self._left or not self._pace.ends_step(source):
                return
            self._step += 1
            record = self._end_cycle() if self._step >= self._length else None
        try:
            self._hand_on(record)
        except BaseException:
            self.stop()
            raise
        with self._lock:
            self._begin_cycle()

    def step(self) -> None:
        """Mark the end of a step here alone."""
        if self._is_recording:
            self._session.step()
        self.mark(None)

    def record(self) -> TraceRecord:
        """Return the record of the cycle under way, else of the last one; empty before it."""
        return self._session.record()

    def sites(self) -> tuple[SiteStats, ...]:
        """Return the sites of the same cycle."""
        return self._session.sites()

    def figures(self) -> Figures | None:
        """Return the figures of the same cycle; see `Session.figures`."""
        return self._session.figures()

    def totals(self) -> Totals:
        """Return the sums of the same cycle."""
        return self._session.totals()

    @property
    def _length(self) -> int:
        return self._schedule.wait + self._schedule.warmup + self._schedule.active

    def _begin_cycle(self) -> None:
        """Begin to record where a cycle has waited long enough."""
        waits = self._step != self._schedule.wait or not self._left
        if waits or self._is_recording or not self._is_watching:
            return
        if self._session.has_started:
            self._session = Session(self._options)
        self._session.start()
        self._is_recording = True
        # Told of a step behind the session, which it may end.
        hub.remove_marked(self)
        hub.add_marked(self)

    def _end_cycle(self) -> TraceRecord | None:
        self._step = 0
        self._left -= 1
        return self._end_session()

    def _end_session(self) -> TraceRecord | None:
        if not self._is_recording:
            return None
        self._is_recording = False
        self._session.stop()
        return self._session.record()

    def _hand_on(self, record: TraceRecord | None) -> None:
        if record is not None and self._on_record is not None:
            self._on_record(record)
