"""Suggestions: each kind appears when it should, with a bound that holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import catalogue
from asyncguard.advise import suggest
from asyncguard.model import SiteStats, Suggestion, SyncKind, TraceRecord
from tests.records import record, site, steady

STEPS = 10


def run(*sites, step_ns: int = 1_000_000, **values) -> TraceRecord:
    return record(
        *sites,
        step_count=STEPS + 1,
        steady_steps=STEPS,
        steady_duration_ns=step_ns * STEPS,
        **values,
    )


def titled(suggestions: tuple[Suggestion, ...], words: str) -> Suggestion:
    (found,) = [item for item in suggestions if words in item.title]
    return found


def test_several_reads_of_one_step_become_one_transfer() -> None:
    trace = run(
        steady(1, line=5, stall_ns=100_000),
        steady(1, line=6, stall_ns=100_000),
        steady(1, line=9, stall_ns=100_000),
    )
    found = titled(suggest(trace), "Read 3 values")
    assert "5, 6, 9" in found.advice
    assert found.syncs_saved_per_step == 2
    assert found.saving_ns_per_step == 200_000


def test_a_suggestion_brings_the_catalogues_advice_on_what_waited_longest() -> None:
    cheap = steady(1, line=5, stall_ns=100, api="torch.Tensor.tolist")
    dear = steady(1, line=6, stall_ns=100_000, api="torch.Tensor.item")
    entries = catalogue.load()
    for item in suggest(run(cheap, dear)):
        assert item.help == entries["torch.Tensor.item"].advice
    unknown = steady(1, api="acme.fetch", framework="acme")
    assert {item.help for item in suggest(run(unknown))} == {""}


def test_reads_of_different_functions_are_not_batched() -> None:
    trace = run(steady(1, function="a"), steady(1, function="b"))
    assert not any("one transfer" in item.title for item in suggest(trace))


def test_what_a_call_reads_for_itself_is_not_stacked_with_other_values() -> None:
    scaler = steady(1, line=7, stall_ns=200_000, api="torch.amp.GradScaler.step")
    trace = run(steady(1, line=5, stall_ns=100_000), scaler)
    found = suggest(trace)
    assert not any("one transfer" in item.title for item in found)
    alone = titled(found, "Avoid the wait inside torch.amp.GradScaler.step")
    assert (alone.syncs_saved_per_step, alone.saving_ns_per_step) == (1, 200_000)
    assert "line 7 reads" in alone.advice
    assert "bfloat16" in alone.advice


@pytest.mark.parametrize(
    ("kind", "api", "title"),
    [
        (SyncKind.UPLOAD, "torch.Tensor.to.device", "Upload without waiting in main (train.py)"),
        (SyncKind.SHAPE, "torch.nonzero", "Keep shapes fixed in main (train.py)"),
    ],
)
def test_uploads_and_shapes_in_every_step_are_suggestions_too(
    kind: SyncKind, api: str, title: str
) -> None:
    place = {"kind": kind, "api": api, "function": "main"}
    hot = [steady(2, line=line, stall_ns=100_000, **place) for line in (5, 6)]
    rare = site(count=1, steady_count=1, line=9, **place)
    found = titled(suggest(run(*hot, rare)), title)
    assert "lines 5, 6" in found.advice
    assert found.advice.endswith(catalogue.load()[api].advice)
    assert (found.syncs_saved_per_step, found.saving_ns_per_step) == (4, 400_000)


def test_a_read_each_step_can_be_deferred() -> None:
    found = titled(suggest(run(steady(1, stall_ns=400_000))), "Read less often")
    assert found.syncs_saved_per_step == 1
    assert found.saving_ns_per_step == 400_000


def test_the_bound_is_the_hosts_own_time_where_that_is_smaller() -> None:
    found = titled(suggest(run(steady(1, stall_ns=900_000))), "Read less often")
    assert found.saving_ns_per_step == 100_000


def test_a_gated_read_is_left_alone() -> None:
    assert suggest(run(site(count=1, steady_count=1))) == ()


def test_an_allowed_read_is_left_alone() -> None:
    assert suggest(run(replace(steady(1), allowed="early stopping"))) == ()


def test_a_barrier_for_everything_is_narrowed() -> None:
    barrier = steady(1, api="torch.cuda.synchronize", kind=SyncKind.BARRIER, stall_ns=500_000)
    assert titled(suggest(run(barrier)), "Narrow torch.cuda.synchronize")


def test_many_waits_in_a_step_become_one() -> None:
    wait = steady(
        100,
        api="mxnet.nd.NDArray.wait_to_read",
        framework="mxnet",
        kind=SyncKind.BARRIER,
        stall_ns=1000,
    )
    found = titled(suggest(run(wait)), "Wait once instead of 100 times")
    assert found.syncs_saved_per_step == 99


def test_one_wait_a_step_is_right() -> None:
    wait = steady(1, api="mxnet.nd.NDArray.wait_to_read", framework="mxnet", kind=SyncKind.BARRIER)
    assert suggest(run(wait)) == ()


def test_where_the_cpu_stood_in_for_a_device_nothing_is_said_of_what_is_saved() -> None:
    reads = [steady(1, line=line, stall_ns=100, device="cpu (stand-in)") for line in (1, 2)]
    found = suggest(run(*reads))
    assert [item.saving_ns_per_step for item in found] == [None]
    assert all(item.worth for item in found)


def test_nothing_to_gain_is_said() -> None:
    found = suggest(run(steady(1, stall_ns=100)))
    assert [item.worth for item in found] == [False]


def test_each_wait_is_in_one_suggestion() -> None:
    barrier = steady(1, line=9, api="torch.cuda.synchronize", kind=SyncKind.BARRIER)
    reads = [steady(1, line=line, stall_ns=line * 1000) for line in range(3)]
    sites = [site for item in suggest(run(*reads, barrier)) for site in item.sites]
    assert len(sites) == len(set(map(id, sites))) == 4


@pytest.mark.parametrize(("framework", "told"), [("mxnet", True), ("torch", False), ("jax", False)])
def test_never_synchronising_is_told_where_nothing_else_bounds_the_queue(
    framework: str, told: bool
) -> None:
    trace = record(step_count=1000, frameworks={framework: "1.0"})
    assert bool(suggest(trace)) is told


def test_without_steps_the_run_is_one_step() -> None:
    trace = record(site(count=10_000, cpu_stall_ns=4_000_000), duration_ns=10_000_000)
    assert titled(suggest(trace), "Read less often").saving_ns_per_step == 4_000_000


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 10**6), st.booleans()), max_size=6),
    st.integers(0, 10**7),
)
def test_no_bound_exceeds_host_or_waiting_time(
    sites: list[tuple[int, int, bool]], host_ns: int
) -> None:
    made = [
        steady(n, line=i, stall_ns=ns, kind=SyncKind.SCALAR if read else SyncKind.BARRIER)
        for i, (n, ns, read) in enumerate(sites)
    ]
    stall = sum(s.steady_stall_ns for s in made) // STEPS
    for item in suggest(run(*made, step_ns=host_ns + stall)):
        waited = sum(s.steady_stall_ns for s in item.sites) // STEPS
        assert 0 <= (item.saving_ns_per_step or 0) <= min(host_ns, waited)


def without_waits(*sites: SiteStats, **extra: int) -> TraceRecord:
    return record(*sites, step_count=1000, frameworks={"mxnet": "1.9.1"}, extra=extra)


def test_a_wait_after_the_loop_bounds_no_step() -> None:
    after = site(api="mxnet.waitall", framework="mxnet", kind=SyncKind.BARRIER, count=1)
    assert titled(suggest(without_waits(after)), "Synchronise once a mini-batch")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({}, "its memory grow."),
        ({"peak_memory_growth_bytes": 300 << 20}, "what the process grew by here, 300 MiB."),
        ({"peak_memory_growth_bytes": 9, "peak_pending_bytes": 3 << 19}, "results, 1.5 MiB"),
    ],
)
def test_the_peak_that_a_wait_a_step_bounds_is_told(extra: dict[str, int], words: str) -> None:
    (found,) = suggest(without_waits(**extra))
    assert words in found.advice
