"""Ranges around waits on request: what torch's own profiler shows of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")


def names(profile: object) -> list[str]:
    return [e.name for e in profile.events() if e.name.startswith("asyncguard")]  # type: ignore[attr-defined]


def test_the_profiler_shows_each_wait_with_its_line() -> None:
    value = torch.ones(())
    with torch.profiler.profile() as profile, asyncguard.trace(ranges="record_function") as trace:
        value.item()
        value.item()
    (first, second) = names(profile)
    lines = sorted(site.line for site in trace.sites)
    assert first.endswith(f"test_ranges.py:{lines[0]}")
    assert second.endswith(f"test_ranges.py:{lines[1]}")


def test_without_the_request_there_is_none() -> None:
    with torch.profiler.profile() as profile, asyncguard.trace():
        torch.ones(()).item()
    assert names(profile) == []


def test_a_wait_that_raises_leaves_no_range_open() -> None:
    with torch.profiler.profile() as profile, asyncguard.trace(ranges="record_function"):
        with pytest.raises(RuntimeError):
            torch.ones(2).item()
        torch.ones(()).item()
    events = [e for e in profile.events() if e.name.startswith("asyncguard")]
    assert len(events) == 2
    assert events[0].time_range.end <= events[1].time_range.start


def test_nvtx_ranges_open_and_close(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    nvtx = SimpleNamespace(range_push=told.append, range_pop=lambda: told.append("pop"))
    monkeypatch.setattr(torch.cuda, "nvtx", nvtx)
    with asyncguard.trace(ranges="nvtx"):
        torch.ones(()).item()
    assert told[0].startswith("asyncguard: wait at ")
    assert told[1:] == ["pop"]


def test_a_torch_without_nvtx_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def push(_: str) -> None:
        raise RuntimeError("NVTX functions not installed")

    monkeypatch.setattr(torch.cuda, "nvtx", SimpleNamespace(range_push=push))
    with asyncguard.trace(ranges="nvtx") as trace:
        torch.ones(()).item()
        torch.ones(()).item()
    assert trace.total_syncs == 2
    assert [note for note in trace.record.notes if "NVTX" in note] == [
        "No ranges around waits: NVTX functions not installed."
    ]


def test_unknown_ranges_are_refused() -> None:
    with pytest.raises(asyncguard.AsyncguardError, match="one of record_function, nvtx"):
        asyncguard.trace(ranges="x")


def test_a_call_that_proves_to_be_no_wait_or_raises_leaves_no_range_open() -> None:
    with torch.profiler.profile() as profile, asyncguard.trace(ranges="record_function"):
        host = torch.ones(2).to(torch.float64)  # judged by its result
        with torch.profiler.record_function("work of the host"):
            host.add_(1)
        with pytest.raises(RuntimeError):
            host.item()
        with torch.profiler.record_function("more of it"):
            host.add_(1)
    events = {e.name: e.time_range for e in profile.events()}
    waits = [e.time_range for e in profile.events() if e.name.startswith("asyncguard")]
    for work in ("work of the host", "more of it"):
        assert all(w.end <= events[work].start or w.start >= events[work].end for w in waits)
