"""Thousands of ranks and folders of runs: read in passing, put beside each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import reports
from asyncguard.advise.ranks import MANY, Gathering, merge
from asyncguard.cli import main
from asyncguard.model import STAND_IN, AsyncguardError, TraceRecord
from asyncguard.render import Screen
from asyncguard.runtime import store
from tests.records import record, site

OLD = sorted((Path(__file__).parents[1] / "runtime" / "data").glob("*.json"))


def run(number: int, stall: int = 10, **extra: object) -> TraceRecord:
    return record(site(cpu_stall_ns=stall), site(line=20, count=1), extra=extra)


def saved(folder: Path, *records: TraceRecord) -> list[Path]:
    paths = [folder / f"t{at}.json" for at in range(len(records))]
    for each, path in zip(records, paths, strict=True):
        store.save(each, path)
    return paths


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_figures_that_are_read_alone_are_those_of_the_trace(path: Path) -> None:
    whole, figures = store.load(path), store.load_figures(path)
    assert figures.total_syncs == whole.total_syncs
    assert figures.cpu_stall_ns == whole.cpu_stall_ns
    assert figures.step_count == whole.step_count
    names = "path", "line", "api", "count", "cpu_stall_ns", "device", "steady_count"
    for alone, full in zip(figures.sites, whole.sites, strict=True):
        assert [getattr(alone, name) for name in names] == [getattr(full, name) for name in names]
        assert alone.library == full.library[:1]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "\0", '{"format": "other"}', '{"a":' * 100_000, "NaN",
        '{"format": "asyncguard-trace", "version": 99, "sites": [], "step_count": 0}',
        '{"format": "asyncguard-trace", "version": 3, "sites": 5, "step_count": 0}',
        '{"format": "asyncguard-trace", "version": 3, "sites": [], "step_count": -1, '
        '"duration_ns": 0}',
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(AsyncguardError, match=r"t\.json: not a trace"):
        store.load_figures(path)


def test_a_folder_of_runs_is_one_report(tmp_path: Path) -> None:
    below = tmp_path / "deep"
    below.mkdir()
    saved(tmp_path, run(0, 100, job="1", host="a"), run(1, 900, job="2", host="b"))
    saved(below, run(2, 500, job="3", host="a"))
    (tmp_path / "baseline.json").write_text('{"format": "asyncguard-baseline"}')
    text = reports.of_files([tmp_path], "text", Screen(200))
    assert "asyncguard: 3 traces" in text
    assert "hosts 2" in text
    data = json.loads(reports.of_files([tmp_path], "json", Screen()))
    assert [item["total_ns"] for item in data["sites"]] == [3_000_000, 1500]
    assert data["noun"] == "trace"
    assert data["straggler"] is None


def test_a_few_traces_that_are_not_ranks_are_shown_one_by_one(tmp_path: Path) -> None:
    few = saved(tmp_path, *(run(at) for at in range(MANY)))
    assert "beside" not in reports.of_files(few, "text", Screen())
    assert reports.of_files(few, "markdown", Screen()).count("### ") == MANY
    more = saved(tmp_path, *(run(at) for at in range(MANY + 1)))
    assert f"asyncguard: {MANY + 1} traces" in reports.of_files(more, "text", Screen())


def test_ranks_of_different_runs_are_not_one_run(tmp_path: Path) -> None:
    gathering = Gathering()
    for path in saved(tmp_path, run(0, rank=0, run="a"), run(1, rank=1, run="b")):
        gathering.add(str(path), store.load_figures(path))
    assert not gathering.is_ranked


def test_many_ranks_show_the_worst_ten_and_quantiles() -> None:
    merged = merge([run(at, stall=1000 * at, rank=at, host="n") for at in range(1000)])
    text = " ".join(reports.render.find("text", "ranks")(merged, Screen(200)).split())
    assert "999 (n)" in text
    assert "median 1.50 ms, 90th percentile 1.90 ms" in text
    assert text.count("(n)") == 10
    data = json.loads(reports.render.find("json", "ranks")(merged, Screen()))
    assert data["sites"][1]["stall_quantiles_ns"] == [0, 499_000, 899_000, 989_000, 999_000]
    assert "stalls_ns" not in data["sites"][1]


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=20))
def test_what_the_sites_wait_over_all_adds_up(stalls: list[int]) -> None:
    merged = merge([run(at, stall, rank=at) for at, stall in enumerate(stalls)])
    assert sum(item.total_ns for item in merged.sites) == sum(merged.stalls_ns)
    totals = [item.total_ns for item in merged.sites]
    assert totals == sorted(totals, reverse=True)


def test_a_folder_without_traces_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "holds no traces" in capsys.readouterr().err


def stand_in(number: int, waits: int, **extra: object) -> TraceRecord:
    """A run where the CPU stood in for a device: its times mean nothing."""
    return record(site(device=STAND_IN, count=waits, cpu_stall_ns=10**6 + number), extra=extra)


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_times_of_the_stand_in_are_in_no_report_of_many(tmp_path: Path, name: str) -> None:
    saved(tmp_path, *(stand_in(at, 10 + at, rank=at, host="n") for at in range(12)))
    text = reports.of_files([tmp_path], name, Screen(200))
    assert not re.search(
        r"\d (?:ns|us|ms|s)\b", re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    )
    assert "waited most often" in text
    assert "10 to 21" in text
    assert "times do not" in text


def test_of_mixed_traces_only_true_times_count(tmp_path: Path) -> None:
    saved(tmp_path, stand_in(0, 5), run(1, 900))
    data = json.loads(reports.of_files([tmp_path], "json", Screen()))
    assert data["stalls_ns"] == [0, 1_000_900]
    assert [item["total_ns"] for item in data["sites"]] == [1_000_000, 900]


@pytest.mark.parametrize("name", ["text", "markdown", "html", "json"])
def test_a_report_of_many_says_who_called_where_it_waited_longest(
    tmp_path: Path, name: str
) -> None:
    few, most = (
        record(
            site(cpu_stall_ns=stall, callers=(f"main.py:{line} caller{line}",)), extra={"rank": at}
        )
        for at, (stall, line) in enumerate([(5, 3), (900, 7)])
    )
    saved(tmp_path, few, most)
    text = reports.of_files([tmp_path], name, Screen(200))
    assert "caller7" in text
    assert "caller3" not in text


def test_one_figure_is_not_said_as_a_range(tmp_path: Path) -> None:
    saved(tmp_path, run(0, 7), run(1, 7))
    text = reports.of_files([tmp_path], "html", Screen())
    assert ">10</td>" in text
    assert " to 10 " not in text
