"""Repairs of what waited: from the files that ran, and from no others."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard import reports
from asyncguard.advise.repairs import patches
from asyncguard.model import SiteStats, Suggestion, TraceRecord
from asyncguard.render import Screen
from asyncguard.runtime import store
from tests.records import record, steady

SOURCE = """import torch


def train(model, loader, optimizer):
    total = 0.0
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
READ = steady(1, stall_ns=100_000, line=10, source="total += loss.item()")
STEPS = {"step_count": 11, "steady_steps": 10, "steady_duration_ns": 10**7}
RUN = record(READ, **STEPS)


def suggestion(*sites: SiteStats) -> Suggestion:
    return Suggestion("Read less often", "advice", sites, 1.0, 9)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_suggestion_has_the_patch_of_its_lines_and_git_applies_it(folder: Path) -> None:
    found, troubles = patches(folder, RUN, [suggestion(), suggestion(READ), suggestion(READ)])
    assert troubles == ()
    assert list(found) == [1]  # no patch is shown twice
    assert "-        total += loss.item()\n" in found[1].text
    assert found[1].messages
    subprocess.run(["git", "apply", "-"], input=found[1].text.encode(), check=True)
    assert ".item()" not in (folder / "train.py").read_text().partition("return")[0]


@pytest.mark.parametrize(
    "run",
    [
        record(replace(READ, source="total += other.item()"), **STEPS),
        record(replace(READ, line=99), **STEPS),
        record(replace(READ, path="missing.py"), **STEPS),
        record(replace(READ, path="x" * 10_000), **STEPS),
        record(replace(READ, path="\0"), **STEPS),
        record(replace(READ, steady_count=1), **STEPS),
    ],
)
def test_what_did_not_run_like_this_is_not_repaired(folder: Path, run: TraceRecord) -> None:
    assert patches(folder, run, [suggestion(*run.sites)]) == ({}, ())


def test_files_elsewhere_and_what_is_no_file_are_not_opened(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    os.mkfifo(below / "pipe.py")
    outside = [replace(READ, path=path) for path in ("../train.py", str(folder / "train.py"))]
    run = record(*outside, replace(READ, path="pipe.py"), **STEPS)
    assert patches(below, run, [suggestion(*run.sites)]) == ({}, ())


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_repaired(folder: Path) -> None:
    (folder / "bad.py").write_bytes(b"# coding: nonsense\ntotal += loss.item()\n")
    bad = replace(READ, path="bad.py", line=2)
    run = record(READ, bad, **STEPS)
    found, troubles = patches(folder, run, [suggestion(bad), suggestion(READ)])
    assert list(found) == [1]
    (told,) = troubles
    assert "bad.py: cannot be read" in told


def test_the_page_of_a_saved_trace_has_the_patch_and_a_programs_own_has_not(folder: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    store.save(RUN, folder / "t.json")
    assert "-        total += loss.item()" in reports.of_files([Path("t.json")], "html", Screen())
    assert "-        total +=" not in reports.of_record(RUN, "html", Screen())
