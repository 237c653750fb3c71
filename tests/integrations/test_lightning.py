"""The callback in a real Lightning Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")
require("lightning")

import lightning.pytorch as pl  # noqa: E402
from lightning.pytorch.loggers.logger import Logger  # noqa: E402

from asyncguard.integrations.lightning import SyncTraceCallback  # noqa: E402
from asyncguard.integrations.recording import STALL, SYNCS  # noqa: E402

BATCHES = 8


class Rows(Logger):
    """A logger that keeps what it is given."""

    name = "rows"
    version = 0

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int | None, dict[str, float]]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.append((step, dict(metrics)))

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        pass


class Model(pl.LightningModule):
    """Reads its loss once a batch; fails at batch `fails_at`."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.fails_at = fails_at

    def training_step(self, batch: Any, index: int) -> Any:
        if index == self.fails_at:
            raise RuntimeError("no more data")
        loss = self.linear(batch[0]).square().mean()
        loss.item()
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(callback: SyncTraceCallback, model: Model | None = None, **options: Any) -> Rows:
    rows = Rows()
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=1,
        callbacks=[callback],
        logger=rows,
        log_every_n_steps=3,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    data = torch.utils.data.TensorDataset(torch.ones(BATCHES, 4))
    trainer.fit(model or Model(), torch.utils.data.DataLoader(data))
    return rows


def test_every_optimizer_step_is_a_step_and_the_read_in_it_counts() -> None:
    callback = SyncTraceCallback()
    fit(callback)
    assert callback.trace is not None
    assert callback.trace.step_count == BATCHES
    assert callback.trace.total_syncs == BATCHES
    assert callback.trace.record.step_syncs == (1,) * (BATCHES - 1)  # the first is the warm-up
    [site] = callback.trace.sites
    assert site.source == "loss.item()"


def test_accumulated_gradients_make_one_step_of_several_batches() -> None:
    callback = SyncTraceCallback()
    fit(callback, accumulate_grad_batches=4)
    assert callback.trace is not None
    assert callback.trace.step_count == BATCHES // 4
    assert callback.trace.syncs_per_step == 4


def test_the_loggers_get_the_figures_a_step() -> None:
    rows = fit(SyncTraceCallback()).rows
    ours = [(step, row[SYNCS]) for step, row in rows if SYNCS in row]
    assert ours == [(2, 1.0), (5, 1.0), (7, 1.0)]
    assert all(row[STALL] > 0 for _, row in rows if STALL in row)


def test_the_trace_is_saved_and_the_hooks_are_gone(tmp_path: Path) -> None:
    item = torch.Tensor.item
    fit(SyncTraceCallback(tmp_path / "trace.json"))
    assert asyncguard.load_trace(tmp_path / "trace.json").total_syncs == BATCHES
    assert torch.Tensor.item is item


def test_a_training_that_fails_leaves_its_trace(tmp_path: Path) -> None:
    item = torch.Tensor.item
    with pytest.raises(RuntimeError, match="no more data"):
        fit(SyncTraceCallback(tmp_path / "trace.json"), Model(fails_at=5))
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 5
    assert torch.Tensor.item is item


def test_a_callback_traces_each_training_anew() -> None:
    callback = SyncTraceCallback()
    fit(callback)
    first = callback.trace
    fit(callback)
    assert callback.trace is not first
    assert callback.trace is not None
    assert callback.trace.total_syncs == BATCHES
