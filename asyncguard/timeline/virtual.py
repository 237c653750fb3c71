"""Virtual time: what an asynchronous program takes, from what its parts take. Deterministic.

A host enqueues operations on the streams of devices and now and then waits. Its clock goes on only
when told, so the same program gives the same times on every run and machine:

    timeline = VirtualTimeline(launch_latency_ns=5_000)
    stream = timeline.default_stream(0)
    timeline.advance_host(20_000)                       # Python worked for 20 us
    run = timeline.enqueue(stream, 100_000, "matmul")   # returns at once; run.begin_ns, run.end_ns
    stall = timeline.wait_stream(stream, owner=site)    # the host stood still for so long
    timeline.advance_host(30_000)
    timeline.enqueue(stream, 50_000, "add")
    timeline.wait_device(0)
    for bubble in timeline.take_bubbles():              # device idle time and the wait it is due to
        print(bubble.wait.owner, bubble.end - bubble.begin)

The operations of one stream run in the order in which they were enqueued, each not before
`launch_latency_ns` after its enqueue; those of different streams run beside each other, except as
events order them. As on CUDA, where a stream of PyTorch's own is non-blocking, the default stream
is a stream like any other. All times are whole nanoseconds. One host: callers from several threads
take turns.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from asyncguard.idle import Bubble, DryMeter, Wait


class VirtualClock:
    """The host's time in ns. Calling it reads it, so it serves as the clock of a trace."""

    __slots__ = ("now",)

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, ns: int) -> None:
        """The host is busy for `ns`. Raises ValueError where that is negative."""
        if ns < 0:
            raise ValueError(f"time does not run backwards: {ns} ns")
        self.now += ns


class Run(NamedTuple):
    """One operation on the device: handed over at `enqueued_ns`, executed begin to end.

    `held_ns` is how long a full queue held up the host before that.
    """

    device: int
    stream: int
    name: str
    enqueued_ns: int
    begin_ns: int
    end_ns: int
    held_ns: int = 0


class Event(NamedTuple):
    """A place in a stream, which the stream reaches at `at_ns`."""

    device: int
    stream: int
    at_ns: int


class Stream:
    """A queue of one device; made by the timeline."""

    __slots__ = ("device", "number", "tail")

    def __init__(self, device: int, number: int) -> None:
        self.device = device
        self.number = number
        self.tail = 0  # when everything will be done that is in the queue


class _Device:
    """One device: its streams, and since when, or up to when, it is idle."""

    def __init__(self, number: int) -> None:
        self.streams = [Stream(number, 0)]
        self.meter: DryMeter[Wait] = DryMeter(number)
        self.tail: int | None = None  # when the last operation will end; None before the first
        self.start: int | None = None  # of the earliest that was enqueued since it was dry
        self.dry = True

    def catch_up(self, now: int) -> Bubble | None:
        """Tell the meter what happened on the device up to `now`, which itself is included."""
        settled = None
        if self.start is not None and self.start <= now:
            settled, self.start = self.meter.started(self.start), None
        if not self.dry and self.tail is not None and self.tail <= now:
            self.dry = True
            self.meter.ran_dry(self.tail, self.tail)
        return settled

    def enqueue(self, begin: int, end: int) -> None:
        self.dry = False
        self.meter.refilled()
        self.start = begin if self.start is None else min(begin, self.start)
        self.tail = end if self.tail is None else max(end, self.tail)


