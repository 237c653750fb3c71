"""Faults of asyncguard's own: nothing is left behind, all are told, and what judges refuses."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard import reports, screens
from asyncguard.cli import main
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import store
from asyncguard.runtime.hub import hub
from asyncguard.runtime.installation import Installation
from asyncguard.runtime.session import Session
from tests.runtime.helpers import attributes, changed, counts, is_watched

torch = pytest.importorskip("torch")
TORCH = "torch cannot be hooked: its waits are not counted (RuntimeError('planted'))."


@pytest.fixture
def unhookable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hooks are put in place, and then something goes wrong."""
    complete = Installation.complete

    def broken(self: Installation) -> None:
        complete(self)
        if self.adapter.framework.name == "torch":
            raise RuntimeError("planted")

    monkeypatch.setattr(Installation, "complete", broken)
    yield
    assert not hub.generation


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook that finds a wait fails."""

    def broken(site: Any, times: int) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(hub, "allow", broken)


def wait() -> None:
    float(torch.ones(2).sum())


def test_a_framework_that_fails_leaves_no_hook_and_is_told_each_time(
    unhookable: None, caplog: pytest.LogCaptureFixture
) -> None:
    before = attributes(torch.Tensor)
    for _ in range(2):
        caplog.clear()
        with Session() as outer:
            wait()
            with Session() as inner:
                wait()
        assert inner.record().faults == outer.record().faults == (TORCH,)
        assert sum(TORCH in message for message in caplog.messages) == 2  # for each listener
        assert counts(outer.record()) == {}
        assert not is_watched(torch.Tensor.item)
        assert changed(torch.Tensor, before) == []
    with Session(frameworks=["engine"]) as other:
        wait()
    assert other.record().faults == ()


def test_a_hook_that_fails_is_in_the_record_of_each_trace(
    blind: None, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        caplog.clear()
        with Session() as session:
            torch.ones(2).nonzero()
            torch.ones(2).nonzero()
            assert len(session.record().faults) == 1  # while it runs, too
        (fault,) = session.record().faults
        assert fault.startswith("The hook of torch.Tensor.nonzero failed, and waits are missing")
        assert [r.levelno for r in caplog.records] == [logging.ERROR]


def test_limits_refuse_where_they_cannot_look(unhookable: None) -> None:
    for limit in (asyncguard.forbid_syncs(), asyncguard.limit_syncs(3, per="step")):
        with pytest.raises(AsyncguardError, match="every wait: torch cannot be hooked"), limit:
            pytest.fail("entered")
    warned = pytest.warns(asyncguard.SyncLimitWarning, match="cannot see every wait")
    with warned, asyncguard.forbid_syncs(on="warn"):
        wait()


def test_a_limit_tells_at_its_end_of_a_hook_that_failed_within(blind: None) -> None:
    refused = pytest.raises(AsyncguardError, match="cannot see every wait: The hook of")
    with refused, asyncguard.forbid_syncs():
        torch.ones(2).nonzero()
    with pytest.raises(KeyError), asyncguard.forbid_syncs():  # the block's own comes first
        {}[torch.ones(2).nonzero().shape]


def test_each_step_back_is_taken_whatever_became_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = attributes(torch.Tensor)
    session = Session(timeline=10).start()
    monkeypatch.setattr(session, "_note_frameworks", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        session.stop()
    assert changed(torch.Tensor, before) == []
    assert not hub.generation
    assert not hub.marked


def record_of(**fields: Any) -> TraceRecord:
    return TraceRecord(sites=(), step_count=0, duration_ns=1, **fields)


TROUBLED = {
    "killed": record_of(complete=False),
    "failed": record_of(exit_status=1, exception="ValueError: x"),
    "left by an exception": record_of(exception="ValueError: x"),
    "hookless": record_of(faults=("torch cannot be hooked.",)),
}


@pytest.mark.parametrize("name", TROUBLED)
def test_gates_refuse_and_reports_tell(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, trace, baseline = TROUBLED[name], tmp_path / "t.json", tmp_path / "b.json"
    (trouble,) = record.troubles
    store.save(record, trace)
    assert store.load(trace) == record
    assert store.load_figures(trace).troubles == (trouble,)
    for extra in ([], ["--update"]):
        assert main(["gate", "--baseline", str(baseline), *extra, str(trace)]) == 2
        assert trouble.split(".")[0] in " ".join(capsys.readouterr().err.split())
    for form in ("text", "markdown", "html", "folded", "speedscope"):
        text = " ".join(reports.of_files([trace], form, screens.plain()).split())
        assert trouble.split("'")[0].rstrip(".") in text, form
        assert "imported none" not in text
    data = json.loads(reports.of_files([trace], "json", screens.plain()))
    assert (data["complete"], data["exit_status"]) == (record.complete, record.exit_status)
    store.save(record, tmp_path / "u.json")
    text = " ".join(reports.of_files([tmp_path], "text", screens.plain()).split())
    assert trouble in text


def test_a_trace_without_steps_does_not_pass_a_baseline_with_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with asyncguard.trace() as trace:
        for _ in range(3):
            wait()
            asyncguard.step()
    trace.save(tmp_path / "t.json")
    baseline = ["gate", "--baseline", str(tmp_path / "b.json")]
    assert main([*baseline, "--update", str(tmp_path / "t.json")]) == 0
    with asyncguard.trace() as trace:
        pass
    trace.save(tmp_path / "t.json")
    assert main([*baseline, str(tmp_path / "t.json")]) == 2
    assert "no step was marked" in capsys.readouterr().err


def test_an_exception_that_leaves_the_block_is_in_the_record() -> None:
    trace = asyncguard.trace()
    with pytest.raises(ValueError, match="planted"), trace:
        raise ValueError("planted")
    assert trace.record.exception == "ValueError: planted"
    assert trace.record.troubles == (
        "The traced block ended with an exception: ValueError: planted.",
    )
