"""Copies on the simulated device: how long they take, and which of them are in flight when."""

from __future__ import annotations

from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch import transfers as rules
from asyncguard.runtime.adapters.torch.accesses import HostMemory
from asyncguard.sim.captures import captures
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.places import PINNED, bearer_of, mark_of


class Transfers:
    """Enqueues copies, and keeps track of those that go on while the host does.

    How long the host waits for one is for the catalogue to say.
    """

    def __init__(self, machine: Machine, costs: Costs) -> None:
        self._machine = machine
        self._costs = costs
        self._host = HostMemory(machine.races, bearer_of)

    def send(
        self,
        target: Tensor,
        source: Tensor | None,
        place: Device | None,
        origin: Device | None,
        non_blocking: bool,
        name: str,
    ) -> None:
        """Fill `target` on `place` from `source` on `origin` (None: the host).

        source: None: what is no tensor. name: of the call, for who is told of a race.
        """
        with private.DisableTorchFunctionSubclass():
            if place is not None and origin is not None:
                self._between(target, place, origin)
            elif place is not None:
                self._up(target, source, place, non_blocking, name)
            elif origin is not None and source is not None:
                self._down(target, source, origin, non_blocking, name)

    def _between(self, target: Tensor, place: Device, origin: Device) -> None:
        """From one device to another: each one's stream waits for the other's."""
        self._machine.enqueue(self._costs.peer(_nbytes(target)), "copy", place)
        order = self._machine.races.order
        there, here = self._machine.stream(place.index), self._machine.stream(origin.index)
        order.follow(here, order.record(there))
        order.follow(there, order.record(here))

    def _up(
        self, target: Tensor, source: Tensor | None, place: Device, non_blocking: bool, name: str
    ) -> None:
        machine, pinned = self._machine, source is not None and mark_of(source) is PINNED
        direct = pinned and source is not None and _is_sent_itself(source, target, non_blocking)
        machine.enqueue(self._costs.transfer(_nbytes(target), direct), "copy", place)
        stream = machine.stream(place.index)
        if captures.of(stream) is not None:
            return  # nothing is copied before the graph runs
        if source is not None and pinned and source.numel():
            if not direct:
                self._host.used(source, writes=False)  # it is made one block, or converted, first
            elif non_blocking:
                self._host.copied(source, stream, fills=False, name=name)
            else:
                self._host.sent(source, stream)
        if not non_blocking:
            machine.races.order.wait(machine.races.order.record(stream))

    def _down(
        self, target: Tensor, source: Tensor, origin: Device, non_blocking: bool, name: str
    ) -> None:
        machine, pinned = self._machine, mark_of(target) is PINNED
        held = not non_blocking or rules.download_held(source, target) is not None
        machine.enqueue(self._costs.transfer(_nbytes(target), pinned), "copy", origin)
        stream = machine.stream(origin.index)
        if not target.numel() or captures.of(stream) is not None:
            return
        if not held:
            self._host.copied(target, stream, fills=True, name=name)
            return
        machine.races.order.wait(machine.races.order.record(stream))
        if pinned:
            self._host.used(target, writes=True)


def _is_sent_itself(source: Tensor, target: Tensor, non_blocking: bool) -> bool:
    """Whether the device reads pinned memory itself: where it has to be made one block, it doesn't.

    Conversions are made on the host by copies that block, on the device by others.
    """
    if rules.are_alike(source, target) and source.dtype == target.dtype:
        return True
    same = non_blocking or source.dtype == target.dtype
    return bool(same and source.shape == target.shape and source.is_contiguous())


def _nbytes(tensor: Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())
