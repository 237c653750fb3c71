"""What a capture refuses of operators and copies: whatever holds the host."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from asyncguard.runtime.adapters.torch.operators import is_mask
from asyncguard.sim.captures import UNSUPPORTED, Capture, captures
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.memory import Block
from asyncguard.sim.operators import Operator
from asyncguard.sim.places import OPEN, PINNED, mark_of, tensors_in

_PAGEABLE = "a copy from pageable memory, which the host has to wait for"
_TO_HOST = "a copy to pageable memory, which the host has to wait for"
_BLOCKING = "a copy without non_blocking=True, which the host has to wait for"
# Operators that send indices and masks of the host's to the device.
_INDEXING = ("aten::index", "aten::_index", "aten::_unsafe_index", "aten::masked_fill_")
_INDEXED = ("aten::index", "aten::_unsafe_index", "aten::index_put", "aten::_index_put")


def captured(machine: Machine, device: Device | None) -> Capture | None:
    """The capture that what is handed to a device now goes to; raises where it has failed."""
    if device is None or not captures.under_way:
        return None
    capture = captures.of(machine.stream(device.index))
    if capture is not None:
        capture.check()
    return capture


def check_operator(
    machine: Machine, op: Operator, waits: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise what CUDA raises where an operator would hold the host, or be held by it.

    waits: whether it may wait, by the catalogue, and no hook above it has seen it. Other reads are
           the CPU's way of computing, as those of `one_hot` within its bounds.
    """
    marks = [mark_of(tensor) for tensor in tensors_in((args, kwargs))]
    device: Any = next((mark.device for mark in marks if type(mark) is Block), None)
    capture = captured(machine, device)
    if capture is None:
        return
    if op.is_copy:
        cause = _copy(args, kwargs)
    elif waits and _holds(op, args, kwargs):
        cause = f"{op.name.partition('::')[2]} waits for its result"
    else:
        cause = _indices(op, args)
    if cause:
        raise capture.fail(UNSUPPORTED, cause)


def check_copy(
    machine: Machine, source: Device | None, target: Device | None, pinned: bool
) -> Capture | None:
    """The capture that a copy by `Tensor.to` goes to; raises where it cannot be captured."""
    capture = captured(machine, target or source)
    if capture is not None and source is not target:
        if target is None:
            raise capture.fail(UNSUPPORTED, _TO_HOST)
        if source is None and not pinned:
            raise capture.fail(UNSUPPORTED, _PAGEABLE)
    return capture


def _copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Why `target.copy_(source, non_blocking)` holds the host; "" where it does not."""
    marks = [mark_of(tensor) for tensor in args[:2] if isinstance(tensor, Tensor)]
    host = [mark for mark in marks if type(mark) is not Block and mark is not OPEN]
    if not host:
        return ""
    if host[0] is not PINNED:
        return _PAGEABLE if type(marks[0]) is Block else _TO_HOST
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    return "" if non_blocking else _BLOCKING


def _holds(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operator that may wait does: what is indexed by masks, and sizes not told."""
    if op.name.startswith(_INDEXED):
        return any(map(is_mask, tensors_in(args[1])))
    if op.name == "aten::repeat_interleave":
        return kwargs.get("output_size") is None
    return True


def _indices(op: Operator, args: tuple[Any, ...]) -> str:
    if op.name.startswith(_INDEXING):
        for at in op.host_operands:
            for tensor in tensors_in(args[at] if at < len(args) else None):
                if type(mark_of(tensor)) is not Block and tensor.dim():
                    return _PAGEABLE
    return ""
