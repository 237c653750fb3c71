"""Races of asynchronous copies on a real device: asked of an event behind each copy.

Host memory that is used while the event behind its copy has not been reached is a race, whatever
the program waited for. The reverse is not told: a copy that was done in time may have been so by
luck, which the simulated device sees.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor

from asyncguard.runtime import takeover
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch import transfers
from asyncguard.runtime.adapters.torch.accesses import HostMemory, access_of
from asyncguard.runtime.detours import Function
from asyncguard.runtime.faults import forget_this_frame
from asyncguard.runtime.hub import hub
from asyncguard.runtime.races import CopyRace, Mark, Races, Tell

__all__ = ["EventOrder", "RaceWatch"]

__warningregistry__ = None  # see `warned`
_MOST_EVENTS = 256  # that are kept before those that were reached are forgotten
_READS = ("numpy", "tolist")  # of tensors, past the operators


class Event(Protocol):
    """What is recorded behind a copy."""

    def query(self) -> bool:
        """Whether the device has come there."""


Record = Callable[[torch.device], "tuple[object, Event]"]


def record(device: torch.device) -> tuple[object, Event]:
    """The current stream of a device, and an event at its end."""
    stream = torch.cuda.current_stream(device)
    event = torch.cuda.Event()
    event.record(stream)
    return stream.cuda_stream, event


class _Next(threading.local):
    """The event behind the copy that a thread tells of next."""

    event: Event | None = None


class EventOrder:
    """As `races.Order`, of copies on a device: asks whether each is done, at the time of the use.

    Between copies on several streams nothing is known, and nothing is told.
    """

    def __init__(self) -> None:
        self._events: dict[tuple[object, int], Event] = {}
        self._ends: dict[object, int] = {}
        self.next = _Next()

    def enqueue(self, stream: object) -> int:
        """A copy is enqueued, with `next` behind it."""
        if len(self._events) >= _MOST_EVENTS:
            self._events = {at: event for at, event in self._events.items() if not event.query()}
        number = self._ends[stream] = self._ends.get(stream, 0) + 1
        if self.next.event is not None:
            self._events[stream, number] = self.next.event
        return number

    def is_known(self, stream: object, number: int, by: object = None) -> bool:
        """Whether a copy is done, or is to be taken for done."""
        event = self._events.get((stream, number))
        if by is not None or event is None:
            return True
        if event.query():
            del self._events[stream, number]
            return True
        return False

    def record(self, stream: object) -> Mark:
        """Nothing: waits are not looked at."""
        return {}

    def follow(self, stream: object, mark: Mark) -> None:
        """See `record`."""

    def wait(self, mark: Mark) -> None:
        """See `record`."""


class _Reads(private.TorchDispatchMode):  # type: ignore[misc]
    """Sees what operators of one thread use of the host's memory."""

    def __init__(self, memory: HostMemory) -> None:
        super().__init__()
        self._memory = memory
        self._known: dict[Any, tuple[Any, int]] = {}
        self.is_over = False

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It only looks on."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if not self.is_over:
            try:
                self._look(func, args, given)
            except CopyRace:
                raise
            except Exception as error:  # noqa: BLE001  the user's call must go on
                self.is_over = True
                hub.fail("races of copies", error)
        return func(*args, **given)

    def _look(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            access, arguments = self._known[func]
        except KeyError:
            schema = private.schema(func)
            arguments = len(schema.arguments) if schema is not None else 0
            access = access_of(func)
            self._known[func] = access, arguments
        if not access.reads:
            return
        found = list(_tensors(args, kwargs, arguments))
        if any(not tensor.is_cpu for _, tensor in found) and private.name_of(func)[0] in _COPIES:
            return  # a copy between host and device, which hooks see
        for at, tensor in found:
            if tensor.is_cpu:
                self._memory.operated(access, arguments, at, tensor)


_COPIES = frozenset({"aten::copy_", "aten::_to_copy"})


def _tensors(
    args: tuple[Any, ...], kwargs: dict[str, Any], arguments: int
) -> Iterator[tuple[int, Tensor]]:
    """Tensors with their positions; those by keyword are beyond all of these."""
    for at, value in (*enumerate(args), *((arguments, each) for each in kwargs.values())):
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, Tensor):
                yield at, part


class RaceWatch:
    """Watches copies in all threads, and operators in the one that starts it.

    tell: what is done with a race; record: what records an event behind a copy.
    """

    def __init__(self, tell: Tell, record: Record = record) -> None:
        self._order = EventOrder()
        self.races = Races(tell, self._order)
        self._memory = HostMemory(self.races)
        self._record = record
        self._mode = _Reads(self._memory)
        filling = functools.partial(self._copying, in_place=True)
        makers: dict[str, takeover.Make] = {
            "to": self._copying,
            "cuda": self._copying,
            "copy_": filling,
        }
        makers |= dict.fromkeys(_READS, self._reading)
        self._hooks = takeover.Batch(
            takeover.Hold(takeover.target(getattr(Tensor, name)), takeover.Layer(make))
            for name, make in makers.items()
        )

    def start(self) -> None:
        """Begin to watch."""
        self._hooks.put()
        private.push_mode(self._mode)

    def stop(self) -> None:
        """End it, in the thread that began it."""
        self._mode.is_over = True
        if private.current_dispatch_mode() is self._mode:
            private.pop_mode()
        self._hooks.take_off()

    def _copying(self, original: Function, in_place: bool = False) -> Function:
        """The hook around what may copy without holding the host."""

        def hook(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
                if kwargs.get("non_blocking") or any(each is True for each in args):
                    source = _source(args, kwargs) if in_place else args[0]
                    target = args[0] if in_place else result
                    self._guarded(self._copied, source, target, in_place)
                return result
            except BaseException as error:
                forget_this_frame(error)
                raise

        return hook

    def _reading(self, original: Function) -> Function:
        """The hook around what reads memory past the operators."""

        def hook(*args: Any, **kwargs: Any) -> Any:
            try:
                if args and isinstance(args[0], Tensor) and args[0].is_cpu:
                    self._guarded(self._memory.used, args[0], writes=False)
                return original(*args, **kwargs)
            except BaseException as error:
                forget_this_frame(error)
                raise

        return hook

    def _guarded(self, look: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        try:
            look(*args, **kwargs)
        except CopyRace:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            hub.fail("races of copies", error)

    def _copied(self, source: Any, target: Any, in_place: bool) -> None:
        """A copy has been enqueued that was told not to block."""
        if not (isinstance(source, Tensor) and isinstance(target, Tensor)) or target is source:
            return
        if source.is_cpu == target.is_cpu or not target.numel():
            return
        fills = target.is_cpu
        host = target if fills else source
        held = transfers.download_held if fills else transfers.upload_held
        if not host.is_pinned() or held(source, target) is not None:
            return
        stream, self._order.next.event = self._record((source if fills else target).device)
        name = "Tensor.copy_" if in_place else "Tensor.to"
        self._memory.copied(host, stream, fills=fills, name=name)


def _source(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("src")
