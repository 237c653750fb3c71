"""Idle time is charged as the reference engine charges it, checked against three other models."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.engine import ThreadedEngine, hooks
from asyncguard.idle import Bubble, Wait
from asyncguard.timeline.bubbles import Activity, Sweep, bubbles

Spans = list[tuple[str, int, int]]


def spans(found: list[Bubble]) -> Spans:
    return [(bubble.wait.owner, bubble.begin, bubble.end) for bubble in found]


def charged(waits: list[Wait], activities: list[Activity], slack: int = 0) -> Spans:
    return spans(bubbles(waits, activities, slack))


def test_the_idle_time_after_a_read_lasts_until_the_next_kernel_starts() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 40, 50, enqueued=38)]
    assert charged([Wait(12, 22, "item")], kernels) == [("item", 20, 40)]


def test_idle_time_of_a_busy_host_that_does_not_wait_is_nobodys() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 90, 95, enqueued=80)]
    assert charged([Wait(92, 96, "item")], kernels) == [("item", 95, 96)]


def test_a_wait_on_an_idle_device_pays_for_itself_only() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 90, 95, enqueued=80)]
    assert charged([Wait(30, 37, "again")], kernels) == [("again", 30, 37)]


def test_a_second_wait_relieves_the_first() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 60, 70, enqueued=55)]
    waits = [Wait(12, 22, "first"), Wait(30, 40, "second")]
    assert charged(waits, kernels) == [("first", 20, 30), ("second", 30, 40)]


def test_gaps_between_kernels_that_were_queued_are_the_devices_own() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 30, 40, enqueued=6)]
    assert charged([Wait(12, 40, "item")], kernels) == []


def test_kernels_of_two_streams_cover_each_other() -> None:
    kernels = [
        Activity(0, 10, 30, enqueued=5),
        Activity(0, 15, 20, enqueued=6),
        Activity(0, 50, 60, enqueued=45),
    ]
    assert charged([Wait(16, 31, "item")], kernels) == [("item", 30, 50)]


def test_idle_times_of_several_devices_add_up() -> None:
    kernels = [
        Activity(0, 10, 20, enqueued=5),
        Activity(1, 10, 25, enqueued=6),
        Activity(0, 40, 50, enqueued=38),
        Activity(1, 45, 50, enqueued=39),
    ]
    assert charged([Wait(12, 26, "item")], kernels) == [("item", 20, 40), ("item", 25, 45)]


def test_idle_time_before_an_activity_of_unknown_origin_is_not_charged() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 40, 50)]
    assert charged([Wait(12, 22, "item")], kernels) == []


def test_a_device_that_runs_dry_just_after_the_wait_by_another_clock_ran_dry_within_it() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 40, 50, enqueued=38)]
    assert charged([Wait(12, 18, "item")], kernels) == []
    assert charged([Wait(12, 18, "item")], kernels, slack=2) == [("item", 20, 40)]


def test_what_was_enqueued_after_a_wait_did_not_end_within_it() -> None:
    """However short it is: another thread's kernel, or the next one of a fast host."""
    late = [Activity(0, 10, 17, enqueued=5), Activity(0, 20, 22, enqueued=19)]
    assert charged([Wait(12, 18, "item")], [*late, Activity(0, 40, 50, 38)], slack=5) == [
        ("item", 17, 20)
    ]
    unknown = [Activity(0, 20, 22), Activity(0, 40, 50, 38)]
    assert charged([Wait(12, 18, "item")], unknown, slack=5) == []


def test_after_the_last_activity_a_wait_pays_until_it_returns() -> None:
    assert charged([Wait(12, 26, "last")], [Activity(0, 10, 20, enqueued=5)]) == [("last", 20, 26)]


def test_what_ends_before_it_begins_is_left_out() -> None:
    kernels = [Activity(0, 10, 20, enqueued=5), Activity(0, 30, 0), Activity(0, 40, 50, 38)]
    assert charged([Wait(12, 22, "item"), Wait(9, 3, "bad")], kernels) == [("item", 20, 40)]


