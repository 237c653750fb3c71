"""Ray Train: each worker traces its own loop and saves its rank's trace (needs ray[train])."""

from __future__ import annotations

from pathlib import Path

import torch
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

import asyncguard

FOLDER = Path("traces").absolute()


def loop() -> None:
    """Ten steps, each of which reads its loss."""
    weight = torch.nn.Parameter(torch.ones(64, 64))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    with asyncguard.trace() as trace:
        for _ in range(10):
            loss = (weight @ weight).sum()
            loss.backward()
            optimizer.step()
            loss.item()
    trace.save(FOLDER / f"trace.rank{train.get_context().get_world_rank()}.json")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
    print(f"asyncguard report {FOLDER}")
