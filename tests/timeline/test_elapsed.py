"""A program's times in one pass are those of the program played on the virtual timeline."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.timeline.elapsed import Left, elapsed
from asyncguard.timeline.program import Boundary, Handover, Pause, Program, Work, play
from tests.machine import Machine

NS = st.integers(0, 500)
DEEDS = st.lists(
    st.tuples(st.sampled_from(["work", "enqueue", "wait", "step"]), NS, NS), max_size=40
)


def recorded(deeds: list[tuple[str, int, int]]) -> Program:
    """The program of a run in which these things were done."""
    machine = Machine(latency=7)
    machine.enqueue(10, host_ns=3, nbytes=5)
    for deed, one, other in deeds:
        if deed == "work":
            machine.work(one)
        elif deed == "enqueue":
            machine.enqueue(one, host_ns=other // 10, nbytes=other)
        elif deed == "wait":
            machine.wait(one % 3, return_ns=other // 10, back=1 + other % min(3, len(machine.runs)))
        else:
            machine.work(1)
            machine.boundary()
    machine.work(1)
    machine.boundary()
    return machine.recorded()


@given(DEEDS, st.sets(st.integers(0, 20)))
def test_what_is_left_takes_what_it_takes_when_it_is_played(
    deeds: list[tuple[str, int, int]], gone: set[int]
) -> None:
    program = recorded(deeds)
    left = [a for a in program.actions if not isinstance(a, Pause) or a.number not in gone]
    played = play(replace(program, actions=tuple(left)))
    found = elapsed(program, Left(gone=gone))
    assert (found.duration_ns, found.steps) == (played.duration_ns, played.steps)
    assert found.peak_pending_bytes == played.peak_pending_bytes
    assert found.step_ns == played.step_ns


def test_a_wait_that_goes_takes_its_copy_along_and_leaves_what_is_kept() -> None:
    copy = Handover(1, "s", 50, host_ns=4, within=1)
    program = Program((Work(10), copy, Pause(1, 0, 1, 6), Work(20), Boundary()), (100,))
    assert elapsed(program, Left()).duration_ns == 10 + 50 + 6 + 20
    without = elapsed(program, Left(gone={1}, kept={0}, kept_ns=3))
    assert (without.duration_ns, without.host_ns, without.device_ns) == (33, 33, 0)


def test_a_step_may_end_with_a_wait_for_its_newest_operation() -> None:
    made = Handover(1, "s", 50, name="dot"), Handover(2, "s", 30, name="add")
    program = Program((*made, Work(5), Boundary(), Work(5), Boundary()), (40, 40))
    assert elapsed(program, Left(wait_each_step=True)).duration_ns == 85
    assert elapsed(program, Left(wait_each_step="dot")).duration_ns == 80
    assert elapsed(program, Left()).host_ns == 10
