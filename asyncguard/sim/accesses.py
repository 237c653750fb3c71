"""Which operands an operator reads and writes on the host: what a race is about."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.races import Flight, Races, touches
from asyncguard.sim.places import bearer_of, set_beside

_FLIGHT = "_asyncguard_flight"
# Operators without a kernel of a device that look at values all the same.
_READERS = frozenset({"aten::equal", "aten::item", "aten::is_nonzero", "aten::allclose",
                      "aten::_pin_memory"})  # fmt: skip
# Of those that are told a device and make a tensor like another, the ones that read that.
_COPIERS = ("aten::_to_copy", "aten::to", "aten::_pin_memory", "aten::sparse_")


class Access(NamedTuple):
    """What one overload does with its tensors."""

    reads: bool  # whether it looks at values at all
    written: frozenset[int] = frozenset()  # positions of arguments that it writes
    writes_out: bool = False  # whether it writes what is given by keyword (`out=`)


def access_of(func: Any, name: str, launches: bool, takes_device: bool) -> Access:
    """Read an overload's schema."""
    schema = private.schema(func)
    reads = name in _READERS or (launches and (not takes_device or name.startswith(_COPIERS)))
    if schema is None:
        return Access(reads)
    written = [
        (at, argument.kwarg_only)
        for at, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return Access(
        reads or bool(written),
        frozenset(at for at, by_keyword in written if not by_keyword),
        any(by_keyword for _, by_keyword in written),
    )


class HostMemory:
    """The host's pinned memory, and the copies in flight that use it."""

    def __init__(self, races: Races) -> None:
        self.races = races

    def used(self, tensor: Tensor, *, writes: bool) -> None:
        """The host reads or writes a tensor; raises CopyRace where a copy is at it."""
        flight = getattr(bearer_of(tensor), _FLIGHT, None)
        if flight is not None and flight.copies:
            self.races.used(flight, lambda low, high: _touches(tensor, low, high), writes=writes)

    def copied(self, tensor: Tensor, stream: object, *, fills: bool, name: str) -> None:
        """A copy in flight uses the tensor, which is one block of pinned memory."""
        low = tensor.storage_offset() * tensor.element_size()
        high = low + tensor.numel() * tensor.element_size()
        self.races.copied(_flight_of(tensor), stream, low, high, fills=fills, name=name)

    def sent(self, tensor: Tensor, stream: object) -> None:
        """A copy reads the tensor, for which the host waits afterwards."""
        flight = getattr(bearer_of(tensor), _FLIGHT, None)
        if flight is not None and flight.copies:
            self.races.used(
                flight, lambda low, high: _touches(tensor, low, high), writes=False, by=stream
            )


def _flight_of(tensor: Tensor) -> Flight:
    bearer = bearer_of(tensor)
    flight = getattr(bearer, _FLIGHT, None)
    if flight is None:
        flight = Flight()
        set_beside(bearer, _FLIGHT, flight)
    return flight


def _touches(tensor: Tensor, low: int, high: int) -> bool:
    with private.DisableTorchFunctionSubclass():
        width = tensor.element_size()
        strides = tuple(stride * width for stride in tensor.stride())
        return touches(
            tensor.storage_offset() * width, tuple(tensor.shape), strides, width, low, high
        )
