"""The callback in a real Lightning Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.integrations.recording import STALL, SYNCS
from tests.frameworks import require


@pytest.fixture(scope="module")
def runs() -> Any:
    """Import Lightning where its tests are run: each process that tests collects them."""
    require("torch")
    require("lightning")
    from tests.integrations import lightning_runs

    return lightning_runs


def test_every_optimizer_step_is_a_step_and_the_read_in_it_counts(runs: Any) -> None:
    callback = runs.SyncTraceCallback()
    runs.fit(callback)
    assert callback.trace is not None
    assert callback.trace.step_count == runs.BATCHES
    assert callback.trace.total_syncs == runs.BATCHES
    assert callback.trace.record.step_syncs == (1,) * (runs.BATCHES - 1)  # the first is the warm-up
    [site] = callback.trace.sites
    assert site.source == "loss.item()"


def test_accumulated_gradients_make_one_step_of_several_batches(runs: Any) -> None:
    callback = runs.SyncTraceCallback()
    runs.fit(callback, accumulate_grad_batches=4)
    assert callback.trace is not None
    assert callback.trace.step_count == runs.BATCHES // 4
    assert callback.trace.syncs_per_step == 4


def test_the_loggers_get_the_figures_a_step(runs: Any) -> None:
    rows = runs.fit(runs.SyncTraceCallback()).rows
    ours = [(step, row[SYNCS]) for step, row in rows if SYNCS in row]
    assert ours == [(2, 1.0), (5, 1.0), (7, 1.0)]
    assert all(row[STALL] > 0 for _, row in rows if STALL in row)


def test_the_trace_is_saved_and_the_hooks_are_gone(runs: Any, tmp_path: Path) -> None:
    item = runs.torch.Tensor.item
    runs.fit(runs.SyncTraceCallback(tmp_path / "trace.json"))
    assert asyncguard.load_trace(tmp_path / "trace.json").total_syncs == runs.BATCHES
    assert runs.torch.Tensor.item is item


def test_a_training_that_fails_leaves_its_trace(runs: Any, tmp_path: Path) -> None:
    item = runs.torch.Tensor.item
    with pytest.raises(RuntimeError, match="no more data"):
        runs.fit(runs.SyncTraceCallback(tmp_path / "trace.json"), runs.Model(fails_at=5))
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 5
    assert runs.torch.Tensor.item is item


def test_a_callback_traces_each_training_anew(runs: Any) -> None:
    callback = runs.SyncTraceCallback()
    runs.fit(callback)
    first = callback.trace
    runs.fit(callback)
    assert callback.trace is not first
    assert callback.trace is not None
    assert callback.trace.total_syncs == runs.BATCHES
