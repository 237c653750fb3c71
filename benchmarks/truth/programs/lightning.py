"""A module that a trainer fits, validates and tests, with hooks and callbacks."""

from __future__ import annotations

import functools
import tempfile
import warnings
from typing import Any

import lightning
import torch
from lightning.pytorch import callbacks, loggers

from benchmarks.truth.programs import network, rows


class _Module(lightning.LightningModule):
    def __init__(self, manual: bool = False) -> None:
        super().__init__()
        self.network = network("cpu")
        self.automatic_optimization = not manual

    def _loss(self, batch: Any) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])

    def training_step(self, batch: Any, at: int) -> Any:
        loss = self._loss(batch)
        self.log("train", loss, on_step=True, on_epoch=True, prog_bar=True)
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            self.clip_gradients(optimizer, 0.5, "norm")
            optimizer.step()
            return None
        return loss

    def validation_step(self, batch: Any, at: int) -> None:
        self.log_dict({"valid": self._loss(batch), "double": self._loss(batch) * 2}, prog_bar=True)

    def test_step(self, batch: Any, at: int) -> None:
        self.log("test", self._loss(batch), reduce_fx="max")

    def predict_step(self, batch: Any, at: int) -> torch.Tensor:
        return self.network(batch[0]).argmax(-1)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "valid"}}


def _loader() -> Any:
    data = torch.utils.data.TensorDataset(*rows("cpu", 24))
    return torch.utils.data.DataLoader(data, batch_size=8)


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulated": {"accumulate_grad_batches": 2, "gradient_clip_val": 0.5},
    "clipped values": {"gradient_clip_val": 0.1, "gradient_clip_algorithm": "value"},
    "anomalies": {"detect_anomaly": True, "overfit_batches": 1},
    "half": {"precision": "bf16-mixed"},
    "double": {"precision": "64-true"},
    "quick": {"fast_dev_run": True},
    "often": {"val_check_interval": 1, "log_every_n_steps": 1},
}
CALLBACKS: dict[str, Any] = {
    "stopping": lambda: callbacks.EarlyStopping("valid", patience=1, check_finite=True),
    "checkpoint": lambda: callbacks.ModelCheckpoint(monitor="valid", save_top_k=1, save_last=True),
    "averages": lambda: callbacks.StochasticWeightAveraging(0.05, swa_epoch_start=1),
    "rates": lambda: callbacks.LearningRateMonitor(),
    "statistics": lambda: callbacks.DeviceStatsMonitor(cpu_stats=False),
    "pruned": lambda: callbacks.ModelPruning("l1_unstructured", amount=0.3),
    "schedule": lambda: callbacks.GradientAccumulationScheduler({0: 2, 1: 1}),
    "timer": lambda: callbacks.Timer(),
    "summary": lambda: callbacks.ModelSummary(2),
}


def _fit(given: dict[str, Any], extra: Any, manual: bool, device: str) -> list[Any]:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="gpu" if device == "cuda" else "cpu", devices=1,
            default_root_dir=folder, enable_progress_bar=False, num_sanity_val_steps=1,
            logger=loggers.CSVLogger(folder), callbacks=[extra()] if extra else [], **given,
        )  # fmt: skip
        module = _Module(manual)
        trainer.fit(module, _loader(), _loader())
        metrics = dict(trainer.callback_metrics)
        trainer.test(module, _loader(), verbose=False)
        found = trainer.predict(module, _loader())
        return [metrics, found, *module.state_dict().values()]


CASES: dict[str, Any] = {
    **{f"fit {name}": functools.partial(_fit, given, None, False) for name, given in KINDS.items()},
    **{
        f"with {name}": functools.partial(_fit, {}, extra, False)
        for name, extra in CALLBACKS.items()
    },
    "by hand": functools.partial(_fit, {}, None, True),
}


def fabric(device: str) -> list[Any]:
    """The same by a loop of one's own."""
    made = lightning.Fabric(accelerator=device, devices=1, precision="bf16-mixed")
    made.launch()
    made.seed_everything(1, verbose=False)
    model = network("cpu")
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer = made.setup(model, optimizer)
    losses = []
    for inputs, labels in made.setup_dataloaders(_loader()):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        made.backward(loss)
        made.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(made.all_reduce(loss))
    return [*losses, *model.parameters()]
