"""Suggestions by predicted saving: in order, with a range, and none counted twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncguard.advise import replay, suggest
from asyncguard.advise.changes import Changes
from asyncguard.advise.ranking import total
from asyncguard.advise.replay import Replay
from asyncguard.model import Suggestion, TraceRecord
from asyncguard.render import Screen, TraceReport, formats
from asyncguard.timeline.elapsed import Elapsed, Left, elapsed
from asyncguard.timeline.program import Program
from tests.advise.test_replay import reads, run
from tests.machine import Machine


def trace(host: int, device: int, sites: int = 3) -> TraceRecord:
    return run(reads(host, device, sites=sites)).record(sites=sites)


def test_the_largest_saving_comes_first_and_what_shares_its_sites_is_an_alternative() -> None:
    first, second = suggest(trace(host=500, device=500))
    assert first.title.startswith("Read less often")
    assert second.title.startswith("Read 3 values")
    assert (first.instead_of, second.instead_of) == (None, 1)
    assert 0 < (second.saving_ns_per_step or 0) < (first.saving_ns_per_step or 0)


@pytest.mark.parametrize(("host", "device"), [(500, 500), (100, 900), (900, 100)])
def test_the_savings_add_up_to_what_doing_all_saves(host: int, device: int) -> None:
    record = trace(host, device)
    changes = Changes(remove=frozenset(range(3)))
    saved = Replay(record).predict(changes).saving_ns
    assert total(suggest(record)) == pytest.approx(saved, rel=0.01, abs=10)


def test_each_change_is_replayed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone, each with those before it, and the run as it was."""
    asked: list[object] = []
    monkeypatch.setattr(
        replay, "elapsed", lambda program, left: asked.append(left) or elapsed(program, left)
    )
    found = suggest(trace(500, 500, sites=5))
    assert len(found) > 1
    assert len(asked) <= 2 * len(found) + 1


def test_the_more_sites_the_fewer_steps_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(program: Program, left: Left) -> Elapsed:
        asked.append(len(program.actions))
        return elapsed(program, left)

    monkeypatch.setattr(replay, "elapsed", counted)
    monkeypatch.setattr(replay, "REPLAYED", 500)
    record = trace(500, 500, sites=5)
    Replay(record).predict(Changes())
    assert max(asked) <= 500 / 5


def test_a_saving_lies_in_its_range() -> None:
    for item in suggest(trace(host=500, device=500)):
        low, high = item.saving_low_ns, item.saving_high_ns
        assert low is not None
        assert high is not None
        assert low < (item.saving_ns_per_step or 0) < high


def test_where_the_host_is_the_bottleneck_it_says_so() -> None:
    for item in suggest(trace(host=50_000, device=5, sites=1)):
        assert item.title.startswith("Nothing to gain")
        assert item.advice.endswith("saves nothing: the host is the bottleneck.")
        assert item.saving_ns_per_step == 0


def test_without_a_timeline_there_is_a_bound_and_no_prediction() -> None:
    record = run(reads(500, 500)).record(timeline=False)
    assert {item.saving_low_ns for item in suggest(record)} == {None}


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_formats_tell_the_range_and_the_alternative(name: str) -> None:
    record = trace(host=500, device=500)
    shown = formats("traces")[name](TraceReport(record, suggest(record)), Screen(200))
    assert "saves about" in shown
    assert "per step, instead of suggestion 1" in shown


def test_a_queue_that_grows_is_told_with_what_a_wait_a_step_bounds_it_to() -> None:
    def step(machine: Machine, number: int) -> None:
        machine.enqueue(1_000, nbytes=3 << 20)

    machine = Machine()
    for number in range(150):
        step(machine, number)
        machine.work(1)
        machine.boundary()
    record = machine.record(sites=0)
    (found,) = suggest(
        replace(record, frameworks={"engine": "0"}, extra={"peak_pending_bytes": 400 << 20})
    )
    assert "400.0 MiB at most here, to about 3.0 MiB." in found.advice


def test_a_bound_is_called_one() -> None:
    bound = Suggestion("Read", "Do", (), 1.0, 2_000)
    shown = formats("traces")["text"](TraceReport(trace(5, 5), (bound,)), Screen(200))
    assert "at most 2.00 us" in shown
