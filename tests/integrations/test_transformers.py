"""The callback in a real Hugging Face Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.integrations.recording import STALL, SYNCS
from tests.frameworks import require


@pytest.fixture(scope="module")
def runs() -> Any:
    """Import transformers where its tests are run: each process that tests collects them."""
    for name in ("torch", "transformers", "accelerate"):
        require(name)
    from tests.integrations import transformers_runs

    return transformers_runs


def test_every_optimizer_step_is_a_step_and_the_read_in_it_counts(
    runs: Any, tmp_path: Path
) -> None:
    callback = runs.SyncTraceCallback()
    made = runs.trainer(tmp_path)
    made.add_callback(callback)
    made.train()
    assert callback.trace is not None
    assert callback.trace.step_count == runs.STEPS
    assert runs.reads(callback) == runs.STEPS


def test_accumulated_gradients_make_one_step_of_several_batches(runs: Any, tmp_path: Path) -> None:
    made = runs.trainer(tmp_path, gradient_accumulation_steps=3)
    with runs.SyncTraceCallback().attach(made) as callback:
        made.train()
    assert callback.trace is not None
    assert callback.trace.step_count == runs.STEPS
    assert runs.reads(callback) == 3 * runs.STEPS


def test_the_history_and_the_reporters_get_the_figures_a_step(runs: Any, tmp_path: Path) -> None:
    made, reporter = runs.trainer(tmp_path), runs.Reporter()
    made.add_callback(reporter)
    with runs.SyncTraceCallback().attach(made):
        made.train()
    history = [row for row in made.state.log_history if SYNCS in row]
    assert [row["step"] for row in history] == [2, 4, 6]
    assert all(row[SYNCS] >= 1 and row[STALL] > 0 for row in history)
    assert [row[SYNCS] for row in reporter.logs if SYNCS in row] == [r[SYNCS] for r in history]


def test_the_trace_is_saved_and_the_hooks_are_gone(runs: Any, tmp_path: Path) -> None:
    item = runs.torch.Tensor.item
    made = runs.trainer(tmp_path)
    made.add_callback(runs.SyncTraceCallback(tmp_path / "trace.json"))
    made.train()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == runs.STEPS
    assert runs.torch.Tensor.item is item


def test_a_training_that_fails_leaves_its_trace(runs: Any, tmp_path: Path) -> None:
    item = runs.torch.Tensor.item
    made = runs.trainer(tmp_path, runs.Model(fails_at=4))
    with (
        pytest.raises(RuntimeError, match="no more data"),
        runs.SyncTraceCallback(tmp_path / "trace.json").attach(made),
    ):
        made.train()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 4
    assert runs.torch.Tensor.item is item
