"""A traced run as a program for the virtual timeline: what the host did, in order, and how long.

`recorded` reads it from the events of a trace, `play` carries it out on a `VirtualTimeline`. What a
change to the program does to its time is found by changing the actions in between.
"""

from __future__ import annotations

import bisect
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from asyncguard.idle import Bubble
from asyncguard.model import TimelineEvent
from asyncguard.timeline.virtual import Stream, VirtualTimeline


class Work(NamedTuple):
    """The host is busy for `ns`."""

    ns: int


class Handover(NamedTuple):
    """The host enqueues an operation, which costs it `host_ns`, and the device `duration_ns`.

    An idle device starts it `latency_ns` after the enqueue began, a busy one `gap_ns` after the
    operation before. `within` is the number of the wait in which it happened: a read that enqueues
    its own copy. `behind` is the newest operation that was enqueued later and ran first: an engine
    runs what is ready, and a wait for this one is a wait for that one too.
    """

    key: int
    stream: str
    duration_ns: int
    latency_ns: int = 0
    gap_ns: int = 0
    host_ns: int = 0
    nbytes: int = 0
    within: int | None = None
    name: str = ""
    behind: int | None = None


class Pause(NamedTuple):
    """The host waits for the operation `target` (None: for nothing that is known) at a site.

    `return_ns` is what it takes beyond that. `number` tells waits apart.
    """

    number: int
    site: int | None
    target: int | None
    return_ns: int


class Boundary(NamedTuple):
    """A step ends."""


Action = Work | Handover | Pause | Boundary


@dataclass(frozen=True)
class Program:
    """The complete steps of a run, in the order in which the host went through them.

    `step_ns` are the measured times of the steps; `has_runs` says whether device intervals were
    recorded.
    """

    actions: tuple[Action, ...]
    step_ns: tuple[int, ...]
    has_runs: bool = False


class Paused(NamedTuple):
    """A wait that was carried out: at which site, in which step, from when to when."""

    site: int | None
    step: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Played:
    """What became of a program. `duration_ns` ends when host and devices are done."""

    duration_ns: int
    host_ns: int
    waits: tuple[Paused, ...]
    bubbles: tuple[Bubble, ...]
    peak_depth: int
    peak_pending_bytes: int
    steps: int

    @property
    def step_ns(self) -> float:
        """The mean time of a step."""
        return self.duration_ns / max(self.steps, 1)


def play(program: Program, queue_limit_bytes: int | None = None) -> Played:
    """Carry out the program on devices of which each stream runs one operation at a time."""
    player = _Player(VirtualTimeline(queue_limit_bytes=queue_limit_bytes))
    for action in program.actions:
        player.do(action)
    return player.outcome()


class _Player:
    """A program being carried out. Each stream of it is a device, so that none has to wait."""

    def __init__(self, timeline: VirtualTimeline) -> None:
        self._timeline = timeline
        self._streams: dict[str, Stream] = {}
        self._ends: dict[int, int] = {}
        self._behind: dict[int, int] = {}
        self._waits: list[Paused] = []
        self._step = 0

    def do(self, action: Action) -> None:
        if isinstance(action, Work):
            self._timeline.advance_host(action.ns)
        elif isinstance(action, Handover):
            self._hand_over(action)
        elif isinstance(action, Pause):
            self._pause(action)
        else:
            self._step += 1

    def _hand_over(self, action: Handover) -> None:
        timeline = self._timeline
        stream = self._streams.get(action.stream)
        if stream is None:
            stream = timeline.default_stream(len(self._streams))
            self._streams[action.stream] = stream
        lag = max(action.latency_ns, stream.tail + action.gap_ns - timeline.now)
        run = timeline.enqueue(stream, action.duration_ns, nbytes=action.nbytes, latency_ns=lag)
        self._ends[action.key] = run.end_ns
        if action.behind is not None:
            self._behind[action.key] = action.behind
        timeline.advance_host(action.host_ns)

    def _pause(self, action: Pause) -> None:
        begin = self._timeline.now
        until = begin if action.target is None else self._end(action.target, begin)
        self._timeline.wait_until(until, action.site, return_ns=action.return_ns)
        self._waits.append(Paused(action.site, self._step, begin, self._timeline.now))

    def _end(self, key: int, unknown: int) -> int:
        """When an operation is done, and what ran before it that was enqueued by now."""
        first = self._ends.get(self._behind.get(key, key), unknown)
        return max(self._ends.get(key, unknown), first)

    def outcome(self) -> Played:
        timeline = self._timeline
        tails = [stream.tail for stream in self._streams.values()]
        return Played(
            max([timeline.now, *tails]),
            timeline.now,
            tuple(self._waits),
            tuple(timeline.close()),
            timeline.peak_depth,
            timeline.peak_pending_bytes,
            self._step,
        )


