"""cupy: every array lives on a CUDA device."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import cupy
import cupyx

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.transit import Copy, Shape, Slotted, grouped, unpacked


class Adapter(Base):
    """cupy, on CUDA."""

    @classmethod
    def copier(cls) -> Copier:
        """Through pinned memory, on streams of their own."""
        return Copier()

    def device_of(self, value: Any) -> str | None:
        """The array's device, such as cuda:0."""
        return f"cuda:{value.device.id}" if isinstance(value, cupy.ndarray) else None

    def default_device(self) -> str:
        """The current device."""
        try:
            return f"cuda:{cupy.cuda.runtime.getDevice()}"
        except cupy.cuda.runtime.CUDARuntimeError:  # no device: the barrier itself will say so
            return "cuda"

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        return indexing.operators(args, _PLACE)


def _is_array(value: Any) -> bool:
    return isinstance(value, cupy.ndarray)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == bool)


# Writing by a mask counts it first, whatever is written.
_PLACE = indexing.Place(_is_array, _is_mask, fills=lambda value, owner: False)


class Copier:
    """cupy's arrays: those of one dtype on one device are joined on the current stream first.

    Another stream copies what they are joined to, into pinned memory of cupy's pool. Both are used
    anew as soon as nothing refers to them, so that they are kept here while they are in use.
    """

    framework = "cupy"

    def __init__(self) -> None:
        self._streams: dict[int, Any] = {}
        self._under_way: deque[_Flight] = deque()

    def takes(self, kind: type) -> bool:
        """Whether it is an array."""
        return issubclass(kind, cupy.ndarray)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """One transfer for each device and dtype."""
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft()
        keyed = (((each.device.id, each.dtype), slot, each) for slot, each in arrays)
        started = [self._send(key[0], slots, found) for key, slots, found in grouped(keyed)]
        self._under_way.extend(started)
        return started

    def _send(self, device: int, slots: Sequence[int], arrays: Sequence[Any]) -> _Flight:
        with cupy.cuda.Device(device):
            stream = self._streams.get(device)
            if stream is None:
                stream = self._streams[device] = cupy.cuda.Stream(non_blocking=True)
            flat = cupy.concatenate([array.ravel() for array in arrays])
            buffer = cupyx.empty_pinned(flat.shape, flat.dtype)
            stream.wait_event(cupy.cuda.get_current_stream().record())
            flat.get(stream=stream, out=buffer, blocking=False)
            return _Flight(slots, flat, buffer, stream.record(), [each.shape for each in arrays])


class _Flight:
    """A copy into pinned memory, with an event behind it."""

    reports = False

    def __init__(
        self, slots: Sequence[int], flat: Any, buffer: Any, event: Any, shapes: list[Shape]
    ) -> None:
        self.slots = slots
        self.source = flat
        self._buffer = buffer
        self._event = event
        self._shapes = shapes

    def done(self) -> bool:
        """Whether the device has come to the event."""
        return bool(self._event.done)

    def wait(self) -> None:
        """Wait for the event."""
        self._event.synchronize()

    def fetch(self) -> list[Any]:
        """The values."""
        return unpacked(self._buffer, self._shapes)