@pytest.mark.parametrize("nothing", [([], []), ([Wait(1, 2)], []), ([], [Activity(0, 1, 2)])])
def test_without_waits_or_activities_nothing_is_charged(
    nothing: tuple[list[Wait], list[Activity]],
) -> None:
    assert bubbles(*nothing) == []


TIMES = st.integers(0, 25)


@st.composite
def _waits(draw: st.DrawFn) -> list[Wait]:
    pairs = draw(st.lists(st.tuples(TIMES, st.integers(0, 8)), max_size=6))
    return [Wait(begin, begin + lasts, owner) for owner, (begin, lasts) in enumerate(pairs)]


@st.composite
def _activities(draw: st.DrawFn, devices: int = 2) -> list[Activity]:
    device, short = st.integers(0, devices - 1), st.integers(0, 5)
    drawn = draw(st.lists(st.tuples(device, TIMES, short, short), max_size=8))
    return [Activity(on, at + late, at + late + lasts, at) for on, at, late, lasts in drawn]


@given(_waits(), _activities())
def test_agrees_with_what_is_said_instant_by_instant(
    waits: list[Wait], activities: list[Activity]
) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for device in {run.device for run in activities}:
        runs = [run for run in activities if run.device == device]
        expected.update((owner, device) for owner in _owners(waits, runs))
    found: Counter[tuple[int, int]] = Counter()
    for bubble in bubbles(waits, activities):
        found[bubble.wait.owner, bubble.device] += bubble.end - bubble.begin
    assert found == expected


def _owners(waits: list[Wait], runs: list[Activity]) -> Iterator[int]:
    """For each idle instant of one device who is to blame for it, found from scratch."""
    enqueued = [run.begin if run.enqueued is None else run.enqueued for run in runs]
    dry = {
        run.end
        for run in runs
        if not any(at <= run.end < other.end for at, other in zip(enqueued, runs, strict=True))
    }
    for now in range(60):
        since = max((end for end in dry if end <= now), default=None)
        if since is None or any(since < run.begin <= now for run in runs):
            continue
        next_enqueued = min((at for at in enqueued if at > since), default=10**9)
        last = not any(run.begin > since for run in runs)
        owner = _owner(waits, since, now, next_enqueued, last)
        if owner is not None:
            yield owner


def _owner(waits: list[Wait], since: int, now: int, next_enqueued: int, last: bool) -> int | None:
    later = [w for w in waits if since < w.begin <= min(now, next_enqueued)]
    before = [w for w in waits if w.begin <= since <= w.end]
    if not later and not before:
        return None
    payer = max(later or before, key=lambda wait: (wait.begin, wait.owner))
    relieved = any(wait.begin > since for wait in waits)
    owes_all = not later and (relieved or not last)
    return payer.owner if owes_all or now < payer.end else None


@given(_waits(), _activities(devices=1))
def test_agrees_with_the_engines_own_meter(waits: list[Wait], activities: list[Activity]) -> None:
    """The same events, fed in the same order to `IdleMeter`."""
    syncs = [hooks.Sync("scalar", "x", wait.begin, thread) for thread, wait in enumerate(waits)]
    events: list[tuple[int, int, int]] = []
    for number, wait in enumerate(waits):
        events += [(wait.begin, 0, number), (wait.end, 4, number)]
    for run in activities:
        enqueued = run.begin if run.enqueued is None else run.enqueued
        events += [(enqueued, 1, -1), (run.begin, 2, -1), (run.end, 3, -1)]
    meter = hooks.IdleMeter()
    for now, what, number in sorted(events):
        if what == 0:
            meter.wait_began(syncs[number])
        elif what == 1:
            meter.enqueued()
        elif what == 2:
            meter.started(now)
        elif what == 3:
            meter.ended(now)
        else:
            syncs[number].t_end = now
            meter.wait_ended(syncs[number])
    meter.close()
    found = Counter(dict.fromkeys(range(len(waits)), 0))
    for bubble in bubbles(waits, activities):
        found[bubble.wait.owner] += bubble.end - bubble.begin
    assert found == {number: sync.idle_ns for number, sync in enumerate(syncs)}