def recorded(events: Sequence[TimelineEvent], first_step: int = 0) -> Program | None:
    """Read the program from a trace's events; None where they hold no complete step.

    Steps before `first_step` are left out (the warm-up), and those of which the trace did not keep
    every event. Where several threads waited, the one that waited most often is the host.
    """
    steps = whole_steps(events, first_step)
    if not steps:
        return None
    begin, end = steps[0].begin_ns, steps[-1].end_ns
    runs = _runs(events, _host(events))
    inside = [event for event in events if begin <= event.begin_ns < end]
    actions = _Actions(runs, begin)
    actions.carry_over()
    actions.follow(_host_events(inside, steps, _host(events)))
    durations = tuple(step.end_ns - step.begin_ns for step in steps)
    return Program(tuple(actions.made), durations, has_runs=bool(runs))


@dataclass(frozen=True)
class _Run:
    """A run of the device and the enqueue that led to it; `gap` where it was queued behind one."""

    key: int
    stream: str
    enqueue: TimelineEvent
    begin: int
    end: int
    gap: int | None = None  # from the end of the run before to its begin; None: it found none
    behind: int | None = None  # the newest that was enqueued later and ran first

    @property
    def known_since(self) -> int:
        return self.enqueue.begin_ns


def whole_steps(events: Sequence[TimelineEvent], first_step: int) -> list[TimelineEvent]:
    """The steps from `first_step` of which every event was kept; others where there are none."""
    kept_since = max(
        (
            min(event.begin_ns for event in events if event.kind == kind)
            for kind in {event.kind for event in events} & {"enqueue", "run"}
        ),
        default=min((e.begin_ns for e in events if e.kind == "wait"), default=0),
    )
    steps = [event for event in events if event.kind == "step"]
    counted = [step for step in steps if _is_from(step.name, first_step)]
    whole = [step for step in counted if step.begin_ns >= kept_since]
    return whole or counted[1:] or counted


def _is_from(name: str, first_step: int) -> bool:
    """Whether a step has that number or a higher one; of one without a number it is assumed."""
    number = name.rpartition(" ")[2]
    return not re.fullmatch("[0-9]{1,18}", number) or int(number) >= first_step


def _host(events: Iterable[TimelineEvent]) -> str:
    """The thread that waits most often."""
    threads = Counter(event.thread for event in events if event.kind == "wait")
    return threads.most_common(1)[0][0] if threads else ""


def _runs(events: Iterable[TimelineEvent], host: str) -> list[_Run]:
    """The runs whose enqueue is known, in the order of their begins."""
    enqueues = {e.serial: e for e in events if e.kind == "enqueue" and e.serial is not None}
    spans = [e for e in events if e.kind == "run" and e.serial in enqueues]
    workers = Counter(event.thread for event in spans if event.thread != host)
    # What a waiting host ran itself, it ran in a worker's stead.
    stand_in = workers.most_common(1)[0][0] if workers else host
    tails: dict[str, int] = {}
    newest: dict[str, TimelineEvent] = {}  # of what ran so far
    found = []
    for span in sorted(spans, key=lambda event: event.begin_ns):
        assert span.serial is not None
        enqueue = enqueues[span.serial]
        stream = stand_in if span.thread == host else span.thread
        tail = tails.get(stream)
        queued = tail is not None and enqueue.begin_ns < tail <= span.begin_ns
        gap = span.begin_ns - tail if queued and tail is not None else None
        last = newest.setdefault(stream, enqueue)
        behind = last.serial if last.begin_ns > enqueue.begin_ns else None
        found.append(_Run(span.serial, stream, enqueue, span.begin_ns, span.end_ns, gap, behind))
        tails[stream] = max(span.end_ns, tail or 0)
        newest[stream] = max(last, enqueue, key=lambda event: event.begin_ns)
    return found


