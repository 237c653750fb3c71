"""Two traces side by side: sites matched, figures a step, and what was predicted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard import cli
from asyncguard.advise.changes import Changes
from asyncguard.advise.outcome import Moved, planned
from asyncguard.gate.difference import SiteChange, difference
from asyncguard.model import SiteStats, TraceRecord
from asyncguard.render import Screen, find, formats
from asyncguard.reports import diff
from asyncguard.runtime import store
from tests.advise.test_replay import reads, run
from tests.records import record, site, steady

STEPS = 10


def trace(*sites: SiteStats, step_ns: int = 10_000) -> TraceRecord:
    return record(
        *sites,
        step_count=STEPS + 1,
        steady_steps=STEPS,
        steady_duration_ns=STEPS * step_ns,
        duration_ns=STEPS * step_ns,
    )


def states(changes: Sequence[SiteChange]) -> dict[int, str]:
    return {change.site.line: change.state for change in changes}


def test_each_site_is_told_by_what_became_of_it() -> None:
    item, print_, gate = "loss.item()", "print(loss)", "if step % 5 == 0: log(loss.item())"
    before = trace(
        steady(1, line=1, source=item),
        steady(1, line=2, source=print_, api="torch.Tensor.__repr__"),
        steady(2, line=3, source=gate, function="log"),
    )
    after = trace(
        steady(1, line=11, source=item),
        steady(1, line=13, source=gate, function="log"),
        steady(1, line=20, source="x.tolist()", function="other", api="torch.Tensor.tolist"),
    )
    found = difference(before, after)
    assert states(found.sites) == {11: "same", 2: "gone", 13: "fewer", 20: "new"}
    assert (found.before.total.waits, found.after.total.waits) == (4, 3)
    assert (found.unit, found.before.step_ns, found.before.steps) == ("step", 10_000, STEPS)


def test_a_site_outside_the_steps_is_told_by_the_whole_run() -> None:
    """An upload before the first step has not gone, though it waits in no step after either."""
    kept = site(line=1, source="model.to(device)", count=2, steady_count=0)
    after_loop = site(line=9, source="float(total)", count=1, steady_count=0, function="end")
    found = difference(trace(kept, steady(1, line=5)), trace(kept, after_loop))
    assert states(found.sites) == {5: "gone", 1: "same", 9: "new"}
    assert [change.unit for change in found.sites] == ["step", "run", "run"]
    assert {c.site.line: (c.before.waits, c.after.waits) for c in found.sites[1:]} == {
        1: (2, 2),
        9: (0, 1),
    }
    text = find("text", "differences")(found, Screen(120))
    assert "0 -> 1 waits" in text
    assert "(whole run, outside the steps)" in text
    assert "same (whole run, outside the steps)" in find("markdown", "differences")(
        found, Screen(120)
    )


def test_the_largest_change_of_stall_comes_first() -> None:
    before = trace(steady(1, line=1, source="a", stall_ns=10), steady(1, line=2, source="b"))
    after = trace(steady(1, line=1, source="a", stall_ns=9_000), steady(1, line=2, source="b"))
    assert [change.site.line for change in difference(before, after).sites] == [1, 2]


def test_a_site_of_two_threads_is_one() -> None:
    twice = trace(steady(1, thread="a"), steady(1, thread="b"))
    (change,) = difference(twice, trace(steady(1))).sites
    assert (change.before.waits, change.after.waits, change.numbers) == (2, 1, (0, 1))


def test_without_steps_the_runs_are_compared() -> None:
    before = record(steady(3), duration_ns=900)
    found = difference(before, record(duration_ns=600))
    assert (found.unit, found.before.step_ns, found.after.step_ns) == ("run", 900, 600)
    assert (found.before.total.waits, found.after.total.waits) == (30, 0)


@pytest.mark.parametrize(
    ("moves", "changes"),
    [
        ([Moved((0,), "f", 1, 0)], Changes(remove=frozenset({0}))),
        ([Moved((0,), "f", 1, 0.1)], Changes(every={0: 10})),
        ([Moved((0,), "f", 1, 1)], Changes()),
        ([Moved((0,), "f", 8, 1)], Changes(batch=(frozenset({0}),))),
        (
            [Moved((0,), "f", 1, 0), Moved((1,), "f", 1, 0), Moved((), "f", 0, 1)],
            Changes(batch=(frozenset({0, 1}),)),
        ),
        (
            [Moved((0,), "f", 1, 0), Moved((), "f", 0, 0.01)],
            Changes(batch=(frozenset({0}),), every={0: 100}),
        ),
        ([Moved((0,), "f", 1, 0), Moved((), "g", 0, 1)], Changes(remove=frozenset({0}))),
    ],
)
def test_a_plan_is_told_from_the_numbers_of_waits(moves: list[Moved], changes: Changes) -> None:
    assert planned(moves) == changes


def pair() -> tuple[TraceRecord, TraceRecord]:
    """A read in every step, and the same program with a read in one of ten."""
    before = run(reads(500, 500)).record()
    return before, run(reads(500, 500, every=10)).record()


def test_what_was_predicted_stands_beside_what_came() -> None:
    before, after = pair()
    found = diff(before, after)
    assert found.expected is not None
    assert found.after.step_ns == pytest.approx(found.expected.step_ns, rel=0.02)
    assert found.expected.low_ns < found.after.step_ns < found.expected.high_ns
    assert diff(replace(before, steady_steps=0, steady_duration_ns=0), after).expected is None


def test_every_format_shows_the_step_the_prediction_and_each_site() -> None:
    found = diff(*pair())
    shown = {name: show(found, Screen(120)) for name, show in formats("differences").items()}
    assert shown.keys() == {"text", "json", "markdown"}
    for name in ("text", "markdown"):
        assert "Predicted from the trace before" in shown[name]
        assert "1 -> 0.10" in shown[name]
        assert "fewer" in shown[name]
    data = json.loads(shown["json"])
    assert data["sites"][0]["state"] == "fewer"
    assert data["before"]["step_ns"] > data["expected"]["step_ns"]


def test_the_command_compares_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "before.json", tmp_path / "after.json"]
    for path, made in zip(paths, pair(), strict=True):
        store.save(made, path)
    assert cli.main(["diff", *map(str, paths)]) == 0
    assert "time a step" in capsys.readouterr().out
    assert cli.main(["diff", str(paths[0]), str(tmp_path / "none.json")]) == 2
    assert "none.json: cannot read the trace" in capsys.readouterr().err
    assert cli.main(["diff", *map(str, paths), "--format", "html"]) == 2
    assert "one of json, markdown, text" in capsys.readouterr().err
