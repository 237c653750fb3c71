"""Device times of a session: what the device did while the host waited, from CUPTI or the profiler.

`DeviceTimes` listens to the session's waits, collects what a `Source` reports, and hands the
recorder the idle time that each wait caused (`asyncguard.timeline.bubbles`). It is opt-in: every
launch costs a record, where light tracing costs nothing but the waits themselves. Where no source
can measure, nothing is handed over: a GPU stall is then None, and a note says why.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from asyncguard.idle import Bubble, Wait
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.device import clocks, cupti, kineto
from asyncguard.runtime.device.source import Launch, Records, Run, Source, Unavailable
from asyncguard.runtime.device.worker import Worker
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.sinks import Event, Sink
from asyncguard.runtime.sites import Site
from asyncguard.timeline.bubbles import Activity, Sweep

CHOICES = ("auto", "cupti", "profiler")
HELD = 131_072  # waits, runs and launches that are held at most before they are settled
# How far apart CUPTI may put the clocks of device and host, in ns: it interpolates between readings
# of its own, whose error it does not tell.
SKEW = 20_000
# A share of activities that may lack the call that enqueued them: what was in flight at the start.
ORPHANS = 0.1

Finder = Callable[[], Source]


class Stalls(Protocol):
    """Who takes the figures: the session's recorder."""

    def idled(self, site: Site, begin: int, end: int, device: str = "") -> None:
        """A wait left the device idle."""

    def event(self, event: Event) -> None:
        """Something for the timeline."""


def finders(choice: str) -> tuple[Finder, ...]:
    """Where to look for a source, in order. Raises AsyncguardError for an unknown choice."""
    if choice not in CHOICES:
        raise AsyncguardError(
            f"unknown device_times {choice!r}; one of {', '.join(CHOICES)}, or None"
        )
    known = {"cupti": (_find_cupti,), "profiler": (_find_profiler,)}
    return known.get(choice, (_find_cupti, _find_profiler))


def _find_cupti() -> Source:
    # It collects without a subscription of its own, and would lose its records to us.
    torch = sys.modules.get("torch")
    if torch is not None and private.is_profiling(torch):
        raise Unavailable("torch's profiler uses CUPTI")
    return cupti.find()


def _find_profiler() -> Source:
    torch = sys.modules.get("torch")
    if torch is None:
        raise Unavailable("torch, whose profiler could measure, is not imported")
    return kineto.Kineto(torch)