def _usual_lags(runs: Sequence[_Run]) -> tuple[int, int]:
    """The usual gap between runs that are queued, and lag from an enqueue to an idle start."""
    gaps = [run.gap for run in runs if run.gap is not None]
    starts = [run.begin - run.known_since for run in runs if run.gap is None]
    return (
        int(statistics.median(gaps)) if gaps else 0,
        int(statistics.median(starts)) if starts else 0,
    )


def _host_events(
    events: Iterable[TimelineEvent], steps: Iterable[TimelineEvent], host: str
) -> Iterator[TimelineEvent]:
    """What the host did, in order; a step is told where it ends."""
    own = [e for e in events if e.kind == "enqueue" or (e.kind == "wait" and e.thread == host)]
    ends = [replace(step, begin_ns=step.end_ns) for step in steps]
    yield from sorted([*own, *ends], key=_moment)


def _moment(event: TimelineEvent) -> tuple[int, int, int]:
    """When it happened. Events of no time came before a wait that began at the same moment.

    Such a wait ended the step that ended then; such an enqueue began the next.
    """
    at_once, lasting = {"wait": 0, "step": 1, "enqueue": 2}, {"wait": 3, "enqueue": 4}
    order = (lasting if event.end_ns > event.begin_ns else at_once)[event.kind]
    return event.begin_ns, order, -event.end_ns


class _Actions:
    """The actions while they are being read; `now` is how far the host has come."""

    def __init__(self, runs: Sequence[_Run], begin: int) -> None:
        self.made: list[Action] = []
        self._runs: Mapping[int, _Run] = {run.key: run for run in runs}
        self._by_end = sorted(runs, key=lambda run: run.end)
        self._ends = [run.end for run in self._by_end]
        self._gap, self._latency = _usual_lags(runs)
        self._now = self._begin = begin
        self._waits = 0

    def carry_over(self) -> None:
        """What was enqueued before the first step, and still runs when that begins."""
        for run in sorted(self._runs.values(), key=lambda run: run.begin):
            if run.known_since < self._begin < run.end:
                left = run.end - max(run.begin, self._begin)
                self.made.append(Handover(run.key, run.stream, left))

    def follow(self, events: Iterable[TimelineEvent]) -> None:
        """Turn the host's events into actions, and the time between them into work."""
        wait: TimelineEvent | None = None  # in progress: a read may enqueue its own copy
        for event in events:
            if wait is not None and event.begin_ns >= wait.end_ns:
                self._pause(wait)
                wait = None
            self._work_until(event.begin_ns)
            if event.kind == "step":
                self.made.append(Boundary())
            elif event.kind == "enqueue":
                self._hand_over(event, None if wait is None else self._waits)
            elif wait is None:
                wait, self._waits = event, self._waits + 1
        if wait is not None:
            self._pause(wait)

    def _work_until(self, at: int) -> None:
        if at > self._now:
            self.made.append(Work(at - self._now))
            self._now = at

    def _hand_over(self, event: TimelineEvent, within: int | None) -> None:
        host_ns = max(event.end_ns - max(self._now, event.begin_ns), 0)
        run = self._runs.get(event.serial) if event.serial is not None else None
        self._now = max(self._now, event.end_ns)
        if run is None:
            self.made.append(Work(host_ns))
            return
        latency, gap = self._lags(run)
        nbytes = event.nbytes or 0
        lasts, name, behind = run.end - run.begin, event.name, run.behind
        self.made.append(
            Handover(
                run.key, run.stream, lasts, latency, gap, host_ns, nbytes, within, name, behind
            )
        )

    def _lags(self, run: _Run) -> tuple[int, int]:
        """From the enqueue to the start on an idle device, and behind the run before; one of the
        two was measured, and the other is as usual.
        """
        lag = max(run.begin - run.known_since, 0)
        if run.gap is not None:
            return min(self._latency, lag), run.gap
        return lag, min(self._gap, lag)

    def _pause(self, wait: TimelineEvent) -> None:
        """A wait is over: it was for the newest operation that had ended by then."""
        at = bisect.bisect_right(self._ends, wait.end_ns) - 1
        target = self._by_end[at] if at >= 0 else None
        waited_until = max(self._now, target.end if target is not None else 0)
        took = max(wait.end_ns - waited_until, 0)
        key = target.key if target is not None else None
        self.made.append(Pause(self._waits, wait.site, key, took))
        self._now = max(self._now, wait.end_ns)
