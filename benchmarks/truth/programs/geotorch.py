"""Layers whose weights stay on a manifold."""

from __future__ import annotations

import functools
from typing import Any

import geotorch
import torch

KINDS: dict[str, dict[str, Any]] = {
    "symmetric": {}, "skew": {}, "sphere": {}, "orthogonal": {}, "grassmannian": {},
    "almost_orthogonal": {"lam": 0.5}, "low_rank": {"rank": 3}, "fixed_rank": {"rank": 3},
    "invertible": {}, "sln": {}, "positive_definite": {}, "positive_semidefinite": {},
    "positive_semidefinite_low_rank": {"rank": 3}, "positive_semidefinite_fixed_rank": {"rank": 3},
}  # fmt: skip


def _train(kind: str, given: dict[str, Any], device: str) -> list[Any]:
    torch.manual_seed(0)
    side = 6 if kind not in ("orthogonal", "grassmannian", "low_rank") else 8
    model = torch.nn.Linear(6, side).to(device)
    getattr(geotorch, kind)(model, "weight", **given)
    model.to(device)
    weight = model.parametrizations.weight[0]
    if hasattr(weight, "sample"):
        model.weight = weight.sample()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    inputs = torch.randn(4, 6).to(device)
    for _ in range(2):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    held = model.weight.detach()
    return [held, weight.in_manifold(held) if hasattr(weight, "in_manifold") else True]


CASES = {
    f"{kind} {given}": functools.partial(_train, kind, given)
    for kind, least in KINDS.items()
    for given in (
        least,
        *({"triv": name} for name in ("cayley", "expm") if kind in ("orthogonal",)),
        *(
            {"lam": 0.5, "f": name}
            for name in ("scaled_sigmoid", "tanh", "sin")
            if kind == "almost_orthogonal"
        ),
        *({"rank": 3, "f": name} for name in ("softplus",) if kind in ("fixed_rank",)),
    )
}