class DeviceTimes(Sink):
    """A `hub.Sink` that charges device idle time to the waits it is told of.

    `work` makes what runs a function in a thread of its own. While the source collects, all but
    `_waits` is that thread's; before and after, it is that of whoever starts and stops.
    """

    def __init__(
        self,
        stalls: Stalls,
        finders: Sequence[Finder],
        clock: Callable[[], int] = time.perf_counter_ns,
        work: Callable[[Callable[[], None]], Worker] = Worker,
    ) -> None:
        self.begin = clock  # type: ignore[method-assign]  # no frame in between
        self._clock = clock
        self._stalls = stalls
        self._finders = finders
        self._source: Source | None = None
        self._why_not: list[str] = []
        self._thread = self._process = 0
        self._waits: deque[Wait] = deque()  # filled by the threads that wait
        self._worker = work(self._full)
        self._seen: set[Site] = set()
        self._runs: list[Run] = []  # whose launch is not known yet; their clock
        self._launches: dict[int, Launch] = {}
        self._sweep = Sweep()
        self._unknown = self._measured = self._lost = 0
        self._name = self._broken = ""
        self._alignment: clocks.Alignment | None = None

    def start(self) -> None:
        """Find a source that can measure."""
        self._thread, self._process = threading.get_ident(), os.getpid()
        self._find()

    def _find(self) -> None:
        self._why_not = []
        for find in self._finders:
            if self._can_open(find):
                self._broken = ""
                return

    def _can_open(self, find: Finder) -> bool:
        try:
            with _unseen():
                self._open(find())
        except Unavailable as reason:
            self._why_not.append(str(reason))
        except Exception as error:  # noqa: BLE001  the user's program must go on
            self._fail(error)
        else:
            return True
        return False

    def _open(self, source: Source) -> None:
        """Let a source collect from now on; where its clock cannot be read, not at all."""
        source.start(self._worker.ask)
        try:
            reading = clocks.read(self._clock, source.timestamp)
        except BaseException:
            source.stop()
            raise
        self._alignment = clocks.Alignment(reading, reading)
        self._sweep = Sweep(slack=max(SKEW, 2 * reading.error))
        self._source, self._name = source, source.name
        self._worker.start()
        # A session that nobody stops must not leave a source that calls into a Python that ends.
        atexit.register(self.stop)

    def end(self, site: Site, began: int) -> None:
        """A wait is over."""
        self.waited(site, began, self._clock())

    def part(self, site: Site, began: int) -> Wait:
        """A read inside another call is over."""
        return Wait(began, self._clock(), site)

    def leave(self, site: Site, entered: int, parts: Sequence[Wait]) -> None:
        """The reads inside were parts of a call at `site`."""
        for part in parts:
            self.apart(site, part)

    def apart(self, site: Site, part: Wait) -> None:
        """A read inside another call was a wait of its own."""
        self.waited(site, part.begin, part.end)

    def waited(self, site: Site, begin: int, end: int) -> None:
        """A wait lasted from `begin` to `end`."""
        blocker = site.blocker
        if blocker.stand_in or blocker.device.startswith("cpu"):
            return
        if self._source is None:
            self._find_late()
        else:
            self._waits.append(Wait(begin, end, site))

    def _find_late(self) -> None:
        """The framework may have been imported since: ask again at its first wait."""
        # A profiler has to be stopped in the thread that started it.
        if self._finders and threading.get_ident() == self._thread:
            self._find()
            self._finders = ()

    def _full(self) -> None:
        """The source has collected much: take it in."""
        try:
            if self._source is not None:
                self._align(self._source)
                self._collect(self._source.drain())
            if self._held() > HELD:
                self._settle(self._sweep.middle())
        except Exception as error:  # noqa: BLE001  nobody above could catch it
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        hub.fail("device times", error)
        self._broken = f"{type(error).__name__}: {error}"
        self._why_not.append(self._broken)

    def stop(self) -> None:
        """Stop measuring and hand over what is left."""
        atexit.unregister(self.stop)
        source = self._source
        if source is None or os.getpid() != self._process:  # a forked child has no CUPTI
            self._source = None
            return
        self._worker.stop()
        self._source = None
        # What has been measured counts, also where the rest fails.
        self._try(lambda: self._align(source))
        self._try(lambda: self._close(source))
        self._try(lambda: self._finish(source))

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001  the user's program must go on
            self._fail(error)

    def _close(self, source: Source) -> None:
        with _unseen():
            source.stop()

    def _finish(self, source: Source) -> None:
        self._collect(source.drain())
        self._settle(None)
        self._lost += source.lost()
        if self._measured:  # else the source saw no device, and its silence means nothing
            for site in self._seen:
                self._stalls.idled(site, 0, 0)

    def _align(self, source: Source) -> None:
        assert self._alignment is not None
        reading = clocks.read(self._clock, source.timestamp)
        self._alignment = clocks.Alignment(self._alignment.first, reading)

    def _held(self) -> int:
        return len(self._sweep) + len(self._runs) + len(self._launches)

    def _collect(self, records: Records) -> None:
        self._lost += records.unfinished
        self._measured += len(records.runs)
        self._launches.update(records.launches)
        held, self._runs = self._runs + records.runs, []
        self._sweep.add(self._new_waits(), self._activities(held))

    def _new_waits(self) -> Iterable[Wait]:
        while self._waits:  # threads may go on appending
            wait = self._waits.popleft()
            self._seen.add(wait.owner)
            yield wait

    def _activities(self, runs: Iterable[Run]) -> Iterable[Activity]:
        """The runs whose launch is known; the record of a launch may come after that of the run."""
        for run in runs:
            if run.correlation in self._launches:
                yield self._activity(run, self._launches[run.correlation])
            else:
                self._runs.append(run)

    def _activity(self, run: Run, launch: Launch | None) -> Activity:
        assert self._alignment is not None
        ours = self._alignment.ours
        begin, end = ours(run.begin), ours(run.end)
        serial = run.correlation
        self._stalls.event(Event("run", run.name, begin, end, _label(run.device), serial))
        if launch is None:
            return Activity(run.device, begin, end)
        launched = ours(launch.begin), ours(launch.end)
        self._stalls.event(Event("enqueue", run.name, *launched, serial=serial))
        return Activity(run.device, begin, end, ours(launch.begin))

    def _settle(self, until: int | None) -> None:
        """Hand over what is known of the time before `until`."""
        self._give_up_on_launches(until)
        for number in list(self._launches)[: -HELD // 4]:
            del self._launches[number]
        for bubble in self._sweep.settle(until):
            self._report(bubble)

    def _give_up_on_launches(self, until: int | None) -> None:
        """A run that lacks its launch by the time that it is settled will never get one."""
        assert self._alignment is not None
        ours = self._alignment.ours
        late = [run for run in self._runs if until is None or ours(run.begin) < until]
        self._runs = [run for run in self._runs if until is not None and ours(run.begin) >= until]
        self._unknown += len(late)
        self._sweep.add((), [self._activity(run, None) for run in late])

    def _report(self, bubble: Bubble) -> None:
        self._stalls.idled(bubble.wait.owner, bubble.begin, bubble.end, _label(bubble.device))

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying how device times were measured or why they were not."""
        if self._source is not None:
            return record  # still running
        if not self._measured:
            why = "; ".join(self._why_not) or "no device activity was seen"
            return _noted(record, f"GPU stalls were not measured: {why}.")
        if self._broken:
            record = _noted(record, f"GPU stalls may be incomplete: {self._broken}.")
        if self._unknown > ORPHANS * self._measured:
            record = _noted(
                record,
                f"GPU stalls are too small: {self._unknown} of {self._measured} device activities"
                " came without the call that enqueued them, and the idle time before those is not"
                " counted.",
            )
        return replace(record, extra={**record.extra, "device_times": self._about()})

    def _about(self) -> dict[str, Any]:
        assert self._alignment is not None
        return {
            "source": self._name,
            "activities": self._measured,
            "activities_of_unknown_origin": self._unknown,
            "records_lost": self._lost,
            "clock_error_ns": self._alignment.error,
            "clock_drift_ns": self._alignment.drift,
        }


@contextmanager
def _unseen() -> Iterator[None]:
    """What a source waits for itself is no sync point of the user's, in no session."""
    doing = state.doing
    before = doing.waiting, doing.around
    doing.waiting, doing.around = True, None
    try:
        yield
    finally:
        doing.waiting, doing.around = before


def _noted(record: TraceRecord, note: str) -> TraceRecord:
    return replace(record, notes=(*record.notes, note))


def _label(device: int) -> str:
    return f"cuda:{device}"
