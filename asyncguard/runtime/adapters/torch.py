"""torch: which tensors are device values, what marks a step, which index needs a wait.

CPU tensors are reported as the stand-in device; whether they count is for the session to say.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import STAND_IN, Clock, Undo
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.hub import hub

_MASKS = (torch.bool, torch.uint8)


class Adapter(Base):
    """torch, on CUDA or any other accelerator, or on the CPU standing in for one."""

    _labels: dict[Any, str]

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._labels = {}

    def device_of(self, value: Any) -> str | None:
        """The tensor's device; a scaler's or distribution's is that of its work."""
        kind = type(value)
        if kind is not torch.Tensor and kind is not torch.nn.Parameter:
            return self._of_other(value)
        return STAND_IN if value.is_cpu else self._label(value.device)

    def _of_other(self, value: Any) -> str | None:
        if isinstance(value, torch.Tensor):
            if _has_no_data(value):
                return None
            with torch._C.DisableTorchFunctionSubclass():
                return STAND_IN if value.is_cpu else self._label(value.device)
        if isinstance(value, torch.amp.GradScaler):
            return self.default_device() if value.is_enabled() else None
        if isinstance(value, torch.distributions.Distribution):
            parts = (self.device_of(v) for v in vars(value).values() if torch.is_tensor(v))
            return next((device for device in parts if device), None)
        return None

    def _label(self, device: torch.device) -> str | None:
        label = self._labels.get(device)
        if label is None and device.type != "meta":
            label = self._labels[device] = str(device)
        return label

    def default_device(self) -> str:
        """The current accelerator, where one is in use."""
        if torch.cuda.is_initialized():
            return f"cuda:{torch.cuda.current_device()}"
        return STAND_IN

    def accelerator_in_use(self) -> bool:
        """Whether CUDA has been initialised: being available is not being used."""
        return bool(torch.cuda.is_initialized())

    def index_operators(self, args: tuple[Any, ...]) -> frozenset[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        return indexing.operators(args, torch.is_tensor, _is_mask)

    def install(self, clock: Clock) -> Undo:
        """Mark a step after each optimizer update, through torch's own global hook."""
        handle = register_optimizer_step_post_hook(_stepped)
        return handle.remove  # type: ignore[no-any-return]


def _is_mask(value: torch.Tensor) -> bool:
    return value.dtype in _MASKS


def _has_no_data(value: torch.Tensor) -> bool:
    """Whether the tensor only stands for one, while a compiler traces."""
    return isinstance(value, torch._subclasses.FakeTensor)


def _stepped(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    hub.mark(optimizer)
