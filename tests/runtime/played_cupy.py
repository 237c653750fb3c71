"""A CUDA device for cupy that is played by NumPy: work runs when it is told to, in stream order."""

from __future__ import annotations

import contextlib
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy


class Event:
    """A place in a stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.done = False
        self.waits = 0

    def synchronize(self) -> None:
        self.waits += 1
        while not self.done:
            self._device.run_one()


class Stream:
    """A queue of work."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.queue: deque[Callable[[], bool]] = deque()
        device.streams.append(self)

    def push(self, work: Callable[[], object]) -> None:
        def run() -> bool:
            work()
            return True

        self.queue.append(run)

    def record(self) -> Event:
        event = Event(self._device)
        self.push(lambda: setattr(event, "done", True))
        return event

    def wait_event(self, event: Event) -> None:
        self.queue.append(lambda: event.done)


class Array:
    """An array of the device, whose data are there when its stream has come so far."""

    def __init__(self, device: Device, data: Any) -> None:
        self._device = device
        self.data = numpy.array(data)
        self.shape, self.dtype = self.data.shape, self.data.dtype
        self.device = types.SimpleNamespace(id=0)

    def fill(self, value: float) -> None:
        self._device.main.push(lambda: self.data.fill(value))

    def ravel(self) -> Array:
        flat = Array.__new__(Array)
        flat.__dict__ |= self.__dict__ | {"data": self.data.reshape(-1)}
        flat.shape = flat.data.shape
        return flat

    def get(self, stream: Stream, out: Any, blocking: bool) -> Any:
        assert not blocking
        stream.push(lambda: numpy.copyto(out, self.data))
        return out


class Device:
    """The device, its streams, and what stands in for the modules cupy and cupyx."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self._lock = threading.Lock()
        self.main = Stream(self)
        self.pinned = 0
        cuda = types.SimpleNamespace(
            Device=self._current, Stream=self._stream, get_current_stream=lambda: self.main
        )
        self.cupy = types.SimpleNamespace(ndarray=Array, cuda=cuda, concatenate=self._concatenate)
        self.cupyx = types.SimpleNamespace(empty_pinned=self._empty_pinned)

    def array(self, data: Any, dtype: str = "float32") -> Array:
        return Array(self, numpy.array(data, dtype))

    def run_one(self) -> bool:
        """Run one piece of work that can run, if there is any, of the latest stream first."""
        with self._lock:
            for stream in reversed(self.streams):
                if stream.queue and stream.queue[0]():
                    stream.queue.popleft()
                    return True
        return False

    def run(self) -> None:
        while self.run_one():
            pass

    @contextlib.contextmanager
    def _current(self, number: int) -> Iterator[None]:
        yield

    def _stream(self, non_blocking: bool) -> Stream:
        assert non_blocking
        return Stream(self)

    def _concatenate(self, arrays: list[Array]) -> Array:
        joined = Array(self, numpy.concatenate([numpy.zeros_like(each.data) for each in arrays]))
        parts = [each.data for each in arrays]
        self.main.push(lambda: numpy.concatenate(parts, out=joined.data))
        return joined

    def _empty_pinned(self, shape: Any, dtype: Any) -> Any:
        self.pinned += 1
        return numpy.full(shape, 77, dtype)
