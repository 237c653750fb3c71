"""The optimizers of a package: some steps on a small network, and the state stored and loaded."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import torch

STEPS = 3
GIVEN: dict[str, Any] = {"lr": 1e-2, "num_iterations": STEPS, "total_steps": STEPS}
OPTIONS: dict[str, Any] = {"weight_decay": 0.1, "foreach": False, "amsgrad": True, "nesterov": True}
Optimizer = torch.optim.Optimizer


def cases(*, module: str, without: list[str] | None = None) -> dict[str, Any]:
    """Each public optimizer, and once more with the options that lead other ways."""
    found: dict[str, Any] = {}
    for name, made in sorted(vars(importlib.import_module(module)).items()):
        if not (inspect.isclass(made) and issubclass(made, Optimizer)) or made is Optimizer:
            continue
        if name in (without or ()):
            continue
        found[name] = functools.partial(train, made, {})
        options = {k: v for k, v in OPTIONS.items() if k in inspect.signature(made).parameters}
        if options:
            found[f"{name} {' '.join(options)}"] = functools.partial(train, made, options)
    return found


def train(made: Any, options: dict[str, Any], device: str) -> list[Any]:
    """Train; with the gradients' graph where it does not work without."""
    try:
        return _train(made, options, device, keeps_graph=False)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return _train(made, options, device, keeps_graph=True)


def _train(made: Any, options: dict[str, Any], device: str, *, keeps_graph: bool) -> list[Any]:
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * 36, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4),
    ).to(device)  # fmt: skip
    takes = inspect.signature(made).parameters
    required = {k: v for k, v in GIVEN.items() if k in takes and takes[k].default is takes[k].empty}
    optimizer = made(list(network.parameters()), **(required | options))
    inputs = torch.randn(4, 3, 8, 8).to(device)
    labels = torch.tensor([0, 1, 2, 3]).to(device)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(inputs), labels)
        loss.backward(create_graph=keeps_graph)
        return loss

    results: list[Any] = []
    for _ in range(STEPS):
        closure()
        results.append(optimizer.step(closure))
    optimizer.load_state_dict(optimizer.state_dict())
    closure()
    optimizer.step(closure)
    return [*results, *network.parameters()]
