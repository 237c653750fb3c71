"""Traces made from a profiler's file: what waited at each place, added up by steps.

A profiler's waits are spans of a thread; steps are intervals that one of its marks opened. Times
are nanoseconds of the profiler's clock, those of the record count from its first event.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from asyncguard.model import SiteStats, SyncKind, TimelineEvent, TraceRecord
from asyncguard.version import __version__

MOST_EVENTS = 100_000  # of the timeline that is made
STEP_WINDOW = 4096  # the newest steps whose counts are kept one by one

# Operators of torch around a wait, and the kind of sync point that they are.
OPERATORS = {
    "aten::item": SyncKind.SCALAR,
    "aten::_local_scalar_dense": SyncKind.SCALAR,
    "aten::is_nonzero": SyncKind.TRUTH,
    "aten::equal": SyncKind.TRUTH,
    "aten::nonzero": SyncKind.SHAPE,
    "aten::masked_select": SyncKind.SHAPE,
    "aten::_unique2": SyncKind.SHAPE,
    "aten::copy_": SyncKind.ARRAY,
    "aten::to": SyncKind.ARRAY,
}


class Place(NamedTuple):
    """Where a wait was: the line, what waited there, who called; frames innermost first."""

    path: str
    line: int
    function: str
    api: str
    kind: SyncKind
    thread: str
    callers: tuple[str, ...] = ()
    library: tuple[str, ...] = ()
    device: str = "cuda"


class PlacedWait(NamedTuple):
    """A wait at its place, from when to when the host was blocked."""

    begin: int
    end: int
    place: Place


@dataclass
class Profile:
    """What a profiler's file says of one process.

    `steps` are in order and do not overlap; the first one is the warm-up. `idle_ns` is the device's
    idle time by place: a place that is missing caused none; None where it was not measured.
    `events` are those of the timeline besides steps and waits, on the profiler's clock; the site of
    an "idle" one is its place.
    """

    begin: int
    end: int
    steps: Sequence[tuple[int, int]]
    waits: Sequence[PlacedWait]
    framework: str
    idle_ns: Mapping[Place, int] | None = None
    events: Sequence[tuple[TimelineEvent, Place | None]] = ()
    notes: Sequence[str] = ()
    started_ns: int | None = None
    device: str = ""


class _Sum:
    """What the waits at one place add up to."""

    def __init__(self) -> None:
        self.count = self.stall = self.longest = self.steady = self.steady_stall = 0
        self.histogram: dict[int, int] = {}
        self.steps: dict[int, int] = {}

    def add(self, wait: PlacedWait, step: int | None) -> None:
        """Take in one wait, of a step or of none."""
        stall = wait.end - wait.begin
        self.count += 1
        self.stall += stall
        self.longest = max(self.longest, stall)
        exponent = max(stall.bit_length() - 1, 0)
        self.histogram[exponent] = self.histogram.get(exponent, 0) + 1
        if step is not None:
            self.steps[step] = self.steps.get(step, 0) + 1
            if step:
                self.steady += 1
                self.steady_stall += stall


def to_record(profile: Profile, command: str) -> TraceRecord:
    """The waits of a profile as a trace of ours, the costliest site first."""
    start, steps = profile.begin, profile.steps
    sums: dict[Place, _Sum] = defaultdict(_Sum)
    by_step: dict[int, int] = defaultdict(int)
    for wait in profile.waits:
        step = _step_of(wait.begin, steps)
        sums[wait.place].add(wait, step)
        if step is not None:
            by_step[step] += 1
    order = sorted(sums, key=lambda place: -sums[place].stall)
    steady = range(1, len(steps))
    return TraceRecord(
        basis="measured",
        sites=tuple(_site(place, sums[place], profile) for place in order),
        step_count=len(steps),
        duration_ns=profile.end - start,
        steady_steps=len(steady),
        steady_duration_ns=sum(steps[at][1] - steps[at][0] for at in steady),
        step_syncs=tuple(by_step[at] for at in steady[-STEP_WINDOW:]),
        command=command,
        asyncguard_version=__version__,
        frameworks={profile.framework: ""},
        notes=tuple(profile.notes),
        extra={} if profile.started_ns is None else {"started_ns": profile.started_ns},
        device=profile.device,
        timeline=_timeline(profile, {place: at for at, place in enumerate(order)}),
    )


def _step_of(moment: int, steps: Sequence[tuple[int, int]]) -> int | None:
    at = bisect.bisect_right(steps, (moment, 2**63)) - 1
    return at if at >= 0 and moment < steps[at][1] else None


def _timeline(profile: Profile, numbers: Mapping[Place, int]) -> tuple[TimelineEvent, ...]:
    """The steps and the newest of the other events, in order, counted from the start."""
    start = profile.begin
    steps = [
        TimelineEvent("step", f"step {at}", begin - start, end - start)
        for at, (begin, end) in enumerate(profile.steps[-MOST_EVENTS:])
    ]
    events = [
        TimelineEvent("wait", p.api, begin - start, end - start, p.thread, numbers[p])
        for begin, end, p in profile.waits[-MOST_EVENTS:]
    ]
    events += [
        TimelineEvent(
            e.kind, e.name, e.begin_ns - start, e.end_ns - start, e.thread,
            numbers.get(place) if place else None, serial=e.serial,
        )
        for e, place in profile.events
    ]  # fmt: skip
    events.sort(key=_in_time)
    return tuple(sorted([*steps, *events[-MOST_EVENTS:]], key=_in_time))


def _in_time(event: TimelineEvent) -> tuple[int, int]:
    return event.begin_ns, -event.end_ns


def _site(place: Place, total: _Sum, profile: Profile) -> SiteStats:
    steady = [number for step, number in total.steps.items() if step]
    idle = profile.idle_ns
    return SiteStats(
        place.path, place.line, place.function, place.api, profile.framework, place.kind,
        total.count, total.stall, None if idle is None else idle.get(place, 0),
        device=place.device, first_step=min(total.steps, default=None),
        last_step=max(total.steps, default=None), steady_count=total.steady,
        steady_stall_ns=total.steady_stall, max_stall_ns=total.longest,
        stall_histogram=total.histogram, callers=place.callers, library=place.library,
        thread=place.thread, steps=len(total.steps), steady_visits=len(steady),
        steady_most=max(steady, default=0),
    )  # fmt: skip


_INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages|torch)/|^<|/lib/python3")


def is_installed(path: str) -> bool:
    """Whether a file is a library's, or none at all, by its name."""
    return bool(_INSTALLED.search(path))


class Frame(NamedTuple):
    """One frame of Python's; `installed` where it is of a library."""

    path: str
    line: int
    function: str
    installed: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}"


def line_of(frames: Sequence[Frame]) -> tuple[Frame, tuple[str, ...], tuple[str, ...]] | None:
    """The frame that a wait is charged to, its callers and the frames of libraries in it.

    It is the innermost that is not a library's, else the innermost; None where there are none.
    """
    if not frames:
        return None
    own = next((at for at, frame in enumerate(frames) if not frame.installed), 0)
    return frames[own], tuple(map(str, frames[own + 1 :])), tuple(map(str, frames[:own]))


def operator_of(names: Iterable[str]) -> str | None:
    """The outermost of the operators that are known to wait; None where there is none."""
    return next((name for name in names if name in OPERATORS), None)
