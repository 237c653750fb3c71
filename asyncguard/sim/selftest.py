"""A small program that the simulation runs once in a process, before the user's first one.

What simulated CUDA rests on is torch's own (`runtime.torch_private`), and a release may change how
it behaves and keep its name. Then a program would run, with waits missed or results on another
device. So where this program does not do what it does on CUDA, the simulation refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from asyncguard.model import AsyncguardError
from asyncguard.runtime.session import Session
from asyncguard.runtime.torch_names import NEWEST, OLDEST

WAITS = {
    "torch.Tensor.to.device": 1,
    "torch.Tensor.item": 1,
    "torch.Tensor.cpu": 1,
    "torch.nonzero": 1,
}


class SelfTest:
    """Runs the program until it has passed once."""

    def __init__(self, faults: Callable[[], Iterator[str]]) -> None:
        self._faults = faults
        self._passed = False

    def run(self, simulation: Callable[[], AbstractContextManager[Any]]) -> None:
        """Run it, unless it has passed; raises AsyncguardError where torch does not behave."""
        if self._passed:
            return
        self._passed = True  # the simulation that is entered here is not to begin anew
        try:
            with simulation(), Session(frameworks=["torch"]) as session:
                faults = list(self._faults())
            counted = Counter({site.api: site.count for site in session.record().sites})
            if counted != WAITS:
                faults.append(f"waits are counted as {dict(counted)}, and are {WAITS}")
        except Exception as error:  # noqa: BLE001  what it raises is what the user is told
            faults = [f"{type(error).__name__}: {error}"]
        if faults:
            self._passed = False
            raise AsyncguardError(
                f"simulate_cuda() does not work with torch {torch.__version__} ({faults[0]}):"
                f" take a torch from {OLDEST} to {NEWEST}, or a newer asyncguard"
            )


def faults() -> Iterator[str]:
    """What a training step on the device does otherwise than on CUDA."""
    with torch.inference_mode(False), torch.enable_grad():
        weight = torch.ones(3, device="cuda", requires_grad=True)
        loss = (torch.tensor([1.0, 2.0, 3.0], device="cpu").to("cuda") * weight).sum()
        loss.backward()
    gradient = weight.grad
    if gradient is None or not (loss.is_cuda and gradient.is_cuda):
        yield "results are not on the device of their operands"
    if loss.item() != 6.0:
        yield "a result is wrong"
    if weight.detach().cpu().is_cuda:
        yield "a copy on the host is on the device"
    torch.nonzero(weight.detach())
    try:
        weight.detach() + torch.ones(3, device="cpu")
    except RuntimeError:
        return
    yield "operands on two devices are taken"


selftest = SelfTest(faults)
