"""The callback in a real Hugging Face Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")
require("transformers")
require("accelerate")

from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: E402

from asyncguard.integrations.recording import STALL, SYNCS  # noqa: E402
from asyncguard.integrations.transformers import SyncTraceCallback  # noqa: E402

STEPS = 6


class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
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


def test_every_optimizer_step_is_a_step_and_the_read_in_it_counts(tmp_path: Path) -> None:
    callback = SyncTraceCallback()
    made = trainer(tmp_path)
    made.add_callback(callback)
    made.train()
    assert callback.trace is not None
    assert callback.trace.step_count == STEPS
    assert reads(callback) == STEPS


def test_accumulated_gradients_make_one_step_of_several_batches(tmp_path: Path) -> None:
    made = trainer(tmp_path, gradient_accumulation_steps=3)
    with SyncTraceCallback().attach(made) as callback:
        made.train()
    assert callback.trace is not None
    assert callback.trace.step_count == STEPS
    assert reads(callback) == 3 * STEPS


def test_the_history_and_the_reporters_get_the_figures_a_step(tmp_path: Path) -> None:
    made, reporter = trainer(tmp_path), Reporter()
    made.add_callback(reporter)
    with SyncTraceCallback().attach(made):
        made.train()
    history = [row for row in made.state.log_history if SYNCS in row]
    assert [row["step"] for row in history] == [2, 4, 6]
    assert all(row[SYNCS] >= 1 and row[STALL] > 0 for row in history)
    assert [row[SYNCS] for row in reporter.logs if SYNCS in row] == [r[SYNCS] for r in history]


def test_the_trace_is_saved_and_the_hooks_are_gone(tmp_path: Path) -> None:
    item = torch.Tensor.item
    made = trainer(tmp_path)
    made.add_callback(SyncTraceCallback(tmp_path / "trace.json"))
    made.train()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == STEPS
    assert torch.Tensor.item is item


def test_a_training_that_fails_leaves_its_trace(tmp_path: Path) -> None:
    item = torch.Tensor.item
    made = trainer(tmp_path, Model(fails_at=4))
    with (
        pytest.raises(RuntimeError, match="no more data"),
        SyncTraceCallback(tmp_path / "trace.json").attach(made),
    ):
        made.train()
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 4
    assert torch.Tensor.item is item
