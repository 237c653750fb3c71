"""Gradients through steps of an optimizer."""

from __future__ import annotations

import functools
from typing import Any

import higher
import torch

from benchmarks.truth.programs import network, rows

OPTIMIZERS = ("SGD", "Adam", "Adadelta", "Adagrad", "Adamax", "ASGD", "RMSprop", "Rprop")


def _through(name: str, given: dict[str, Any], device: str) -> list[Any]:
    model = network(device)
    inner = getattr(torch.optim, name)(model.parameters(), lr=0.05)
    inputs, labels = rows(device)
    with higher.innerloop_ctx(model, inner, **given) as (changed, steps):
        for _ in range(2):
            loss = torch.nn.functional.cross_entropy(changed(inputs), labels)
            steps.step(loss)
        last = torch.nn.functional.cross_entropy(changed(inputs), labels)
        wanted = list(changed.parameters(time=0))
        found = torch.autograd.grad(last, wanted, allow_unused=True)
    return [last, found]


CASES: dict[str, Any] = {name: functools.partial(_through, name, {}) for name in OPTIMIZERS}
CASES["SGD copied weights"] = functools.partial(_through, "SGD", {"copy_initial_weights": False})
CASES["Adam learned rate"] = functools.partial(
    _through, "Adam", {"override": {"lr": [0.01], "betas": [(0.9, 0.99)]}}
)


def recurrent(device: str) -> list[Any]:
    """A recurrent network whose forward pass takes other weights."""
    torch.manual_seed(0)
    model = torch.nn.LSTM(4, 8).to(device)
    changed = higher.monkeypatch(model, device=torch.device(device), copy_initial_weights=True)
    inputs = torch.randn(3, 2, 4).to(device)
    output, _ = changed(inputs)
    fast = [each - 0.1 for each in changed.parameters()]
    again, _ = changed(inputs, params=fast)
    return [output, again, torch.autograd.grad(again.sum(), fast)]
