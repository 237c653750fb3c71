"""Uses of the public names, for type checkers; `test_typed.py` has mypy and pyright read it.

It is never run. Each ignored line is one that they are to refuse: an ignore that nothing needs is
an error to both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import asyncguard
from asyncguard import SyncLimitExceeded, Trace, allow_syncs
from asyncguard.model import SiteStats, Suggestion


def traces() -> None:
    with asyncguard.trace(timeline=100, depth="full") as trace:
        asyncguard.step()
    assert_type(trace, Trace)
    assert_type(trace.total_syncs, int)
    assert_type(trace.syncs_per_step, float | None)
    assert_type(trace.gpu_stall_ns, int | None)
    assert_type(trace.sites, tuple[SiteStats, ...])
    assert_type(trace.suggestions, tuple[Suggestion, ...])
    assert_type(trace.predict(remove=trace.sites[0]), asyncguard.Prediction)
    assert_type(asyncguard.load_trace("trace.json"), Trace)
    assert_type(asyncguard.trace().start().stop().table(sort_by="count"), str)
    asyncguard.trace(depth="deep")  # type: ignore[arg-type]
    asyncguard.trace(timelines=100)  # type: ignore[call-arg]
    trace.table(sort_by="size")  # type: ignore[arg-type]
    trace.total_waits  # type: ignore[attr-defined]


def limits() -> None:
    with asyncguard.forbid_syncs(), allow_syncs("log every 100"):
        pass
    with asyncguard.limit_syncs(2, per="step", on="warn"):
        pass
    asyncguard.limit_syncs(2, per=3)  # type: ignore[arg-type]
    with asyncguard.limit_syncs(2, per="token", after=2, first_only=True), asyncguard.step("token"):
        pass

    @asyncguard.limit_syncs(1)
    def limited(x: int) -> str:
        return str(x)

    assert_type(limited(1), str)
    limited("1")  # type: ignore[arg-type]
    error: Exception = SyncLimitExceeded("too many")
    raise error


def steps(loader: list[bytes]) -> Iterator[int]:
    for item in asyncguard.steps(loader):
        assert_type(item, bytes)
        yield len(item)


@asyncguard.step("request")
def unit(x: int) -> str:
    asyncguard.step("token")
    asyncguard.step(3)  # type: ignore[call-overload]
    return str(x)


assert_type(unit(1), str)


def simulation() -> None:
    with asyncguard.simulate_cuda(profile="h200", devices=2):
        pass
    asyncguard.simulate_cuda(cards=2)  # type: ignore[call-arg]
    asyncguard.simulate_rocm()  # type: ignore[attr-defined]
