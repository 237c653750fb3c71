"""Forecasts of made-up series: each model fitted for two steps, asked and interpreted."""

from __future__ import annotations

import functools
import tempfile
import warnings
from typing import Any

import lightning.pytorch as lightning
import numpy as np
import pandas as pd
import pytorch_forecasting as forecasting
import torch
from pytorch_forecasting import metrics
from pytorch_forecasting.data import EncoderNormalizer, GroupNormalizer, NaNLabelEncoder


def _data(plain: bool = False) -> forecasting.TimeSeriesDataSet:
    made = np.random.default_rng(0)
    rows = pd.DataFrame([
        {"series": str(name), "time": at, "value": np.sin(at / 3 + name) + 2 + made.random() / 10,
         "price": float(made.random()), "day": str(at % 3)}
        for name in range(3) for at in range(24)
    ])  # fmt: skip
    given: dict[str, Any] = {
        "static_categoricals": ["series"], "time_varying_known_categoricals": ["day"],
        "time_varying_known_reals": ["time", "price"], "add_relative_time_idx": True,
        "add_target_scales": True, "target_normalizer": GroupNormalizer(groups=["series"]),
    }  # fmt: skip
    if plain:
        given = {"categorical_encoders": {"series": NaNLabelEncoder().fit(rows["series"])},
                 "target_normalizer": EncoderNormalizer()}  # fmt: skip
    return forecasting.TimeSeriesDataSet(
        rows, time_idx="time", target="value", group_ids=["series"], min_encoder_length=6,
        max_encoder_length=6, min_prediction_length=3, max_prediction_length=3,
        time_varying_unknown_reals=["value"], **given,
    )  # fmt: skip


MODELS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "TemporalFusionTransformer": ("TemporalFusionTransformer", False, {
        "hidden_size": 8, "attention_head_size": 2, "hidden_continuous_size": 4,
        "loss": metrics.QuantileLoss()}),
    "NBeats": ("NBeats", True, {"widths": [8, 8], "backcast_loss_ratio": 0.1}),
    "NHiTS": ("NHiTS", False, {"hidden_size": 8, "loss": metrics.QuantileLoss()}),
    "DeepAR": ("DeepAR", False, {"hidden_size": 8, "rnn_layers": 1}),
    "DeepAR gru": ("DeepAR", False, {
        "hidden_size": 8, "cell_type": "GRU", "loss": metrics.LogNormalDistributionLoss()}),
    "RecurrentNetwork": ("RecurrentNetwork", False, {"hidden_size": 8}),
    "DecoderMLP": ("DecoderMLP", False, {"hidden_size": 8}),
    "TiDEModel": ("TiDEModel", False, {"hidden_size": 8, "temporal_decoder_hidden": 4}),
}  # fmt: skip


def _fit(name: str, device: str) -> list[Any]:
    warnings.simplefilter("ignore")
    kind, plain, given = MODELS[name]
    torch.manual_seed(0)
    data = _data(plain)
    loader = data.to_dataloader(train=True, batch_size=8, num_workers=0)
    valid = data.to_dataloader(train=False, batch_size=8, num_workers=0)
    model = getattr(forecasting, kind).from_dataset(data, log_interval=-1, **given)
    with tempfile.TemporaryDirectory() as folder:
        trainer_given = {
            "accelerator": "gpu" if device == "cuda" else "cpu", "devices": 1, "logger": False,
            "enable_progress_bar": False, "enable_checkpointing": False, "default_root_dir": folder,
        }  # fmt: skip
        trainer = lightning.Trainer(
            max_epochs=1, limit_train_batches=2, limit_val_batches=1, gradient_clip_val=0.1,
            enable_model_summary=False, **trainer_given,
        )  # fmt: skip
        trainer.fit(model, loader, valid)
        found = model.predict(valid, mode="prediction", trainer_kwargs=trainer_given)
        raw = model.predict(valid, mode="raw", return_x=True, trainer_kwargs=trainer_given)
    more = [model.interpret_output(raw.output, reduction="sum")] if name[:2] == "Te" else []
    return [found, *model.state_dict().values(), *more]


CASES: dict[str, Any] = {name: functools.partial(_fit, name) for name in MODELS}
LOSSES: dict[str, Any] = {
    "SMAPE": metrics.SMAPE, "MAE": metrics.MAE, "RMSE": metrics.RMSE, "MAPE": metrics.MAPE,
    "MASE": metrics.MASE, "QuantileLoss": metrics.QuantileLoss, "PoissonLoss": metrics.PoissonLoss,
    "TweedieLoss": metrics.TweedieLoss, "CrossEntropy": metrics.CrossEntropy,
}  # fmt: skip


def _measure(name: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    made = LOSSES[name]().to(device)
    last = {"QuantileLoss": 7, "CrossEntropy": 3}.get(name, 1)
    guessed = torch.rand(4, 3, last).to(device)
    wanted = torch.randint(0, 3, (4, 3)) if name == "CrossEntropy" else torch.rand(4, 3)
    wanted = wanted.to(device)
    given: tuple[Any, ...] = (guessed.squeeze(-1) if last == 1 else guessed, wanted)
    if name == "MASE":
        given += (torch.rand(4, 6).to(device),)
    for _ in range(2):
        made.update(*given)
    lengths = torch.nn.utils.rnn.pack_padded_sequence(
        wanted, torch.tensor([3, 2, 2, 1]), batch_first=True, enforce_sorted=False
    )
    return [made.compute(), made(given[0], lengths) if name != "MASE" else 0]


CASES |= {f"measure {name}": functools.partial(_measure, name) for name in LOSSES}
