"""Traces of some steps of a long run."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import asyncguard
from asyncguard import AsyncguardError, Schedule
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import registry

np = pytest.importorskip("asyncguard.engine.np", reason="NumPy is not installed")


def train(steps: int, mark: Any = asyncguard.step) -> None:
    for _ in range(steps):
        float(np.ones(3).sum())
        mark()


def is_clean() -> bool:
    return not (hub._sinks or hub.marked or registry.adapters())


def test_each_cycle_waits_warms_up_and_records() -> None:
    records: list[asyncguard.Trace] = []
    schedule = Schedule(wait=3, warmup=1, active=2, repeat=2)
    with asyncguard.trace(schedule=schedule, on_record=records.append) as trace:
        train(3)
        assert (trace.total_syncs, len(records)) == (0, 0)
        train(2)
        assert (trace.total_syncs, trace.step_count) == (2, 2)
        train(1)
        assert [each.total_syncs for each in records] == [3]
        train(2)
        assert trace.total_syncs == 3  # of the cycle before
        train(20)
    assert [(t.total_syncs, t.step_count, t.steady_steps) for t in records] == [(3, 3, 2)] * 2
    assert {t.syncs_per_step for t in records} == {1.0}
    assert trace.record == records[-1].record
    assert is_clean()


def test_between_cycles_no_wait_is_looked_at() -> None:
    with asyncguard.trace(schedule=Schedule(wait=5, active=1)):
        assert not hub._sinks
        train(5)
        assert hub._sinks
        train(2)
        assert not hub._sinks


def test_a_cycle_that_the_end_cuts_short_is_handed_on() -> None:
    records: list[asyncguard.Trace] = []
    trace = asyncguard.trace(schedule=Schedule(warmup=0, repeat=0), on_record=records.append)
    trace.start()
    train(14)
    trace.stop()
    assert [each.step_count for each in records] == [10, 4]
    assert trace.step_count == 4


def test_a_schedule_may_never_come_to_record() -> None:
    with asyncguard.trace(schedule=Schedule(wait=9)) as trace:
        train(2)
    assert (trace.total_syncs, trace.step_count) == (0, 0)


def test_steps_may_be_marked_in_the_trace_alone() -> None:
    with asyncguard.trace(schedule=Schedule(wait=1, warmup=0, active=2)) as trace:
        train(4, trace.step)
    assert (trace.total_syncs, trace.step_count) == (2, 2)


def test_a_listener_that_fails_ends_the_schedule_and_not_the_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: object) -> None:
        raise KeyError("mine")

    schedule = Schedule(warmup=0, active=1, repeat=0)
    with asyncguard.trace(schedule=schedule, on_record=fail):
        train(5)
    assert is_clean()
    assert "steps" in caplog.text


def test_steps_of_another_thread_count_as_in_a_trace() -> None:
    records: list[asyncguard.Trace] = []
    with asyncguard.trace(schedule=Schedule(warmup=0, active=4), on_record=records.append):
        thread = threading.Thread(target=train, args=(4,))
        thread.start()
        thread.join()
    assert [each.total_syncs for each in records] == [4]


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"active": 0}, {"repeat": 1.5}, {"warmup": True}])
def test_a_schedule_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(AsyncguardError, match=f"schedule: {next(iter(wrong))} must be"):
        Schedule(**wrong)
