"""What all callbacks share: a trace that ends with the training, however that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import asyncguard
from asyncguard.integrations.recording import STALL, SYNCS, Recording, rates
from asyncguard.runtime.figures import Totals
from asyncguard.runtime.ranks import Seat


def test_rates_are_of_the_steps_between_two_snapshots() -> None:
    before, now = Totals(10, 1_000_000, 5), Totals(16, 9_000_000, 9)
    assert rates(now, before) == {SYNCS: 1.5, STALL: 2.0}


def test_without_a_step_there_are_no_rates() -> None:
    assert rates(Totals(9, 9, 3), Totals(1, 1, 3)) == {}


def test_rates_start_anew_where_the_trace_counts_its_steps_anew() -> None:
    assert rates(Totals(6, 0, 2), Totals(5, 0, 40)) == {SYNCS: 3.0, STALL: 0.0}


def test_the_trace_is_saved_when_the_training_ends(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "trace.json", warmup=0)
    assert recording.trace is None
    recording.begin()
    recording.end_step()
    recording.end_step()
    recording.finish()
    recording.end_step()  # nobody is listening any more
    assert recording.trace is not None
    assert recording.trace.step_count == 2
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 2


def test_options_are_those_of_a_trace() -> None:
    with pytest.raises(asyncguard.AsyncguardError, match="unknown framework"):
        Recording(frameworks=["nothing"]).begin()


def test_a_training_that_failed_unseen_is_saved_when_the_next_begins(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "trace.json")
    recording.begin()
    recording.end_step()
    recording.begin()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 1
    assert recording.trace is not None
    assert recording.trace.step_count == 0
    recording.finish()


def test_as_a_context_manager_it_saves_whatever_happens(tmp_path: Path) -> None:
    def train() -> None:
        with Recording(tmp_path / "trace.json") as recording:
            recording.begin()
            recording.end_step()
            raise RuntimeError("no more data")

    with pytest.raises(RuntimeError, match="no more data"):
        train()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 1


def test_a_process_that_ends_with_an_exception_saves(tmp_path: Path) -> None:
    code = (
        "from asyncguard.integrations.recording import Recording\n"
        "recording = Recording('trace.json')\n"
        "recording.begin()\n"
        "recording.end_step()\n"
        "raise RuntimeError('no more data')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stderr.endswith("RuntimeError: no more data\n")
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 1


def test_the_trainer_knows_the_rank(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "trace.json")
    recording.begin(Seat(rank=1, world_size=2))
    recording.finish()
    extra = asyncguard.load_trace(tmp_path / "trace.rank1.json").record.extra
    assert (extra["rank"], extra["world_size"]) == (1, 2)


def test_the_environment_knows_the_rank_where_the_trainer_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    recording = Recording(tmp_path / "trace.json")
    recording.begin(Seat(rank=0, world_size=1))
    recording.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["trace.rank3.json"]
