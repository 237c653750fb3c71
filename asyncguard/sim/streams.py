"""What stands in for torch.cuda.Stream and torch.cuda.Event: places in the virtual timeline."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.races import Mark
from asyncguard.sim import captures
from asyncguard.sim.machine import Machine, NotSimulated
from asyncguard.timeline import virtual

_PRIORITIES = (0, -3)  # the lowest and the highest that torch uses


class Event:
    """A place in a stream, with the face of torch.cuda.Event."""

    _machine: ClassVar[Machine]

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
        device: Any = None,
    ) -> None:
        if interprocess or external:
            raise NotSimulated("torch.cuda.Event(interprocess=True or external=True)")
        self.enable_timing = enable_timing
        self._at: virtual.Event | None = None
        self._captured: captures.Mark | None = None  # where a capture has recorded it
        self._mark: Mark = {}  # in the order of copies
        self.device = None if device is None else torch.device(device)
        self.cuda_event = self.event_id = 0

    def record(self, stream: Any = None) -> None:
        """Mark the present end of a stream."""
        self._machine.arrive()
        with self._machine.lock:
            queue = self._machine.stream() if stream is None else stream._queue
            self._captured = captures.mark(queue)
            self._at = None if self._captured else self._machine.timeline.record(queue)
            self._mark = self._machine.races.order.record(queue)
        self.device = torch.device("cuda", queue.device)
        self._machine.leave()

    def wait(self, stream: Any = None) -> None:
        """Let future work of a stream start after this event."""
        queue = self._machine.stream() if stream is None else stream._queue
        if captures.follow(queue, self._captured, self._at is not None):
            return
        if self._at is not None:
            with self._machine.lock:
                self._machine.timeline.order(queue, self._at)
                self._machine.races.order.follow(queue, self._mark)

    def query(self) -> bool:
        """Whether the device has come here."""
        captures.forbid_query(self._captured, "a query of an event")
        self._machine.arrive()
        is_done = self._at is None or self._machine.timeline.is_done(self._at)
        if is_done:
            self._machine.races.order.wait(self._mark)
        return is_done

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
        captures.forbid_query(self._captured, "a wait for an event")
        if self._at is None:  # never recorded
            self._machine.wait_for_nothing()
        else:
            self._machine.wait_event(self._at, self._mark)

    def ipc_handle(self) -> bytes:
        """Not simulated."""
        raise NotSimulated("torch.cuda.Event.ipc_handle")

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {'unrecorded' if self._at is None else self._at.at_ns}>"


class Stream:
    """A queue of a simulated device, with the face of torch.cuda.Stream."""

    _machine: ClassVar[Machine]
    _event: ClassVar[type[Event]]

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
            _queue = self._machine.timeline.new_stream(at)
        self._queue = _queue
        self._before: list[Any] = []
        self.priority = max(min(priority, _PRIORITIES[0]), _PRIORITIES[1])
        self.device = torch.device("cuda", _queue.device)
        self.device_index = _queue.device
        self.device_type = 1
        self.stream_id = self.cuda_stream = _queue.number

    def wait_event(self, event: Any) -> None:
        """Let future work of this stream start after the event."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let future work of this stream start after all present work of another one."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Any:
        """Mark the present end of the queue."""
        event = event or self._event()
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        captures.captures.forbid_on(self._queue, "a query of a stream")
        self._machine.arrive()
        is_done = self._machine.timeline.is_done(self._queue)
        if is_done:
            order = self._machine.races.order
            order.wait(order.record(self._queue))
        return is_done

    def is_capturing(self) -> bool:
        """Whether what is handed to it goes to a graph."""
        return captures.captures.of(self._queue) is not None

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority, which is the smaller number."""
        return _PRIORITIES

    def synchronize(self) -> None:
        """Wait for all work."""
        self._machine.wait_stream(self._queue)

    def __enter__(self) -> Any:
        self._before.append((self._machine.current.device, self._machine.stream(self.device_index)))
        self._machine.current.device = self.device_index
        self._machine.current.streams[self.device_index] = self._queue
        return self

    def __exit__(self, *_: object) -> None:
        device, queue = self._before.pop()
        self._machine.current.streams[self.device_index] = queue
        self._machine.current.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other._queue is self._queue

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Classes:
    """The classes of one machine."""

    def __init__(self, machine: Machine) -> None:
        self.Event = _of(machine, Event)
        self.Stream = _of(machine, Stream, _event=self.Event)

    def wrap(self, queue: virtual.Stream) -> Any:
        """The torch.cuda.Stream of a queue."""
        return self.Stream(_queue=queue)


def _of(machine: Machine, base: type, **more: Any) -> Any:
    """The class of a machine, by the name that it stands in for."""
    named = {"__module__": "torch.cuda", "__qualname__": base.__name__}
    return type(base.__name__, (base,), {**named, "_machine": machine, **more})
