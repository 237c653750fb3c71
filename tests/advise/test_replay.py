"""Predictions: on programs whose time is known exactly, with and without the waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import asyncguard
from asyncguard.advise.replay import predict
from asyncguard.advise.suggest import suggest
from asyncguard.api import Trace
from asyncguard.model import STAND_IN, AsyncguardError, SyncKind, TraceRecord
from tests.machine import Machine
from tests.records import record, steady

STEPS = 40
Loop = Callable[[Machine, int], None]


def run(step: Loop, latency: int = 10) -> Machine:
    """A warm-up step and STEPS more of them; then all is waited for."""
    machine = Machine(latency)
    for number in range(STEPS + 1):
        step(machine, number)
        machine.work(1)
        machine.boundary()
    return machine


def reads(host: int, device: int, every: int = 1, sites: int = 1) -> Loop:
    """The host works, hands over as many operations as sites, and reads in one step of `every`."""

    def step(machine: Machine, number: int) -> None:
        for site in range(sites):
            machine.work(host * US)
            machine.enqueue(device * US, host_ns=5, nbytes=100)
            if number % every == every - 1:
                machine.wait(site, return_ns=3 * US)

    return step


def actual(step: Loop, latency: int = 10) -> float:
    """The mean step, up to when the last one's work is done."""
    machine = run(step, latency)
    return max(machine.timeline.now, machine.timeline.default_stream().tail) / (STEPS + 1)


US = 1_000
SHAPES = [(1_000, 100), (100, 1_000), (1_000, 1_000), (700, 1_000)]  # host, device, us


@pytest.mark.parametrize(("host", "device"), SHAPES)
def test_the_time_without_a_wait_is_predicted(host: int, device: int) -> None:
    trace = run(reads(host, device)).record()
    found = predict(trace, remove=trace.sites)
    assert found.step_ns == pytest.approx(actual(reads(host, device, every=10**9)), rel=0.02)
    assert found.low_ns < found.step_ns < found.high_ns
    assert found.basis == "measured"
    assert found.before_ns == trace.steady_duration_ns / STEPS


@pytest.mark.parametrize("kind", [SyncKind.SCALAR, SyncKind.BARRIER, SyncKind.TEXT])
def test_a_read_that_goes_leaves_an_operation_in_its_place(kind: SyncKind) -> None:
    """A sum on the device costs the host an enqueue; a barrier and a print leave nothing."""

    def step(machine: Machine, number: int, *, waits: bool = True) -> None:
        machine.enqueue(5 * US, host_ns=50 * US)
        if waits:
            machine.wait(0, return_ns=3 * US)
        elif kind is SyncKind.SCALAR:
            machine.enqueue(5 * US, host_ns=50 * US)

    trace = run(step).record()
    trace = replace(trace, sites=tuple(replace(site, kind=kind) for site in trace.sites))
    found = predict(trace, remove=trace.sites)
    assert found.step_ns == pytest.approx(actual(partial(step, waits=False)), rel=0.02)


@pytest.mark.parametrize(("host", "device"), SHAPES)
def test_the_time_with_a_wait_every_ten_steps_is_predicted(host: int, device: int) -> None:
    trace = run(reads(host, device)).record()
    found = predict(trace, every=[(trace.sites[0], 10)])
    assert found.step_ns == pytest.approx(actual(reads(host, device, every=10)), rel=0.02)


@pytest.mark.parametrize(("host", "device"), SHAPES)
def test_the_time_with_one_wait_for_three_is_predicted(host: int, device: int) -> None:
    def batched(machine: Machine, number: int) -> None:
        for _ in range(3):
            machine.work(host * US)
            machine.enqueue(device * US, host_ns=5)
        machine.wait(return_ns=3 * US)

    trace = run(reads(host, device, sites=3)).record(sites=3)
    assert predict(trace, batch=[trace.sites]).step_ns == pytest.approx(actual(batched), rel=0.02)


def test_what_was_simulated_is_called_modelled() -> None:
    trace = run(reads(100, 100)).record()
    simulated = replace(trace, extra={"simulated": {"profile": "h200"}})
    assert predict(simulated).basis == "modelled"


def test_of_a_long_trace_the_newest_steps_are_replayed() -> None:
    machine = Machine()
    for step in range(1_500):
        for _ in range(20 if step < 1_400 else 10):
            machine.enqueue(1_000)
            machine.wait()
        machine.boundary()
    trace = machine.record()
    newest = predict(trace, remove=trace.sites).step_ns - predict(trace).step_ns
    assert newest == pytest.approx(0, abs=10)  # the device is busy throughout


def test_nothing_changed_is_what_was_measured() -> None:
    trace = run(reads(300, 500)).record()
    assert predict(trace).step_ns == pytest.approx(trace.steady_duration_ns / STEPS)


