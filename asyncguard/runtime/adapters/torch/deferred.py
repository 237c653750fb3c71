"""Copies of tensors for `asyncguard.later`: through pinned memory, on a stream of their own.

The tensors of one dtype on one device are put one after another into a fresh tensor, on the stream
that is current: so the values are those of that moment. What is copied is that tensor, which
nobody else knows, behind an event, so that no later work has to wait for the copy.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from asyncguard.model import AsyncguardError
from asyncguard.runtime.transit import Arrived, Copy, Shape, Slotted, grouped, unpacked

__all__ = ["Copier"]

_SMALLEST = 16  # elements of a buffer
_MOST_FREE = 64  # buffers of one size that are kept
# The dtypes that NumPy lacks, and those of NumPy's that hold all of their values.
_WIDER = {
    each: torch.complex64 if each.is_complex else torch.float32
    for name, each in vars(torch).items()
    if isinstance(each, torch.dtype) and name.startswith(("bfloat16", "float8", "complex32"))
}


class Copier:
    """torch's tensors: those of the CPU are copied at once."""

    framework = "torch"

    def __init__(self) -> None:
        self._lanes: dict[torch.device, _Lane] = {}

    def takes(self, kind: type) -> bool:
        """Whether it is a tensor."""
        return issubclass(kind, Tensor)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """One copy for each device; at most one transfer of it for each dtype."""
        copies: list[Copy] = []
        if all(tensor.is_cpu for _, tensor in arrays):
            return [Arrived([slot for slot, _ in arrays], [_value(each) for _, each in arrays])]
        placed = grouped((tensor.device, slot, tensor) for slot, tensor in arrays)
        for device, slots, tensors in placed:
            if device.type == "cpu":
                copies.append(Arrived(slots, [_value(tensor) for tensor in tensors]))
            else:
                copies.append(self._lane(device).send(slots, tensors))
        return copies

    def _lane(self, device: torch.device) -> _Lane:
        lane = self._lanes.get(device)
        if lane is None or lane.is_over:
            lane = self._lanes[device] = _Lane(device)
        return lane


class _Lane:
    """The stream and the buffers by which one device's values travel."""

    def __init__(self, device: torch.device) -> None:
        if device.type == "meta":
            raise TypeError("asyncguard.later: a meta tensor has no values to copy")
        self._api = torch.get_device_module(device)
        self._device = device
        self._event = self._api.Event
        streams = getattr(self._api, "Stream", None)  # MPS has one stream and no name for it
        self._stream = streams(device) if streams is not None else None
        self._buffers = _Buffers()
        self._is_capturing = getattr(self._api, "is_current_stream_capturing", None)

    @property
    def is_over(self) -> bool:
        """Whether the device that it is of, a simulated one, has gone."""
        return self._api.Event is not self._event

    def send(self, slots: Sequence[int], tensors: Sequence[Tensor]) -> _Flight:
        """Start to copy tensors, whose values go to `slots`."""
        if self._is_capturing is not None and self._is_capturing():
            raise AsyncguardError(
                "asyncguard.later is called while a graph is captured: call it behind the replay"
            )
        kinds = grouped((each.dtype, slot, each) for slot, each in zip(slots, tensors, strict=True))
        groups = [_Group(slots, tensors, self._buffers) for _, slots, tensors in kinds]
        event = self._event()
        if self._stream is None:
            self._copy(groups, event)
        else:
            self._stream.wait_stream(self._api.current_stream(self._device))
            with self._api.stream(self._stream):
                self._copy(groups, event)
        return _Flight(groups, event)

    def _copy(self, groups: Sequence[_Group], event: Any) -> None:
        for group in groups:
            group.copy(self._stream)
        event.record()


class _Group:
    """Tensors of one dtype, one after another on the device, and where they go on the host."""

    def __init__(self, slots: Sequence[int], tensors: Sequence[Tensor], buffers: _Buffers) -> None:
        self.slots = slots
        self.shapes: list[Shape] = [tuple(tensor.shape) for tensor in tensors]
        self.flat = torch.cat([_dense(tensor).reshape(-1) for tensor in tensors])
        self._buffers = buffers
        self._buffer: Tensor | None = None

    def copy(self, stream: Any) -> None:
        """Enqueue the copy on the current stream, which is `stream` (None: the only one)."""
        flat = self.flat
        if stream is None:
            self._buffer = flat.to("cpu", non_blocking=True)
            return
        self._buffer = self._buffers.take(flat.dtype, flat.numel())
        self._buffer[: flat.numel()].copy_(flat, non_blocking=True)
        flat.record_stream(stream)  # its memory is not used anew before, if nobody fetches

    def fetch(self) -> list[Any]:
        """The values, once the copy is done; the buffer serves again."""
        buffer = self._buffer
        assert buffer is not None, "a copy is fetched once"
        host = buffer[: self.flat.numel()]
        wider = _WIDER.get(host.dtype)
        values = unpacked((host if wider is None else host.to(wider)).numpy(), self.shapes)
        self._buffer = None
        self._buffers.give(buffer)
        return values


class _Flight:
    """The copies of one device's tensors, with an event behind them."""

    reports = False

    def __init__(self, groups: Sequence[_Group], event: Any) -> None:
        self.slots = list(chain.from_iterable(group.slots for group in groups))
        self._groups = groups
        self._event = event

    @property
    def source(self) -> Tensor:
        """What is copied first."""
        return self._groups[0].flat

    def done(self) -> bool:
        """Whether the device has come to the event."""
        is_done: bool = self._event.query()
        return is_done

    def wait(self) -> None:
        """Wait for the event."""
        self._event.synchronize()

    def fetch(self) -> list[Any]:
        """The values of all groups."""
        return [value for group in self._groups for value in group.fetch()]


class _Buffers:
    """Pinned memory that serves again: a copy takes a buffer, and gives it back when it is read.

    A buffer that is never given back is torch's affair, which uses no pinned memory anew before
    the copies into it are done.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[torch.dtype, int], list[Tensor]] = defaultdict(list)
        self._lock = threading.Lock()

    def take(self, dtype: torch.dtype, count: int) -> Tensor:
        """A buffer of at least so many elements."""
        size = max(_SMALLEST, 1 << (count - 1).bit_length()) if count else _SMALLEST
        with self._lock:
            free = self._free[dtype, size]
            if free:
                return free.pop()
        return torch.empty(size, dtype=dtype, device="cpu", pin_memory=True)

    def give(self, buffer: Tensor) -> None:
        """Nobody uses a buffer any more."""
        if not buffer.is_pinned():
            return
        with self._lock:
            free = self._free[buffer.dtype, buffer.numel()]
            if len(free) < _MOST_FREE:
                free.append(buffer)


def _dense(tensor: Tensor) -> Tensor:
    if tensor.layout is not torch.strided:
        raise TypeError(
            f"asyncguard.later copies no {tensor.layout} tensors: call to_dense() first"
        )
    return tensor.detach()


def _value(tensor: Tensor) -> Any:
    """A copy of what a tensor of the CPU holds now."""
    found = _dense(tensor)
    if not found.dim():
        return found.item()
    wider = _WIDER.get(found.dtype)
    if wider is not None:
        return found.to(wider).numpy()
    return found.resolve_conj().resolve_neg().numpy().copy()
