"""Moving averages of a network's weights."""

from __future__ import annotations

from typing import Any

from torch_ema import ExponentialMovingAverage

from benchmarks.truth.programs import classifying, network


def average(device: str) -> list[Any]:
    """Train, average, evaluate with the average, go back, store and load."""
    model = network(device)
    averages = ExponentialMovingAverage(model.parameters(), decay=0.9)
    averages.to(device)
    inputs = classifying(model, device, 3, averages.update)
    averages.load_state_dict(averages.state_dict())
    with averages.average_parameters():
        inside = model(inputs)
    averages.store()
    averages.copy_to()
    averages.restore()
    return [inside, model(inputs), *averages.shadow_params]


def without_counting(device: str) -> list[Any]:
    """An average whose decay is one from the start, of parameters that are named."""
    model = network(device)
    averages = ExponentialMovingAverage(model.parameters(), decay=0.5, use_num_updates=False)
    averages.update(list(model.parameters()))
    averages.store(model.parameters())
    averages.copy_to(model.parameters())
    averages.restore(model.parameters())
    return list(model.parameters())
