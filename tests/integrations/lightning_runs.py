"""Trainings with a real Lightning Trainer, whose import takes five seconds."""

from __future__ import annotations

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers.logger import Logger

from asyncguard.integrations.lightning import SyncTraceCallback

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
