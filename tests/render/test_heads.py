"""What reports begin with, in which order sites come, and how many."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard import cli, reports
from asyncguard.advise.ranks import merge
from asyncguard.model import SyncKind
from asyncguard.render import Screen, formats
from asyncguard.runtime import store
from tests.records import record, site, steady

START = site(line=3, api="torch.save", kind=SyncKind.COMPOSITE, count=1, cpu_stall_ns=9_000_000,
             inclusive_ns=20_000_000, first_step=0, last_step=0, device="cuda:0")  # fmt: skip
EACH = [steady(1, line=10 + at, stall_ns=1000 - at, device="cuda:0") for at in range(9)]
RUN = record(
    START, *EACH, step_count=36, steady_steps=35, steady_duration_ns=1_000_000, duration_ns=10**8,
    step_syncs=(1,) * 35, basis="modelled", device="NVIDIA H200 (simulated)",
    extra={"started": "2026-11-28T05:40:12.123456+00:00"},
)  # fmt: skip


def test_the_head_says_what_the_figures_are_of_and_when_that_was() -> None:
    told = "NVIDIA H200 (simulated), times are modelled, 2026-11-28 05:40 UTC"
    for name in ("text", "markdown"):
        text = reports.of_record(RUN, name, Screen(200))
        assert text.index(told) < text.index("torch.Tensor.item")


def test_start_up_comes_after_what_every_step_waits_for() -> None:
    for name in ("text", "markdown", "html"):
        text = reports.of_record(RUN, name, Screen(200)).partition("Who asked")[0]
        assert text.rindex("train.py:3") > text.rindex("train.py:18")


def test_a_call_that_does_more_than_wait_shows_its_whole_time() -> None:
    for name in ("text", "html"):
        assert "the calls took 20.0 ms in all" in reports.of_record(RUN, name, Screen(200))


def test_the_bars_of_ranks_are_labelled() -> None:
    traces = [record(START, extra={"rank": at, "host": "node1"}) for at in range(3)]
    page = formats("ranks")["html"](merge(traces), Screen())
    assert "<span>rank 0 (node1)</span><span>rank 2 (node1)</span>" in page
    assert "<title>rank 1 (node1): 9.00 ms</title>" in page


def test_so_many_sites_and_only_known_formats_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store.save(RUN, tmp_path / "t.json")
    assert cli.main(["report", "--limit", "2", "t.json"]) == 0
    out = capsys.readouterr().out
    assert out.count("torch.Tensor.item (scalar") == 2
    assert "8 more sites" in out
    assert cli.main(["report", "--limit", "0", "t.json"]) == 2
    assert "--limit 0" in capsys.readouterr().err
    assert cli.main(["report", "-o", "x.pdf", "t.json"]) == 2
    said = capsys.readouterr().err
    assert "x.pdf: no format is written to '.pdf'" in said
    assert "--format" in said
    assert not (tmp_path / "x.pdf").exists()
    assert cli.main(["report", "-o", "x.pdf", "--format", "text", "t.json"]) == 0