class VirtualTimeline:
    """Devices with streams, and one host that enqueues and waits.

    clock:             the host's; None: one of its own, from 0.
    launch_latency_ns: from the enqueue of an operation to its earliest start.
    queue_limit:       operations that may be pending; at the limit an enqueue waits (`held_ns`).
    queue_limit_bytes: bytes that the results of pending operations may take, likewise.
    """

    def __init__(
        self,
        clock: VirtualClock | None = None,
        *,
        launch_latency_ns: int = 0,
        queue_limit: int | None = None,
        queue_limit_bytes: int | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.peak_depth = 0
        self.peak_pending_bytes = 0
        self._latency = launch_latency_ns
        self._limit = queue_limit
        self._limit_bytes = queue_limit_bytes
        self._devices: dict[int, _Device] = {}
        self._pending: list[tuple[int, int]] = []  # heap of end, bytes
        self._pending_bytes = 0
        self._bubbles: list[Bubble] = []

    # ------------------------------------------------------------------------- the host

    @property
    def now(self) -> int:
        """The host's time."""
        return self.clock.now

    def advance_host(self, ns: int) -> None:
        """The host works for `ns`."""
        self.clock.advance(ns)

    # -------------------------------------------------------------------------- streams

    def default_stream(self, device: int = 0) -> Stream:
        """The first stream of a device."""
        return self._device(device).streams[0]

    def new_stream(self, device: int = 0) -> Stream:
        """One more stream of a device."""
        streams = self._device(device).streams
        streams.append(Stream(device, len(streams)))
        return streams[-1]

    def streams(self, device: int = 0) -> tuple[Stream, ...]:
        """All streams of a device, the default one first."""
        return tuple(self._device(device).streams)

    def enqueue(
        self,
        stream: Stream,
        duration_ns: int,
        name: str = "",
        *,
        host_ns: int = 0,
        nbytes: int = 0,
        owner: object = None,
        latency_ns: int | None = None,
    ) -> Run:
        """Hand over an operation that runs for `duration_ns`.

        `host_ns` is what handing over costs the host. `nbytes` count as pending until the operation
        has ended. Where the queue is full the host waits for room first, on account of `owner`.
        `latency_ns` takes the place of the timeline's launch latency.
        Raises ValueError for a negative duration, or bytes that alone are over the limit.
        """
        if duration_ns < 0:
            raise ValueError(f"{name or 'an operation'} cannot take {duration_ns} ns")
        if host_ns:
            self.clock.advance(host_ns)
        held = self._make_room(nbytes, owner)
        now = self.clock.now
        latency = self._latency if latency_ns is None else latency_ns
        begin = max(now + latency, stream.tail)
        end = stream.tail = begin + duration_ns
        self._device_runs(stream.device, now, begin, end)
        heapq.heappush(self._pending, (end, nbytes))
        self._pending_bytes += nbytes
        if len(self._pending) > self.peak_depth:
            self.peak_depth = len(self._pending)
        if self._pending_bytes > self.peak_pending_bytes:
            self.peak_pending_bytes = self._pending_bytes
        return Run(stream.device, stream.number, name, now, begin, end, held)

    def record(self, stream: Stream) -> Event:
        """Mark the place in `stream` behind all that is enqueued there."""
        stream.tail = max(self.clock.now + self._latency, stream.tail)
        return Event(stream.device, stream.number, stream.tail)

    def order(self, stream: Stream, after: Event) -> None:
        """Let what is enqueued on `stream` from now on start after `after`; the host goes on."""
        stream.tail = max(stream.tail, after.at_ns)

    def is_done(self, place: Event | Stream) -> bool:
        """Whether the device has reached the event, or the end of the stream, by now."""
        at = place.at_ns if isinstance(place, Event) else place.tail
        return at <= self.clock.now

    # ---------------------------------------------------------------------------- waits

    def wait_event(self, event: Event, owner: object = None, *, return_ns: int = 0) -> int:
        """Let the host wait until `event`; return for how long it did, in ns.

        Here and below, `owner` is who is charged for the idle time that follows, and `return_ns`
        what the call itself takes beyond that, from the end of the work to the host's going on.
        """
        return self.wait_until(event.at_ns, owner, return_ns=return_ns)

    def wait_stream(self, stream: Stream, owner: object = None, *, return_ns: int = 0) -> int:
        """Let the host wait until all is done that is enqueued on `stream`."""
        return self.wait_until(stream.tail, owner, return_ns=return_ns)

    def wait_device(self, device: int = 0, owner: object = None, *, return_ns: int = 0) -> int:
        """Let the host wait until all streams of `device` are done."""
        tails = [stream.tail for stream in self._device(device).streams]
        return self.wait_until(max(tails), owner, return_ns=return_ns)

    def copy(
        self,
        stream: Stream,
        duration_ns: int,
        name: str = "copy",
        owner: object = None,
        *,
        host_ns: int = 0,
        return_ns: int = 0,
    ) -> tuple[Run, int]:
        """A blocking copy: enqueue it, wait for it; return the run and how long the host waited."""
        run = self.enqueue(stream, duration_ns, name, host_ns=host_ns, owner=owner)
        return run, self.wait_until(run.end_ns, owner, return_ns=return_ns)

    def wait_until(self, at: int, owner: object = None, *, return_ns: int = 0) -> int:
        """Let the host wait until `at`: for a run, its `end_ns`."""
        begin = self.clock.now
        wait = Wait(begin, max(begin, at) + return_ns, owner)
        devices = self._devices.values()
        for device in devices:
            self._catch_up(device, begin - 1)  # what ends as a wait begins, ends within it
            self._settled(device.meter.wait_began(wait))
        self.clock.advance(wait.end - begin)
        for device in devices:
            self._catch_up(device, wait.end)
            self._settled(device.meter.wait_ended(wait))
        return wait.end - begin

    # -------------------------------------------------------------------------- figures

    @property
    def depth(self) -> int:
        """Operations that are enqueued and have not ended."""
        self._forget_done()
        return len(self._pending)

    @property
    def pending_bytes(self) -> int:
        """Bytes that the results of the pending operations take."""
        self._forget_done()
        return self._pending_bytes

    def take_bubbles(self) -> list[Bubble]:
        """The idle spells that are settled since the last call, in the order of settling."""
        taken, self._bubbles = self._bubbles, []
        return taken

    def close(self) -> list[Bubble]:
        """Nothing more will be enqueued: settle what is still owed, and take all."""
        for device in self._devices.values():
            self._catch_up(device, max(self.clock.now, device.tail or 0))
            self._settled(device.meter.close())
        return self.take_bubbles()

    def _device(self, number: int) -> _Device:
        device = self._devices.get(number)
        if device is None:
            device = self._devices[number] = _Device(number)
        return device

    def _device_runs(self, number: int, now: int, begin: int, end: int) -> None:
        device = self._devices[number]
        # What ends at the moment at which more is enqueued has been followed in time.
        self._catch_up(device, now - 1)
        device.enqueue(begin, end)

    def _catch_up(self, device: _Device, now: int) -> None:
        self._settled(device.catch_up(now))

    def _settled(self, bubble: Bubble | None) -> None:
        if bubble:
            self._bubbles.append(bubble)

    def _forget_done(self) -> None:
        pending, now = self._pending, self.clock.now
        while pending and pending[0][0] <= now:
            self._pending_bytes -= heapq.heappop(pending)[1]

    def _make_room(self, nbytes: int, owner: object) -> int:
        """Wait until the queue has room for a result of `nbytes`; return for how long."""
        if self._limit_bytes is not None and nbytes > self._limit_bytes:
            raise ValueError(f"{nbytes} bytes are over the queue's limit of {self._limit_bytes}")
        self._forget_done()
        began, until = self.clock.now, None
        while self._pending and self._is_full(nbytes):
            until, held = heapq.heappop(self._pending)
            self._pending_bytes -= held
        if until is not None:
            self.wait_until(until, owner)
            self._forget_done()
        return self.clock.now - began

    def _is_full(self, nbytes: int) -> bool:
        if self._limit is not None and len(self._pending) >= self._limit:
            return True
        return self._limit_bytes is not None and self._pending_bytes + nbytes > self._limit_bytes
