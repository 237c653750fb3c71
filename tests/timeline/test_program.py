"""A trace's events as a program: played unchanged it gives back what was measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.model import TimelineEvent
from asyncguard.timeline import inferred
from asyncguard.timeline.inferred import Overlap
from asyncguard.timeline.program import Boundary, Handover, Pause, Program, Work, play, recorded
from tests.machine import Machine


def trained(steps: int = 4, latency: int = 5) -> Machine:
    machine = Machine(latency)
    for _ in range(steps):
        machine.work(20)
        machine.enqueue(100, host_ns=3)
        machine.enqueue(50, host_ns=3)
        machine.wait(return_ns=4)
        machine.work(30)
        machine.boundary()
    return machine


def test_an_unchanged_program_takes_what_it_took() -> None:
    machine = trained(steps=5)
    played = play(machine.recorded(first_step=1))
    assert (played.duration_ns, played.steps) == (machine.timeline.now * 4 // 5, 4)
    assert [wait.end_ns - wait.begin_ns for wait in played.waits] == [153] * 4
    idle = [bubble.end - bubble.begin for bubble in played.bubbles]
    assert idle == [4 + 30 + 20 + 5] * 3 + [4]


def test_the_warm_up_is_left_out_and_what_still_runs_then_is_not() -> None:
    machine = Machine()
    machine.enqueue(1_000)
    machine.work(10)
    machine.boundary()
    machine.enqueue(5)
    machine.wait()
    machine.boundary()
    played = play(machine.recorded(first_step=1))
    assert played.duration_ns == 1_005 - 10
    assert played.steps == 1


def test_steps_that_the_trace_kept_only_in_part_are_left_out() -> None:
    machine = trained()
    newest = machine.events[len(machine.events) // 2 :]
    steps = [event for event in machine.events if event.kind == "step"]
    kept = {id(event): event for event in [*newest, *steps]}.values()
    program = recorded(sorted(kept, key=lambda event: event.begin_ns))
    assert program is not None
    assert 0 < len(program.step_ns) < 4
    assert play(program).step_ns == 209


def test_without_a_complete_step_there_is_no_program() -> None:
    assert recorded(()) is None
    assert recorded([TimelineEvent("wait", "x", 0, 5, "main", 0)]) is None


def test_a_copy_that_a_read_enqueues_belongs_to_the_read() -> None:
    events = [
        TimelineEvent("step", "step 0", 0, 100),
        TimelineEvent("enqueue", "matmul", 10, 12, serial=1),
        TimelineEvent("run", "matmul", 14, 60, "cuda:0", serial=1),
        TimelineEvent("wait", "item", 20, 80, "main", 0),
        TimelineEvent("enqueue", "copy", 22, 24, serial=2),
        TimelineEvent("run", "copy", 60, 75, "cuda:0", serial=2),
    ]
    program = recorded(events)
    assert program is not None
    actions = program.actions
    (pause,) = [action for action in actions if isinstance(action, Pause)]
    handovers = [action for action in actions if isinstance(action, Handover)]
    assert [handover.within for handover in handovers] == [None, pause.number]
    assert (pause.target, pause.return_ns) == (2, 5)
    assert play(program).duration_ns == 100


def test_what_was_enqueued_in_no_time_is_not_part_of_the_wait_behind_it() -> None:
    machine = Machine()
    machine.enqueue(10)
    machine.wait()
    machine.boundary()
    (handover,) = [a for a in machine.recorded().actions if isinstance(a, Handover)]
    assert handover.within is None


def test_what_a_waiting_host_ran_itself_ran_in_the_workers_stead() -> None:
    machine = Machine()
    machine.enqueue(10)
    machine.enqueue(10, worker="main")
    machine.wait()
    machine.boundary()
    assert play(machine.recorded()).duration_ns == 20


def test_a_wait_for_what_another_overtook_is_a_wait_for_both() -> None:
    """The loss is enqueued before the update, but the update is ready first and runs first."""
    events = [
        TimelineEvent("enqueue", "loss", 0, 1, serial=0),
        TimelineEvent("enqueue", "update", 1, 2, serial=1),
        TimelineEvent("run", "update", 2, 102, thread="worker", serial=1),
        TimelineEvent("run", "loss", 102, 112, thread="worker", serial=0),
        TimelineEvent("wait", "", 2, 113, thread="main", site=0),
        TimelineEvent("step", "step 0", 0, 120),
    ]
    program = recorded(events)
    assert program is not None
    (wait,) = play(program).waits
    assert wait.end_ns >= 110


STEP = st.lists(
    st.one_of(
        st.tuples(st.just("work"), st.integers(1, 30)),
        st.tuples(st.just("enqueue"), st.integers(1, 60)),
        st.tuples(st.just("wait"), st.integers(1, 3)),
    ),
    max_size=8,
)


@given(st.lists(STEP, min_size=1, max_size=5), st.integers(0, 9))
def test_any_unchanged_program_takes_what_it_took(
    steps: list[list[tuple[str, int]]], latency: int
) -> None:
    machine = Machine(latency)
    machine.enqueue(10)
    machine.wait()
    machine.boundary()
    warm, enqueued = machine.timeline.now, 1
    for step in steps:
        for what, ns in step:
            machine.work(1)
            if what == "work":
                machine.work(ns)
            elif what == "enqueue":
                machine.enqueue(ns, host_ns=2)
                enqueued += 1
            else:
                machine.wait(return_ns=ns, back=min(ns, enqueued))
        machine.work(1)
        machine.boundary()
    waits = [event for event in machine.events if event.kind == "wait"][1:]
    played = play(machine.recorded(first_step=1))
    assert (played.steps, played.host_ns) == (len(steps), machine.timeline.now - warm)
    assert [(w.begin_ns, w.end_ns) for w in played.waits] == [
        (wait.begin_ns - warm, wait.end_ns - warm) for wait in waits
    ]


def test_the_peak_of_pending_bytes_is_replayed() -> None:
    machine = Machine()
    for _ in range(3):
        machine.enqueue(100, host_ns=10, nbytes=8)
        machine.boundary()
    assert play(machine.recorded()).peak_pending_bytes == 24
    assert play(machine.recorded(), queue_limit_bytes=16).peak_pending_bytes == 16


def seen_from_the_host() -> Program:
    """The same run, of which only the waits were recorded."""
    machine = trained(steps=3, latency=0)
    events = [event for event in machine.events if event.kind in {"step", "wait"}]
    program = recorded(sorted(events, key=lambda event: event.begin_ns))
    assert program is not None
    return program


@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
def test_inferred_work_takes_as_long_as_the_waits_for_it_did(overlap: float) -> None:
    plain = seen_from_the_host()
    assert not plain.has_runs
    filled = inferred.with_device(plain, Overlap(overlap))
    played = play(filled)
    assert [w.end_ns - w.begin_ns for w in played.waits] == [w.return_ns for w in _pauses(plain)]
    assert played.host_ns == sum(plain.step_ns)


def test_more_overlap_means_more_work() -> None:
    durations = [
        sum(
            action.duration_ns
            for action in inferred.with_device(seen_from_the_host(), Overlap(overlap)).actions
            if isinstance(action, Handover)
        )
        for overlap in (0.0, 0.5, 1.0)
    ]
    assert durations[0] < durations[1] < durations[2]


def test_equal_steps_are_made_from_sums() -> None:
    program = inferred.average(100, [(0, 30), (1, 20)], steps=3)
    assert sum(a.ns for a in program.actions if isinstance(a, Work)) == 300
    assert len({pause.number for pause in _pauses(program)}) == 6
    assert sum(isinstance(action, Boundary) for action in program.actions) == 3
    assert program.step_ns == (150, 150, 150)


def _pauses(program: Program) -> list[Pause]:
    return [action for action in program.actions if isinstance(action, Pause)]
