"""What stands in for torch.cuda.Stream and torch.cuda.Event: places in the virtual timeline."""

from __future__ import annotations

from typing import Any

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.sim.machine import Machine, NotSimulated
from asyncguard.timeline import virtual


class Classes:
    """The classes of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.Event = _named(_event_class(machine))
        self.Stream = _named(_stream_class(machine, self.Event))

    def wrap(self, queue: virtual.Stream) -> Any:
        """The torch.cuda.Stream of a queue."""
        return self.Stream(_queue=queue)


def _named(made: type) -> Any:
    """Give a class the name that it stands in for."""
    made.__module__ = "torch.cuda"
    made.__qualname__ = made.__name__
    return made


def _stream_class(machine: Machine, event_class: Any) -> type:
    timeline = machine.timeline

    class Stream:
        """A queue of a simulated device, with the face of torch.cuda.Stream."""

        def __init__(
            self,
            device: Any = None,
            priority: int = 0,
            *,
            _queue: virtual.Stream | None = None,
            **kwargs: Any,
        ) -> None:
            if kwargs:
                raise NotSimulated(f"torch.cuda.Stream({', '.join(kwargs)}=...)")
            if _queue is None:
                at = private.device_index(device, optional=True)
                _queue = timeline.new_stream(at)
            self._queue = _queue
            self._before: list[Any] = []
            self.priority = priority
            self.device = torch.device("cuda", _queue.device)
            self.device_index = _queue.device
            self.device_type = 1
            self.stream_id = self.cuda_stream = _queue.number

        def wait_event(self, event: Any) -> None:
            """Let future work of this stream start after the event."""
            event.wait(self)

        def wait_stream(self, stream: Any) -> None:
            """Let future work of this stream start after all present work of another one."""
            with machine.lock:
                timeline.order(self._queue, timeline.record(stream._queue))

        def record_event(self, event: Any = None) -> Any:
            """Mark the present end of the queue."""
            event = event or event_class()
            event.record(self)
            return event

        def query(self) -> bool:
            """Whether all work is done."""
            machine.arrive()
            return timeline.is_done(self._queue)

        def is_capturing(self) -> bool:
            """Graphs are not simulated."""
            return False

        def synchronize(self) -> None:
            """Wait for all work."""
            machine.wait_stream(self._queue)

        def __enter__(self) -> Any:
            self._before.append((machine.current.device, machine.stream(self.device_index)))
            machine.current.device = self.device_index
            machine.current.streams[self.device_index] = self._queue
            return self

        def __exit__(self, *_: object) -> None:
            device, queue = self._before.pop()
            machine.current.streams[self.device_index] = queue
            machine.current.device = device

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Stream) and other._queue is self._queue

        def __hash__(self) -> int:
            return hash((self.stream_id, self.device_index))

        def __repr__(self) -> str:
            return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    return Stream


def _event_class(machine: Machine) -> type:
    timeline = machine.timeline

    class Event:
        """A place in a stream, with the face of torch.cuda.Event."""

        def __init__(
            self,
            enable_timing: bool = False,
            blocking: bool = False,
            interprocess: bool = False,
            external: bool = False,
        ) -> None:
            if interprocess or external:
                raise NotSimulated("torch.cuda.Event(interprocess=True or external=True)")
            self.enable_timing = enable_timing
            self._at: virtual.Event | None = None
            self.device: torch.device | None = None
            self.cuda_event = 0

        def record(self, stream: Any = None) -> None:
            """Mark the present end of a stream."""
            machine.arrive()
            with machine.lock:
                queue = machine.stream() if stream is None else stream._queue
                self._at = timeline.record(queue)
            self.device = torch.device("cuda", queue.device)
            machine.leave()

        def wait(self, stream: Any = None) -> None:
            """Let future work of a stream start after this event."""
            if self._at is not None:
                with machine.lock:
                    timeline.order(machine.stream() if stream is None else stream._queue, self._at)

        def query(self) -> bool:
            """Whether the device has come here."""
            machine.arrive()
            return self._at is None or timeline.is_done(self._at)

        def elapsed_time(self, end_event: Any) -> float:
            """Milliseconds of virtual time between two events."""
            if not (self.enable_timing and end_event.enable_timing):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if self._at is None or end_event._at is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            if not (self.query() and end_event.query()):
                raise RuntimeError("CUDA error: device not ready")
            return float(end_event._at.at_ns - self._at.at_ns) / 1e6

        def synchronize(self) -> None:
            """Wait until the device has come here."""
            if self._at is not None:
                machine.wait_event(self._at)

        def ipc_handle(self) -> bytes:
            """Not simulated."""
            raise NotSimulated("torch.cuda.Event.ipc_handle")

        def __repr__(self) -> str:
            return f"<torch.cuda.Event {'unrecorded' if self._at is None else self._at.at_ns}>"

    return Event