@given(_waits(), _activities(), st.lists(TIMES, max_size=3))
def test_portions_give_what_the_whole_gives(
    waits: list[Wait], activities: list[Activity], cuts: list[int]
) -> None:
    sweep = Sweep()
    sweep.add(waits, activities)
    found: Counter[tuple[int, int]] = Counter()
    for until in (*sorted(cuts), None):
        for bubble in sweep.settle(until):
            found[bubble.wait.owner, bubble.device] += bubble.end - bubble.begin
    whole: Counter[tuple[int, int]] = Counter()
    for bubble in bubbles(waits, activities):
        whole[bubble.wait.owner, bubble.device] += bubble.end - bubble.begin
    assert found == whole


@given(_waits(), _activities())
def test_no_idle_instant_is_charged_twice_and_no_busy_one_at_all(
    waits: list[Wait], activities: list[Activity]
) -> None:
    taken: set[tuple[int, int]] = set()
    busy = {(run.device, t) for run in activities for t in range(run.begin, run.end)}
    for bubble in bubbles(waits, activities):
        instants = {(bubble.device, t) for t in range(bubble.begin, bubble.end)}
        assert instants
        assert not instants & (taken | busy)
        taken |= instants


class _Engine(hooks.Listener):
    """The engine on a clock that goes on by 1 ns at each look; what it reports, as intervals.

    Its operations run only while the gate is open, and that is opened from within a wait or while
    the frontend stands by: so the order of events is that of their times.
    """

    def __init__(self) -> None:
        self._ticks, self._lock = count(1), threading.Lock()
        self._gate, self._ran = threading.Event(), threading.Condition()
        self._enqueued_at: dict[int, int] = {}
        self._executions: list[hooks.Execution] = []
        self._engine = ThreadedEngine(workers=1)
        self._variable = self._engine.new_variable()
        self.syncs: list[hooks.Sync] = []

    def clock(self) -> int:
        with self._lock:
            return next(self._ticks)

    def synced(self, sync: hooks.Sync) -> None:
        self.syncs.append(sync)

    def enqueued(self, event: hooks.Enqueue) -> None:
        self._enqueued_at[event.serial] = event.t_begin

    def executed(self, event: hooks.Execution) -> None:
        with self._ran:
            self._executions.append(event)
            self._ran.notify()

    def do(self, step: str) -> None:
        if step == "push":
            self._engine.push(self._gate.wait, writes=[self._variable])
        elif step == "wait":
            self._engine.wait_for_var(self._variable)
        elif step == "wait all":
            self._engine.wait_for_all()
        elif step == "think":
            self.clock()
        elif step == "run dry":
            self.open()
        self.join()
        if step != "push":
            self._gate.clear()

    def open(self) -> None:
        self._gate.set()

    def join(self) -> None:
        """Until all that the open gate lets run has been reported."""
        with self._ran:
            if self._gate.is_set():
                self._ran.wait_for(lambda: len(self._executions) == len(self._enqueued_at), 60)

    def close(self) -> None:
        self._engine.close()

    def activities(self) -> list[Activity]:
        return [
            Activity(0, run.t_begin, run.t_end, self._enqueued_at[run.serial])
            for run in self._executions
        ]


STEPS = st.sampled_from(["push", "wait", "wait all", "think", "run dry"])


@given(st.lists(STEPS, max_size=25))
def test_gives_the_reference_engines_exact_idle_times(program: list[str]) -> None:
    began, seen = hooks.IdleMeter.wait_began, _Engine()

    def wait_began(meter: hooks.IdleMeter, sync: hooks.Sync) -> hooks.Sync | None:
        relieved = began(meter, sync)
        seen.open()
        return relieved

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks.IdleMeter, "wait_began", wait_began)
        hooks.attach(seen, seen.clock)
        try:
            for step in (*program, "wait all"):
                seen.do(step)
        finally:
            hooks.detach(seen)
            seen.close()
    waits = [Wait(s.t_begin, s.t_end, number) for number, s in enumerate(seen.syncs)]
    found = Counter(dict.fromkeys(range(len(waits)), 0))
    for bubble in bubbles(waits, seen.activities()):
        found[bubble.wait.owner] += bubble.end - bubble.begin
    assert found == {number: sync.idle_ns for number, sync in enumerate(seen.syncs)}
