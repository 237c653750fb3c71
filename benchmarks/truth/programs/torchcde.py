"""Controlled differential equations: the control's coefficients, and the solution."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torchcde

from benchmarks.truth.programs import network


class _Field(torch.nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.network = network(device, 4, 12)

    def forward(self, time: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return self.network(state).tanh().view(*state.shape[:-1], 4, 3)


def _solve(kind: str, missing: bool, method: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    path = torch.rand(2, 7, 3)
    path[..., 0] = torch.linspace(0, 1, 7)
    path = path.to(device)
    if missing:
        path[0, 2:4, 1] = float("nan")
        path[1, 0, 2] = float("nan")
    if kind == "linear":
        control: Any = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(path))
    elif kind == "rectilinear":
        coefficients = torchcde.linear_interpolation_coeffs(path, rectilinear=0)
        control = torchcde.LinearInterpolation(coefficients)
    elif kind == "natural":
        control = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(path))
    else:
        coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(path)
        control = torchcde.CubicSpline(coefficients)
    start = torch.zeros(2, 4, device=device, requires_grad=True)
    field = _Field(device)
    found = torchcde.cdeint(
        X=control, func=field, z0=start, t=control.interval, method=method, rtol=1e-2, atol=1e-3,
        **({"options": {"step_size": 0.5}} if method == "rk4" else {}),
    )  # fmt: skip
    found[:, -1].sum().backward()
    return [found, start.grad, control.evaluate(control.interval[1]), control.grid_points]


CASES = {
    f"{kind} {'missing' if missing else 'whole'} {method}": functools.partial(
        _solve, kind, missing, method
    )
    for kind in ("linear", "rectilinear", "natural", "hermite")
    for missing, method in ((False, "rk4"), (True, "rk4"), (False, "dopri5"))
}


def logsignature_windows(device: str) -> list[Any]:
    """Lead and lag, and other ways to make a path longer."""
    torch.manual_seed(0)
    path = torch.rand(2, 6, 3).to(device)
    filled = torchcde.misc.forward_fill(path, fill_index=-2)
    return [filled, torchcde.misc.tridiagonal_solve(
        torch.rand(2, 5).to(device), torch.rand(2, 4).to(device),
        torch.rand(2, 5).to(device) + 3, torch.rand(2, 4).to(device))]  # fmt: skip
