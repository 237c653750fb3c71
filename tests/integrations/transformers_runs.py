"""Trainings with a real Hugging Face Trainer, whose import takes five seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from asyncguard.integrations.transformers import SyncTraceCallback

STEPS = 6


class Model(torch.nn.Module):
    """Reads its loss once a batch; fails at batch `fails_at`."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.fails_at = fails_at
        self.batches = 0

    def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
        if self.batches == self.fails_at:
            raise RuntimeError("no more data")
        self.batches += 1
        loss = (self.linear(x) - labels).square().mean()
        loss.item()
        return {"loss": loss}


class Reporter(TrainerCallback):
    """Keeps the logs as a reporter such as TensorBoard's sees them."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self.logs.append(dict(logs))


def trainer(folder: Path, model: Model | None = None, **options: Any) -> Any:
    arguments = TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=STEPS,
        logging_steps=2,
        per_device_train_batch_size=1,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_nan_inf_filter=False,  # would read the loss of each batch
        max_grad_norm=0,
        **options,
    )
    rows = [{"x": torch.ones(4), "labels": torch.ones(1)} for _ in range(64)]
    return Trainer(model or Model(), arguments, train_dataset=rows)


def reads(callback: SyncTraceCallback) -> int:
    """How often the model read its loss, by the trace."""
    assert callback.trace is not None
    return sum(site.count for site in callback.trace.sites if site.source == "loss.item()")
