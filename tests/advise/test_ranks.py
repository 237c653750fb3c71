"""Traces of several ranks beside each other."""

from __future__ import annotations

from asyncguard.advise.ranks import is_ranked, merge
from asyncguard.model import SyncKind, TraceRecord
from asyncguard.render import Screen, formats
from tests.records import record, site, steady


def rank(number: int, barrier_ns: int, item_ns: int = 100) -> TraceRecord:
    barrier = site(
        line=5,
        api="torch.distributed.barrier",
        kind=SyncKind.BARRIER,
        count=3,
        cpu_stall_ns=barrier_ns,
    )
    read = site(line=9, count=3, cpu_stall_ns=item_ns)
    return record(barrier, read, duration_ns=10_000, extra={"rank": number})


def test_only_traces_of_different_ranks_are_merged() -> None:
    assert is_ranked([rank(0, 1), rank(1, 1)])
    assert not is_ranked([rank(0, 1), rank(0, 1)])
    assert not is_ranked([rank(0, 1)])
    assert not is_ranked([rank(0, 1), record(site())])


def test_who_waited_least_at_collectives_is_the_straggler() -> None:
    merged = merge([rank(1, 50), rank(0, 900), rank(2, 700)])
    assert merged.ranks == (0, 1, 2)
    assert merged.straggler == 1
    assert merged.waited_for_straggler_ns == (850, 0, 650)


def test_nobody_is_named_for_less_than_a_few_per_cent_of_the_steps_time() -> None:
    def trained(number: int, waited_ns: int, start_up_ns: int = 0) -> TraceRecord:
        reduced = steady(
            1, api="torch.nn.parallel.DistributedDataParallel", stall_ns=waited_ns, steps=100
        )
        return record(
            reduced,
            steady_steps=100,
            steady_duration_ns=100_000,
            step_count=101,
            duration_ns=100_000 + start_up_ns,
            extra={"rank": number},
        )

    late = merge([trained(0, 61, start_up_ns=10**9), trained(1, 11)])
    assert (late.straggler, late.waited_for_straggler_ns) == (1, (5000, 0))
    assert late.verdict.endswith("waited 5% of their time for it.")
    noise = merge([trained(0, 31), trained(1, 11)])
    assert (noise.straggler, noise.waited_for_straggler_ns) == (None, (0, 0))
    assert "but for 2.0% of the time" in noise.verdict
    one_waits = merge([trained(0, 11), trained(1, 11), trained(2, 900)])
    assert one_waits.straggler is None  # it was late for nobody: the others came as late
    not_held = merge([trained(0, 61), record(site(), extra={"rank": 1})])
    assert not_held.straggler is None
    assert "NCCL" in not_held.verdict


def test_a_few_long_waits_name_nobody_and_many_short_ones_do() -> None:
    def trained(number: int, held: list[int]) -> TraceRecord:
        reduced = steady(
            1, api="torch.nn.parallel.DistributedDataParallel", stall_ns=sum(held) // 100, steps=100
        )
        return record(
            reduced,
            steady_steps=100,
            steady_duration_ns=100_000,
            step_count=101 + number,  # one rank is a step ahead
            step_collective_ns=tuple(held[-60 - number :]),
            extra={"rank": number},
        )

    even = [10, 30] * 50
    odd = [30, 10] * 50
    preempted = [9000 if at in (50, 60) else ns for at, ns in enumerate(even)]
    assert merge([trained(0, preempted), trained(1, odd)]).straggler is None
    late = merge([trained(0, [60] * 100), trained(1, [10] * 90 + [5000] * 2 + [10] * 8)])
    assert late.straggler == 1
    assert "the others waited 5% of their time" in late.verdict


def test_reads_do_not_make_a_straggler() -> None:
    reads = [record(site(cpu_stall_ns=n), extra={"rank": n}) for n in (0, 1)]
    assert merge(reads).straggler is None


def test_sites_are_ordered_by_their_spread_and_missing_ones_count_zero() -> None:
    only_on_1 = record(site(line=30, count=4, cpu_stall_ns=5000), extra={"rank": 1})
    merged = merge([rank(0, 900), only_on_1])
    assert [item.site.line for item in merged.sites] == [30, 5, 9]
    assert merged.sites[0].counts == (0, 4)
    assert merged.sites[0].spread_ns == 5000


def test_every_format_of_ranks_names_the_straggler() -> None:
    merged = merge([rank(0, 900), rank(1, 50)])
    rendered = {name: show(merged, Screen()) for name, show in formats("ranks").items()}
    assert rendered.keys() >= {"text", "json", "markdown"}
    assert "Rank 1 came last" in rendered["text"]
    assert "Rank 1 came last" in rendered["markdown"]
    assert '"straggler": 1' in rendered["json"]
