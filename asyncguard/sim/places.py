"""Which device a tensor lies on: a mark on its storage, which views and parameters share.

A storage without a mark is the host's. What C++ code below the user's call makes with the options
of its operands (it takes those to be CPU tensors) is *open*: where it meets a device, it is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.accesses import keep
from asyncguard.sim.captures import captures
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.memory import Block

CPU = torch.device("cpu")
OPEN = object()  # the mark of a storage of which it is not told yet
PINNED = object()  # the mark of pinned host memory
_MARK = "_asyncguard_place"


def mark_of(tensor: Any) -> Any:
    """The mark of a tensor's storage: a Block on a device, OPEN, PINNED, or None."""
    try:
        return getattr(tensor.untyped_storage(), _MARK, None)
    except (NotImplementedError, RuntimeError, ValueError):
        return getattr(bearer_of(tensor), _MARK, None)


def bearer_of(tensor: Any) -> Any:
    """What bears the mark: the storage; the tensor itself where it has none, being sparse.

    Within a transform's wrapper that of the tensor inside. Subclasses may refuse what is no concern
    of theirs, as parameters do that have no shape yet.
    """
    if private.is_wrapped(tensor):
        return bearer_of(private.unwrapped(tensor))
    try:
        with private.DisableTorchFunctionSubclass():
            return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return tensor


def device_of(tensor: Any) -> Device | None:
    """The simulated device that a tensor lies on; None for the host."""
    mark = mark_of(tensor)
    return mark.device if type(mark) is Block else None  # type: ignore[return-value]


def put(tensor: Any, device: Device) -> None:
    """Let a tensor's memory be the device's."""
    try:
        bearer = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError, ValueError):
        bearer = bearer_of(tensor)
    nbytes = 0 if isinstance(bearer, Tensor) else bearer.nbytes()
    set_mark(bearer, device.take(nbytes))


def put_fresh(tensor: Any, device: Device) -> None:
    """As `put`, unless it is on a device already: results may be views of operands."""
    if type(mark_of(tensor)) is not Block:
        put(tensor, device)


def take_home(tensor: Any, mark: object = None) -> None:
    """Let a tensor's memory be the host's."""
    if mark is PINNED and captures.under_way:
        captures.forbid("an allocation of pinned memory, which asks for events")
    set_mark(bearer_of(tensor), mark)


def set_mark(bearer: Any, mark: object) -> None:
    """Mark a storage, or a tensor that has none."""
    keep(bearer, _MARK, mark)


def storage_mark(storage: Any) -> Any:
    """The mark of a storage."""
    return getattr(storage, _MARK, None)


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in a value, and in lists, tuples and dicts of such."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_in(part)


def resolve(machine: Machine, device: Any) -> Device | torch.device:
    """The simulated device that the user's `device=` names, else the torch.device."""
    if isinstance(device, int) and not isinstance(device, bool):
        return machine.device_at(torch.device("cuda", device))
    found = device if isinstance(device, torch.device) else torch.device(device)
    return machine.device_at(found) if found.type == "cuda" else found


def default_device(machine: Machine) -> Device | torch.device:
    """Where factories make tensors without `device=`: as `torch.set_default_device` says."""
    if private.function_mode_depth():
        for mode in reversed(private.function_modes()):
            if isinstance(mode, private.DeviceContext):
                return resolve(machine, mode.device)
    return machine.device if machine.is_default else CPU
