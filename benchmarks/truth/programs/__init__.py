"""Programs that use packages: the cases of the driver `programs`."""

from __future__ import annotations

from typing import Any

import torch


def network(device: str, inputs: int = 8, outputs: int = 4) -> torch.nn.Module:
    """A small network."""
    torch.manual_seed(0)
    layers = (torch.nn.Linear(inputs, 16), torch.nn.Tanh(), torch.nn.Linear(16, outputs))
    return torch.nn.Sequential(*layers).to(device)


def rows(device: str, count: int = 16, inputs: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of numbers, and which of four classes each is in."""
    torch.manual_seed(1)
    return torch.randn(count, inputs).to(device), (torch.arange(count) % 4).to(device)


def classifying(model: torch.nn.Module, device: str, steps: int, after: Any) -> torch.Tensor:
    """Train a network on the rows, call `after` after each step; return the rows' numbers."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, labels = rows(device)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        after()
    return inputs


def trained(model: torch.nn.Module, loss: Any, steps: int = 2) -> list[Any]:
    """The losses of some steps of training, and the parameters after them."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return [*losses, *model.parameters()]
