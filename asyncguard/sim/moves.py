"""Where `to`, `cuda`, `cpu`, `type` and `pin_memory` take a tensor under simulation."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.moves import without_copy
from asyncguard.sim.devices import without_tensor
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.places import CPU, PINNED, device_of, mark_of, resolve, take_home

__all__ = ["TYPES", "moves"]

_BASE = private.TensorBase
_KINDS = {
    torch.float32: "FloatTensor", torch.float64: "DoubleTensor", torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor", torch.uint8: "ByteTensor", torch.int8: "CharTensor",
    torch.int16: "ShortTensor", torch.int32: "IntTensor", torch.int64: "LongTensor",
    torch.bool: "BoolTensor",
}  # fmt: skip
TYPES = {name: dtype for dtype, name in _KINDS.items()}


class Mover(Protocol):
    """Copies tensors between the host and devices."""

    def move(
        self, tensor: Tensor, target: Device | None, dtype: torch.dtype | None, layout: Any,
        non_blocking: bool = False,
    ) -> Tensor:  # fmt: skip
        """Return a copy of `tensor` on `target` (None: the host)."""


class _Request(NamedTuple):
    """The arguments of ``Tensor.to``, whatever their form."""

    device: Any = None
    dtype: torch.dtype | None = None
    non_blocking: bool = False
    copy: bool = False
    layout: Any = None


def moves(machine: Machine, mover: Mover) -> dict[str, Any]:
    """The methods of torch.Tensor that take a tensor elsewhere."""

    def move(tensor: Tensor, request: _Request) -> Tensor:
        source = device_of(tensor)
        target = source if request.device is None else resolve(machine, request.device)
        if target == CPU:
            target = None
        layout = request.layout or torch.preserve_format
        if isinstance(target, torch.device) or tensor.is_meta:  # meta, or from there
            own = CPU if isinstance(target, Device) else target
            dtype = request.dtype or tensor.dtype
            return _BASE.to(tensor, own, dtype, copy=request.copy, memory_format=layout)
        if target is source:
            dtype = request.dtype or tensor.dtype
            return _BASE.to(tensor, dtype, request.non_blocking, request.copy, memory_format=layout)
        return mover.move(tensor, target, request.dtype, layout, request.non_blocking)

    def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return move(self, _request(args, kwargs))

    def cuda(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Tensor:
        request = _Request(_cuda_device(device), None, non_blocking, False, memory_format)
        return move(self, request)

    def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
        return move(self, _Request(CPU, layout=memory_format))

    def as_type(
        self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any
    ) -> str | Tensor:
        if dtype is None:
            return _type_name(self)
        if isinstance(dtype, torch.dtype):
            return move(self, _Request(None, dtype, non_blocking))
        name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
        kind = TYPES.get(name.rpartition(".")[2])
        if kind is None:
            return _BASE.type(self, dtype, non_blocking, **kwargs)
        wanted = torch.device("cuda") if name.startswith("torch.cuda.") else CPU
        return move(self, _Request(wanted, kind, non_blocking))

    def type_as(self: Tensor, other: Tensor) -> Tensor:
        return move(self, _Request(other.device, other.dtype))

    return {
        "to": to, "cuda": cuda, "cpu": cpu, "type": as_type, "type_as": type_as,
        "pin_memory": _pin_memory,
        "is_pinned": lambda self, device=None: mark_of(self) is PINNED,
    }  # fmt: skip


def _request(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Request:
    args, kwargs, copy = without_copy(without_tensor("other", args, kwargs), kwargs)
    device, dtype, non_blocking, layout = private.nn._parse_to(*args, **kwargs)
    return _Request(device, dtype, non_blocking, copy, layout)


def _cuda_device(device: Any) -> torch.device:
    if isinstance(device, int):
        return torch.device("cuda", device)
    wanted = torch.device("cuda" if device is None else device)
    if wanted.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, but got {wanted}")
    return wanted


def _type_name(tensor: Tensor) -> str:
    name = _KINDS.get(tensor.dtype)
    if device_of(tensor) is None or name is None:
        return str(_BASE.type(tensor))
    return f"torch.cuda.{name}"


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    if device_of(self) is not None:
        name = _type_name(self)
        raise RuntimeError(f"cannot pin '{name}' only dense CPU tensors can be pinned")
    if mark_of(self) is PINNED:
        return self
    with private.DisableTorchDispatch():
        copy = _BASE.clone(self)
    take_home(copy, PINNED)
    return copy
