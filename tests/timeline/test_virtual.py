"""Virtual time, checked against models that are independent of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.idle import Wait
from asyncguard.timeline.bubbles import Activity, bubbles
from asyncguard.timeline.virtual import Event, Run, VirtualClock, VirtualTimeline

LATENCY = 3


def test_the_host_runs_ahead_and_waits_for_what_is_left() -> None:
    timeline = VirtualTimeline(launch_latency_ns=5)
    stream = timeline.default_stream()
    timeline.advance_host(20)
    first = timeline.enqueue(stream, 100, "matmul")
    second = timeline.enqueue(stream, 50, "add", host_ns=4)
    assert (first.begin_ns, first.end_ns) == (25, 125)
    assert (second.enqueued_ns, second.begin_ns, second.end_ns) == (24, 125, 175)
    assert timeline.now == 24
    assert timeline.wait_stream(stream) == 151
    assert timeline.wait_stream(stream) == 0
    assert timeline.now == 175


def test_the_idle_time_after_a_wait_lasts_until_the_next_operation_starts() -> None:
    timeline = VirtualTimeline(launch_latency_ns=5)
    stream = timeline.default_stream()
    timeline.enqueue(stream, 100)
    timeline.wait_stream(stream, "loss.item()", return_ns=7)
    timeline.advance_host(30)
    assert timeline.take_bubbles() == []
    timeline.enqueue(stream, 10)
    timeline.wait_device(0, "synchronize")
    (bubble,) = timeline.take_bubbles()
    assert bubble == (Wait(0, 112, "loss.item()"), 0, 105, 147)
    assert timeline.close() == []
    assert timeline.take_bubbles() == []


def test_a_clock_can_be_a_traces() -> None:
    clock = VirtualClock(1_000)
    timeline = VirtualTimeline(clock)
    timeline.advance_host(5)
    assert clock() == timeline.now == 1_005
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_streams_run_beside_each_other_and_events_order_them() -> None:
    timeline = VirtualTimeline()
    compute, copies = timeline.default_stream(), timeline.new_stream()
    loaded = timeline.enqueue(copies, 40, "load")
    timeline.enqueue(compute, 10, "free")
    ready = timeline.record(copies)
    timeline.order(compute, ready)
    used = timeline.enqueue(compute, 10, "used")
    assert (loaded.end_ns, used.begin_ns) == (40, 40)
    assert timeline.wait_event(ready) == 40
    assert timeline.is_done(ready)
    assert not timeline.is_done(compute)
    assert timeline.streams() == (compute, copies)
    assert (timeline.wait_device(), timeline.is_done(compute)) == (10, True)


def test_events_measure_what_lies_between_them_also_on_an_idle_stream() -> None:
    timeline = VirtualTimeline(launch_latency_ns=5)
    stream = timeline.default_stream()
    before = timeline.record(stream)
    timeline.enqueue(stream, 30)
    assert timeline.record(stream).at_ns - before.at_ns == 30


def test_a_blocking_copy_waits_for_itself() -> None:
    timeline = VirtualTimeline(launch_latency_ns=5)
    stream = timeline.default_stream()
    timeline.enqueue(stream, 100)
    run, stall = timeline.copy(stream, 20, owner="item", host_ns=2, return_ns=1)
    assert (run.begin_ns, run.end_ns, stall, timeline.now) == (105, 125, 124, 126)


def test_devices_wait_for_themselves_alone() -> None:
    timeline = VirtualTimeline()
    timeline.enqueue(timeline.default_stream(0), 10)
    timeline.enqueue(timeline.default_stream(1), 50)
    assert timeline.wait_device(0) == 10
    assert timeline.wait_device(1) == 40


def test_a_full_queue_holds_the_host_up() -> None:
    timeline = VirtualTimeline(queue_limit=2)
    stream = timeline.default_stream()
    held = [timeline.enqueue(stream, 10, owner="enqueue").held_ns for _ in range(4)]
    assert held == [0, 0, 10, 10]
    assert (timeline.depth, timeline.peak_depth) == (2, 2)


def test_a_limit_of_bytes_holds_the_host_up_until_enough_is_free() -> None:
    timeline = VirtualTimeline(queue_limit_bytes=100)
    stream = timeline.default_stream()
    for size in (40, 40):
        timeline.enqueue(stream, 10, nbytes=size)
    assert timeline.enqueue(stream, 10, nbytes=90).held_ns == 20
    assert (timeline.pending_bytes, timeline.peak_pending_bytes) == (90, 90)
    with pytest.raises(ValueError, match="over the queue's limit of 100"):
        timeline.enqueue(stream, 1, nbytes=101)
    with pytest.raises(ValueError, match="cannot take"):
        timeline.enqueue(stream, -1)


# A program: each action is a name and two small numbers.
ACTIONS = st.tuples(
    st.sampled_from(["work", "enqueue", "record", "order", "wait stream", "wait event", "wait"]),
    st.integers(0, 3),  # which stream; which event
    st.integers(1, 7),  # how long
)
PROGRAMS = st.lists(ACTIONS, max_size=30)
STREAMS = 4  # two on each of two devices


@dataclass
class Ticked:
    """The same machine, moved on tick by tick with queues that are worked off: no arithmetic."""

    now: int = 0
    queues: list[list[list[int | str]]] = field(
        default_factory=lambda: [[] for _ in range(STREAMS)]
    )
    reached: set[int] = field(default_factory=set)  # events
    events: int = 0
    begins: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    runs: int = 0

    def settle(self) -> None:
        """Let queues go on that need no time for it."""
        moved = True
        while moved:
            moved = False
            for queue in self.queues:
                while queue and self._passes(queue[0]):
                    queue.pop(0)
                    moved = True

    def _passes(self, head: list[int | str]) -> bool:
        what, number, *rest = head
        assert isinstance(number, int)
        if what == "await":
            return number in self.reached
        visible, left = rest
        assert isinstance(visible, int)
        if self.now < visible:
            return False
        if what == "event":
            self.reached.add(number)
            return True
        self.begins.setdefault(number, self.now)
        if left == 0:
            self.ends[number] = self.now
            return True
        return False

    def tick(self) -> None:
        self.settle()
        for queue in self.queues:
            if queue and queue[0][0] == "run" and queue[0][1] in self.begins:
                queue[0][3] = int(queue[0][3]) - 1
        self.now += 1
        self.settle()

    def work(self, ns: int) -> None:
        for _ in range(ns):
            self.tick()

    def push(self, stream: int, entry: list[int | str]) -> None:
        self.queues[stream].append(entry)
        self.settle()

    def wait(self, *streams: int) -> int:
        begin = self.now
        while any(self.queues[stream] for stream in streams):
            self.tick()
        return self.now - begin

    def wait_event(self, event: int) -> int:
        begin = self.now
        while event not in self.reached:
            self.tick()
        return self.now - begin


class Both:
    """A program run on the timeline and on the ticking machine, side by side."""

    def __init__(self) -> None:
        self.timeline, self.ticked = VirtualTimeline(launch_latency_ns=LATENCY), Ticked()
        self.streams = [self.timeline.default_stream(0), self.timeline.default_stream(1)]
        self.streams += [self.timeline.new_stream(0), self.timeline.new_stream(1)]
        self.runs: list[Run] = []
        self.events: list[Event] = []
        self.waits: list[Wait] = []

    def do(self, what: str, which: int, ns: int) -> None:
        timeline, ticked, stream = self.timeline, self.ticked, self.streams[which]
        visible = ticked.now + LATENCY
        timeline.advance_host(1)  # what is done one after the other has different times
        ticked.work(1)
        visible += 1
        if what == "work":
            timeline.advance_host(ns)
            ticked.work(ns)
        elif what == "enqueue":
            self.runs.append(timeline.enqueue(stream, ns))
            ticked.push(which, ["run", len(self.runs) - 1, visible, ns])
        elif what == "record":
            self.events.append(timeline.record(stream))
            ticked.push(which, ["event", len(self.events) - 1, visible, 0])
        elif what == "order" and self.events:
            event = which % len(self.events)
            timeline.order(stream, self.events[event])
            ticked.push(which, ["await", event])
        elif what.startswith("wait"):
            self.wait(what, which)

    def wait(self, what: str, which: int) -> None:
        timeline, ticked, begin, owner = (
            self.timeline,
            self.ticked,
            self.ticked.now,
            len(self.waits),
        )
        if what == "wait stream":
            assert timeline.wait_stream(self.streams[which], owner) == ticked.wait(which)
        elif what == "wait":
            assert timeline.wait_device(which % 2, owner) == ticked.wait(which % 2, which % 2 + 2)
        elif self.events:
            event = which % len(self.events)
            expected = ticked.wait_event(event)
            assert timeline.wait_event(self.events[event], owner) == expected
        else:
            return
        self.waits.append(Wait(begin, ticked.now, owner))


def carried_out(program: list[tuple[str, int, int]]) -> Both:
    both = Both()
    for action in program:
        both.do(*action)
        assert both.timeline.now == both.ticked.now
    return both


@given(PROGRAMS)
def test_agrees_with_queues_that_are_worked_off_tick_by_tick(
    program: list[tuple[str, int, int]],
) -> None:
    both = carried_out(program)
    both.ticked.wait(*range(STREAMS))
    for number, run in enumerate(both.runs):
        assert both.ticked.begins[number] == run.begin_ns
        assert both.ticked.ends[number] == run.end_ns


@given(PROGRAMS)
def test_charges_idle_time_as_it_is_charged_to_measured_intervals(
    program: list[tuple[str, int, int]],
) -> None:
    both = carried_out(program)
    activities = [Activity(r.device, r.begin_ns, r.end_ns, r.enqueued_ns) for r in both.runs]
    expected: Counter[tuple[object, int]] = Counter()
    for bubble in bubbles(both.waits, activities):
        expected[bubble.wait.owner, bubble.device] += bubble.end - bubble.begin
    found: Counter[tuple[object, int]] = Counter()
    for bubble in both.timeline.close():
        found[bubble.wait.owner, bubble.device] += bubble.end - bubble.begin
    assert found == expected


@given(PROGRAMS, st.integers(1, 4))
def test_a_queue_is_never_over_its_limit_and_holds_up_no_longer_than_it_must(
    program: list[tuple[str, int, int]], limit: int
) -> None:
    timeline = VirtualTimeline(launch_latency_ns=LATENCY, queue_limit=limit)
    streams = [timeline.default_stream(0), timeline.new_stream(0), timeline.default_stream(1)]
    runs: list[Run] = []
    for what, which, ns in program:
        if what == "enqueue":
            before = timeline.now
            run = timeline.enqueue(streams[which % 3], ns)
            pending_then = sum(old.end_ns > before for old in runs)
            assert (run.held_ns > 0) == (pending_then >= limit)
            assert sum(old.end_ns > run.enqueued_ns for old in runs) < limit
            if run.held_ns:
                assert sum(old.end_ns > run.enqueued_ns - 1 for old in runs) >= limit
            runs.append(run)
        else:
            timeline.advance_host(ns)
    assert timeline.peak_depth <= limit


@given(PROGRAMS)
def test_pending_bytes_are_those_of_what_has_not_ended(program: list[tuple[str, int, int]]) -> None:
    timeline = VirtualTimeline(launch_latency_ns=LATENCY)
    held: list[tuple[Run, int]] = []
    peak = 0
    for what, which, ns in program:
        if what == "enqueue":
            held.append((timeline.enqueue(timeline.default_stream(which % 2), ns, nbytes=ns), ns))
        else:
            timeline.advance_host(ns)
        pending = sum(size for run, size in held if run.end_ns > timeline.now)
        assert timeline.pending_bytes == pending
        peak = max(peak, pending)
    assert timeline.peak_pending_bytes == peak
