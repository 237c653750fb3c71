"""Moving averages of a network's weights."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import torch
from ema_pytorch import EMA, PostHocEMA

from benchmarks.truth.programs import classifying, network, rows


def _average(given: dict[str, Any], device: str) -> list[Any]:
    model = network(device)
    average = EMA(model, beta=0.9, update_after_step=1, update_every=2, **given)
    inputs = classifying(model, device, 6, average.update)
    average.copy_params_from_ema_to_model()
    average.update_model_with_ema()
    average.copy_params_from_model_to_ema()
    return [average(inputs), *model.parameters(), average.get_current_decay()]


CASES = {
    str(given): functools.partial(_average, given)
    for given in (
        {},
        {"use_foreach": True},
        {"inv_gamma": 2.0, "power": 1.0, "include_online_model": False},
        {"update_model_with_ema_every": 2},
        {"lazy_init_ema": True},
        {"coerce_dtype": True, "allow_different_devices": True},
    )
}


def post_hoc(device: str) -> list[Any]:
    """An average of another length, made of stored ones."""
    model = network(device)
    with tempfile.TemporaryDirectory() as folder:
        average = PostHocEMA(
            model, sigma_rels=(0.05, 0.3), update_every=2, checkpoint_every_num_steps=4,
            checkpoint_folder=folder,
        )  # fmt: skip
        for step in range(12):
            with torch.no_grad():
                for value in model.parameters():
                    value.add_(0.01 * step)
            average.update()
        made = average.synthesize_ema_model(sigma_rel=0.15)
        return [made(rows(device)[0])]
