"""Traces are compared with traces of their sort: measured, modelled or of a stand-in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import asyncguard
from asyncguard import cli, reports
from asyncguard.gate import basis
from asyncguard.model import STAND_IN, AsyncguardError
from asyncguard.runtime import store
from tests.frameworks import require
from tests.records import record, steady

torch = require("torch")
MEASURED = record(steady(1, device="cuda:0"), steady_steps=10, step_count=11, basis="measured")
MODELLED = replace(MEASURED, basis="modelled")


def test_old_traces_tell_by_their_devices_and_notes() -> None:
    assert basis.of(record(steady(1, device="cuda:0"))) == "measured"
    assert basis.of(record(steady(1, device=STAND_IN))) == "stand-in"
    assert basis.of(record(extra={"simulated": {"profile": "h200"}})) == "modelled"
    assert basis.of(record()) == ""


def test_a_trace_tells_how_its_figures_came_about() -> None:
    with asyncguard.trace() as trace:
        torch.ones(()).item()
    assert (trace.record.basis, trace.record.device) == ("stand-in", STAND_IN)
    with asyncguard.trace() as trace:
        pass
    assert (trace.record.basis, trace.record.device) == ("stand-in", STAND_IN)
    with asyncguard.trace(count_cpu=False) as trace:
        pass
    assert trace.record.basis == "measured"
    with asyncguard.simulate_cuda(profile="a100"), asyncguard.trace() as trace:
        torch.ones((), device="cuda").item()
    assert trace.record.basis == "modelled"
    assert "A100" in trace.record.device
    assert trace.record.device.endswith("(simulated)")


def test_two_sorts_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, made in (("measured.json", MEASURED), ("modelled.json", MODELLED)):
        store.save(made, tmp_path / name)
    with pytest.raises(AsyncguardError, match="cannot be compared"):
        reports.diff(MEASURED, MODELLED)
    assert cli.main(["diff", "measured.json", "modelled.json"]) == 2
    said = capsys.readouterr().err
    assert "measured.json: its figures are measured on a device" in said
    assert "record both in the same way" in said

    assert cli.main(["gate", "--update", "measured.json"]) == 0
    assert cli.main(["gate", "measured.json"]) == 0
    assert cli.main(["gate", "modelled.json"]) == 2
    said = capsys.readouterr().err
    assert "modelled.json: its figures are modelled by a simulated device" in said
    assert "--update" in said
    assert cli.main(["gate", "measured.json", "modelled.json"]) == 2
    assert "one sort at a time" in capsys.readouterr().err
