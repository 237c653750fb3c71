"""Ordinary differential equations, by each of the methods, with gradients and events."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

from benchmarks.truth.programs import network

METHODS = (
    "dopri8", "dopri5", "bosh3", "fehlberg2", "adaptive_heun", "euler", "midpoint", "heun2",
    "heun3", "rk4", "explicit_adams", "implicit_adams", "fixed_adams",
)  # fmt: skip


class _Field(torch.nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.network = network(device, 3, 3).double()

    def forward(self, time: torch.Tensor, state: Any) -> Any:
        if isinstance(state, tuple):
            return tuple(-each for each in state)
        return self.network(state) - state * time


def _solve(method: str, solve: Any, device: str) -> list[Any]:
    field = _Field(device)
    start = torch.tensor([[1.0, 0.5, -0.5]], dtype=torch.float64, device=device, requires_grad=True)
    times = torch.linspace(0, 0.5, 4, dtype=torch.float64, device=device)
    is_fixed = method in ("euler", "rk4", "midpoint")
    given: dict[str, Any] = {"options": {"step_size": 0.1}} if is_fixed else {}
    found = solve(field, start, times, method=method, rtol=1e-4, atol=1e-5, **given)
    found[-1].square().sum().backward()
    return [found, start.grad, [each.grad for each in field.parameters()]]


CASES: dict[str, Any] = {
    **{f"odeint {name}": functools.partial(_solve, name, odeint) for name in METHODS},
    **{
        f"odeint_adjoint {name}": functools.partial(_solve, name, odeint_adjoint)
        for name in ("dopri5", "rk4", "bosh3", "implicit_adams")
    },
}


def several_states(device: str) -> list[Any]:
    """A tuple of states, backward in time, at jumps."""
    start = torch.ones(2, device=device), torch.zeros(3, device=device) + 2
    times = torch.tensor([1.0, 0.5, 0.0], device=device)
    jumps = torch.tensor([0.7], device=device)
    options = {"jump_t": jumps, "dtype": torch.float64}
    return [odeint(_Field(device), start, times, method="dopri5", options=options)]


def event(device: str) -> list[Any]:
    """A ball that falls until it touches the ground."""
    start = torch.tensor([1.0, 0.0], device=device, requires_grad=True)

    def falls(time: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.stack([state[1], -9.8 * torch.ones_like(state[1])])

    when, state = odeint_event(
        falls, start, torch.tensor(0.0, device=device), event_fn=lambda time, state: state[0],
        odeint_interface=odeint, method="dopri5",
    )  # fmt: skip
    (when + state.sum()).backward()
    return [when, state, start.grad]
