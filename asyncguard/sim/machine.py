"""The simulated machine: its devices with their memory and streams, and the virtual time on it.

One machine runs in a process at a time. The device and streams that are current are each
thread's own, as in CUDA.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import torch

from asyncguard.model import AsyncguardError
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.races import Mark, Races
from asyncguard.runtime.sinks import Event as Told
from asyncguard.sim.captures import captures
from asyncguard.sim.debug import SyncDebug
from asyncguard.sim.idle import Idle
from asyncguard.sim.memory import Block, Holder, Memory, OutOfMemory
from asyncguard.sim.profiles import Profile
from asyncguard.sim.reporting import tell
from asyncguard.timeline.virtual import Event, Run, Stream, VirtualTimeline

_Wait = Callable[[object, int], int]  # owner, what returning takes
HOST_TIMES = ("fixed", "measured")
BAD_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use"
    " the 'spawn' start method"
)


class NotSimulated(AsyncguardError, NotImplementedError):  # noqa: N818  reads as what is the case
    """The program asked for something that the simulated device does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not supported on asyncguard's simulated CUDA device")
        self._what = what

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._what,)


class Device(Holder):
    """One simulated device. It outlives a simulation, and so do its tensors for the next one."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.device = torch.device("cuda", index)
        self.memory = Memory(0)

    def take(self, nbytes: int) -> Block:
        """Memory for one storage; raises torch.cuda.OutOfMemoryError as CUDA does."""
        try:
            return Block(self, nbytes)
        except OutOfMemory as error:
            raise self.out_of_memory(nbytes) from error

    def out_of_memory(self, nbytes: int) -> RuntimeError:
        """What torch.cuda raises where so many bytes are not to be had."""
        memory = self.memory
        error: RuntimeError = torch.cuda.OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {_size(nbytes)}. GPU {self.index} has a total"
            f" capacity of {_size(memory.total)} of which {_size(memory.free_bytes)} is free."
            f" {_size(memory.allocated)} is allocated by PyTorch (asyncguard simulates this device:"
            " see the profiles of simulate_cuda)"
        )
        return error

    def __repr__(self) -> str:
        return str(self.device)


_devices: list[Device] = []  # all that there have been in this process
# By the address of what they stand for, which is all that operators are given of them.
_generators: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _device(index: int) -> Device:
    while len(_devices) <= index:
        _devices.append(Device(len(_devices)))
    return _devices[index]


def _size(nbytes: int) -> str:
    """A size as CUDA's allocator writes it."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} bytes"


