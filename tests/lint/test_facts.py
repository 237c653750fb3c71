"""Entries that say for themselves how they wait, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from tests.lint.programs import Programs

SOURCE = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        {line}
"""


@pytest.mark.parametrize("select", [(), ("ALL",)])
def test_a_solver_checks_its_status_and_branches_on_nothing(select: tuple[str, ...]) -> None:
    (finding,) = check_source(
        SOURCE.format(line="parts = torch.linalg.svd(loss)"), "a.py", Settings(select=select)
    )
    assert finding.message == (
        "`torch.linalg.svd(loss)` checks the status of its solver on the host, which waits in "
        "every step: decompose every N steps, or outside the loop"
    )


def test_what_an_entry_says_leaves_its_rules_remedy_to_patterns() -> None:
    line = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)"
    (finding,) = check_source(SOURCE.format(line=line), "a.py", Settings())
    assert " checks the norm on the host, which waits in every step: pass `" in finding.message


SCALED = """\
import torch
def train(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(){fused})
    scaler = torch.amp.GradScaler()
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_wait_that_the_line_cannot_do_without_is_for_audits_and_explanations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCALED.format(fused=""), encoding="utf-8")
    assert main(["check", "--no-cache", "train.py"]) == 0
    assert main(["check", "--no-cache", "--select", "ALL", "train.py"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "`scaler.step(optimizer)` reads on the host whether gradients overflowed" in shown
    assert main(["explain", "train.py:8"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the wait is part of dynamic loss scaling" in shown
    assert "`fused=True`" in shown


def test_a_fused_optimizer_asks_on_the_device(programs: Programs) -> None:
    audit = Settings(select=("ALL",))
    apis = {f.api for f in programs.in_source(SCALED.format(fused=", fused=True"), audit)}
    assert "torch.amp.GradScaler.step" not in apis
    apis = {f.api for f in programs.in_source(SCALED.format(fused=", fused=False"), audit)}
    assert "torch.amp.GradScaler.step" in apis
