"""Waits in code that runs as a graph: one finding each, the worst, and the way that leads to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard.catalogue import CatalogueError, load, load_directory
from asyncguard.lint.report.impact import by_impact
from asyncguard.lint.report.registry import TORCH_STEP
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding, Loop
from asyncguard.render import FindingsReport, Screen, github, gitlab, sarif
from tests.lint.programs import Programs

SETTINGS = Settings(cache=False, jobs=1)
SPLIT = """\
import torch
def train(loader):
    for x in loader:
        step(x.cuda())
@torch.compile
def step(x: torch.Tensor):
    return scaled(x)
def scaled(x):
    return x / x.abs().max().item()
"""
CAPTURED = """\
import torch
def capture(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
    return y
"""
BOTH = """\
import torch
def scaled(x: torch.Tensor):
    return x if x.sum() > 0 else -x
@torch.compile
def step(x: torch.Tensor):
    return scaled(x)
def capture(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return scaled(x)
"""
ASSERTED = TORCH_STEP + "with torch.cuda.graph(g):\n            assert loss > 0\n"


def found(programs: Programs, source: str, **changes: object) -> list[Finding]:
    return programs.in_source(source, replace(SETTINGS, **changes))  # type: ignore[arg-type]


def test_the_message_names_the_region_and_the_calls_that_lead_there(programs: Programs) -> None:
    (finding,) = [f for f in found(programs, SPLIT) if f.code == "ASG502"]
    assert "`torch.compile`, line 6, by way of `scaled`" in finding.message
    assert finding.message.endswith("waits between them in every step")
    called = [why for why in finding.reasons if why.kind == "call"]
    assert [(why.text, why.line) for why in called] == [("`scaled` is called by `step`", 7)]


def test_the_message_names_the_wait_whatever_else_is_known_of_it(programs: Programs) -> None:
    source = SPLIT.replace(" / x.abs().max().item()", ".sum().item() / (x.max().item() + 1e-6)")
    messages = [f.message for f in found(programs, source) if f.code == "ASG502"]
    assert [message.split(" splits ")[0] for message in messages] == [
        "`x.sum().item()`",
        "`x.max().item()`",
    ]


def test_the_message_of_a_capture_says_what_cuda_raises(programs: Programs) -> None:
    (finding,) = found(programs, CAPTURED)
    assert (finding.code, finding.loop) == ("ASG501", Loop.NONE)
    assert finding.message.startswith("`y.sum() > 0` waits inside a CUDA graph's capture")
    assert "operation not permitted when stream is capturing" in finding.message


def test_the_message_of_a_capture_says_that_a_step_waits_there_too(programs: Programs) -> None:
    loop = "def train(loader):\n    for x in loader:\n        scaled(x.cuda()).backward()\n"
    (captured,) = [f for f in found(programs, BOTH + loop) if f.code == "ASG501"]
    assert captured.message.endswith("; outside of that it waits in every step")
    (alone,) = found(programs, BOTH.replace("@torch.compile\ndef step", "def other"))
    assert "outside" not in alone.message


def test_the_worst_of_two_regions_leads(programs: Programs) -> None:
    assert [(f.code, f.line) for f in found(programs, BOTH)] == [("ASG501", 3)]
    (split,) = found(programs, BOTH, ignore=("ASG501",))
    assert split.code == "ASG502"


def test_where_the_rule_does_not_run_a_wait_is_what_it_is_elsewhere(programs: Programs) -> None:
    assert {f.code for f in found(programs, SPLIT)} == {"ASG106", "ASG502"}
    assert {f.code for f in found(programs, SPLIT, ignore=("ASG502",))} == {"ASG106", "ASG102"}
    assert found(programs, CAPTURED, ignore=("ASG501",)) == []  # no step: a wait there is cold


def test_what_repairs_the_wait_repairs_the_capture(programs: Programs) -> None:
    (finding,) = [f for f in found(programs, ASSERTED) if f.code == "ASG501"]
    assert finding.fix is not None
    assert "_assert_async" in finding.fix.edits[0].text


def test_a_failing_capture_is_an_error_in_every_format(programs: Programs) -> None:
    (failing,) = found(programs, CAPTURED)
    (split,) = [f for f in found(programs, SPLIT) if f.code == "ASG502"]
    report = FindingsReport((failing,), 1)
    assert github.findings(report, Screen()).startswith("::error ")
    assert '"severity": "critical"' in gitlab.findings(report, Screen())
    assert '"level": "error"' in sarif.findings(report, Screen())
    assert sorted([split, failing], key=by_impact)[0] is failing


def test_a_region_that_names_no_entry_is_refused(tmp_path: Path) -> None:
    known = load().frameworks["torch"].path.read_text(encoding="utf-8")
    text = known.replace('"torch.Tensor.tolist", "torch.Tensor.__index__"', '"torch.Tensor.lost"')
    (tmp_path / "torch.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"region 'compile': no entry 'torch\.Tensor\.lost'"):
        load_directory(tmp_path)