class _Current(threading.local):
    """What is current in one thread."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, Stream] = {}
        self.asked: Device | bool | None = None  # see `places`
        self.deferred: _Wait | None = None  # what the hooked call that is under way waits for


class Machine:
    """The devices and the clock. Durations are nanoseconds of virtual time.

    host:  "fixed": an operator takes the host as long as the profile says; "measured": as long as
           this host took, kernels and the simulation's own work left out.
    races: how races of copies are told of: see `reporting`.
    """

    def __init__(self, profile: Profile, devices: int, host: str, races: str = "raise") -> None:
        self.profile = profile
        self.races_told = races
        self.races = Races(tell(races))
        self.timeline = VirtualTimeline(launch_latency_ns=profile.launch_latency_ns)
        self.devices = tuple(_device(index) for index in range(devices))
        self.current = _Current()
        self.generators = _generators
        self.is_running = False
        self.is_default = False  # whether tensors are made on it that are told no place
        self.is_used = False  # whether anything has asked for a device
        self.is_bad_fork = False  # whether this process was forked from one that had
        self.lock = threading.RLock()
        self.host = host
        self.is_measured = host == "measured"
        self.idle = Idle()
        self.debug = SyncDebug()
        self._serials = itertools.count()
        self._left = 0  # when the host last left the simulation's own work

    def begin(self) -> None:
        """Give the devices the profile's memory; tensors of earlier simulations hold theirs."""
        for device in self.devices:
            device.memory.begin(self.profile.memory_bytes)

    @property
    def device(self) -> Device:
        """The current device."""
        return self.devices[self.current.device]

    def use(self) -> None:
        """A device is used; raises RuntimeError in a process in which CUDA could not."""
        self.is_used = True
        if self.is_bad_fork:
            raise RuntimeError(BAD_FORK)

    def forked(self) -> None:
        """This process was forked: the device is not there for it if it was in use before."""
        self.is_bad_fork = self.is_used
        self.lock = threading.RLock()  # a thread that is not here may have held it

    def device_at(self, device: torch.device) -> Device:
        """The device of this name; without an index, the current one."""
        self.use()
        index = self.current.device if device.index is None else device.index
        if not 0 <= index < len(self.devices):
            raise RuntimeError(
                "CUDA error: invalid device ordinal\n(asyncguard simulates"
                f" {len(self.devices)} CUDA device(s): see simulate_cuda(devices=...))"
            )
        return self.devices[index]

    def stream(self, index: int | None = None) -> Stream:
        """The current stream of a device."""
        current = self.current
        at = current.device if index is None else index
        stream = current.streams.get(at)
        return self.timeline.default_stream(at) if stream is None else stream

    def enqueue(self, duration: int, name: str, device: Device | None = None) -> None:
        """Hand a kernel to the current stream, and tell recorders of it."""
        if self.is_bad_fork or not self.is_used:
            self.use()
        if device is not None and device.index >= len(self.devices):
            self.device_at(device.device)  # of a simulation that had more: it raises
        with self.lock:
            host = 0 if self.is_measured else self.profile.operator_host_ns
            stream = self.stream(None if device is None else device.index)
            capture = captures.of(stream) if captures.under_way else None
            if capture is not None:  # handed to a graph, which nothing runs before its replay
                capture.add(stream, duration)
                self.timeline.advance_host(host)
                return
            run = self.timeline.enqueue(stream, duration, name, host_ns=host)
            began, serial, told = run.enqueued_ns - host, next(self._serials), hub.sink.event
            self.idle.ran(run, began)
            told(Told("enqueue", name, began, run.enqueued_ns, serial=serial))
            told(Told("run", name, run.begin_ns, run.end_ns, _label(run), serial))

    def pass_host_time(self) -> None:
        """An operator has cost the host the time that one without a kernel takes."""
        if not self.is_measured:
            with self.lock:
                self.timeline.advance_host(self.profile.view_host_ns)

    def arrive(self) -> None:
        """The host has come from the user's code: count the time that it spent there."""
        if self.is_measured:
            now = time.perf_counter_ns()
            with self.lock:
                self.timeline.advance_host(max(now - self._left, 0))
                self._left = now

    def leave(self) -> None:
        """The host goes back to the user's code."""
        if self.is_measured:
            self._left = time.perf_counter_ns()

    def wait_stream(
        self, stream: Stream | None = None, owner: object = None, is_sure: bool = True
    ) -> None:
        """The host waits for all work of a stream (None: the current one).

        is_sure: whether CUDA promises that it does, so that the program may rely on it.
        """
        queue = stream or self.stream()
        captures.forbid_on(queue, "a wait for a stream")
        if is_sure:
            self.races.order.wait(self.races.order.record(queue))
        self._wait(lambda who, back: self.timeline.wait_stream(queue, who, return_ns=back), owner)

    def wait_event(self, event: Event, mark: Mark) -> None:
        """The host waits for an event, which marks a place in the order of copies."""
        self.races.order.wait(mark)
        self._wait(lambda who, back: self.timeline.wait_event(event, who, return_ns=back))

    def wait_for_nothing(self) -> None:
        """The host asks for a wait, and there is nothing to wait for."""
        self._wait(lambda who, back: 0)

    def wait_device(self, index: int | None = None, owner: object = None) -> None:
        """The host waits for all streams of a device."""
        at = self.current.device if index is None else index
        captures.forbid_on_device(at, "a wait for the device")
        for queue in self.timeline.streams(at):
            self.races.order.wait(self.races.order.record(queue))
        self._wait(lambda who, back: self.timeline.wait_device(at, who, return_ns=back), owner)

    def finish_wait(self, owner: object, otherwise: Callable[[], None]) -> None:
        """A hooked call that waits is over: let the host wait as it said, else `otherwise`."""
        wait, self.current.deferred = self.current.deferred, None
        if wait is None:
            otherwise()
        else:
            self._let_wait(wait, owner)

    def _wait(self, wait: _Wait, owner: object = None) -> None:
        """Wait now; within a hooked call at its end, when it is known whom to charge."""
        if state.doing.waiting and owner is None:
            self.current.deferred = wait
        else:
            self._let_wait(wait, owner)

    def _let_wait(self, wait: _Wait, owner: object) -> None:
        self.arrive()
        with self.lock:
            wait(owner, self.profile.wait_return_ns)
        self.leave()


def _label(run: Run) -> str:
    """The lane of a run in a timeline."""
    return f"cuda:{run.device} stream {run.stream}" if run.stream else f"cuda:{run.device}"