@pytest.mark.parametrize(
    ("host", "device", "bottleneck"), [(1_000, 100, "host"), (100, 1_000, "device")]
)
def test_what_bounds_the_step_that_is_left_is_named(
    host: int, device: int, bottleneck: str
) -> None:
    trace = run(reads(host, device)).record()
    assert predict(trace, remove=trace.sites).bottleneck == bottleneck
    assert predict(run(reads(500, 500)).record()).bottleneck == "waits"


def test_where_the_host_is_the_bottleneck_next_to_nothing_is_saved() -> None:
    trace = run(reads(10_000, 5)).record()
    assert predict(trace, remove=trace.sites).saving_ns < 0.005 * predict(trace).before_ns


@given(
    st.lists(
        st.tuples(st.integers(50, 500), st.integers(50, 500), st.booleans()), min_size=1, max_size=4
    )
)
def test_the_true_time_lies_in_the_range_where_only_the_waits_were_seen(
    parts: list[tuple[int, int, bool]],
) -> None:
    """In-order work that is all waited for: some overlap explains it."""

    def step(waits: bool) -> Loop:
        def one(machine: Machine, number: int) -> None:
            for host, device, early in parts:
                machine.work(0 if early else host * US)
                machine.enqueue(device * US)
                machine.work(host * US if early else 0)
                if waits:
                    machine.wait()

        return one

    trace = run(step(waits=True), latency=0).record(runs=False)
    found = predict(trace, remove=trace.sites)
    assert found.basis == "inferred"
    assert found.low_ns <= actual(step(waits=False), latency=0) <= found.high_ns


def test_a_measured_overlap_narrows_the_range() -> None:
    trace = run(reads(1_000, 1_000)).record(runs=False)
    wide = predict(trace, remove=trace.sites)
    narrow = predict(replace(trace, extra={"backend_overlap": 0.0}), remove=trace.sites)
    assert narrow.high_ns - narrow.low_ns < (wide.high_ns - wide.low_ns) / 2
    assert narrow.step_ns == pytest.approx(actual(reads(1_000, 1_000, every=10**9)), rel=0.03)


def test_sums_alone_give_a_wide_range_that_holds_the_truth() -> None:
    trace = run(reads(1_000, 1_000)).record(timeline=False)
    found = predict(trace, remove=trace.sites)
    assert found.low_ns <= actual(reads(1_000, 1_000, every=10**9)) <= found.high_ns
    assert found.basis == "inferred"


def test_a_wait_each_step_bounds_what_is_pending() -> None:
    unbounded = run(reads(10, 1_000, every=10**9)).record()
    bounded = predict(unbounded, wait_each_step=True)
    assert bounded.peak_pending_bytes == 100
    assert (predict(unbounded).peak_pending_bytes or 0) > 3_000


def test_the_operation_that_a_step_waits_for_can_be_named() -> None:
    def step(machine: Machine, number: int) -> None:
        machine.enqueue(100 * US, nbytes=1, name="loss")
        machine.enqueue(900 * US, nbytes=10, name="update")

    trace = run(step).record()
    assert predict(trace, wait_each_step="loss").peak_pending_bytes == 21
    assert predict(trace, wait_each_step=True).peak_pending_bytes == 11
    assert predict(trace, wait_each_step="none").step_ns == predict(trace).step_ns


def _steps(steps: int) -> TraceRecord:
    return record(steady(1), step_count=steps, steady_steps=steps, steady_duration_ns=steps * 1000)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        (_steps(0), "mark steps with asyncguard.step"),
        (record(steady(1, device=STAND_IN), steady_steps=1, steady_duration_ns=9), "stood in"),
    ],
)
def test_what_cannot_be_predicted_is_said_with_the_remedy(trace: TraceRecord, says: str) -> None:
    with pytest.raises(AsyncguardError, match=says):
        predict(trace)


def test_sites_of_another_trace_and_odd_numbers_are_refused() -> None:
    trace = run(reads(10, 10)).record()
    with pytest.raises(AsyncguardError, match="no such site"):
        predict(trace, remove=[steady(1, line=99)])
    with pytest.raises(AsyncguardError, match="whole number from 1"):
        predict(trace, every=[(trace.sites[0], 0)])


def test_a_trace_predicts() -> None:
    trace = Trace(record=run(reads(100, 1_000)).record())
    found = trace.predict(remove=trace.sites)
    assert isinstance(found, asyncguard.Prediction)
    assert found.step_ns < trace.steady_duration_ns / trace.steady_steps


def test_a_timeline_without_whole_steps_says_no_more_than_the_sums_do() -> None:
    told = replace(run(reads(100, 100, sites=2)).record(sites=2), steady_steps=0)
    assert told.timeline
    assert told.steady_duration_ns
    assert suggest(told) == suggest(replace(told, timeline=()))
