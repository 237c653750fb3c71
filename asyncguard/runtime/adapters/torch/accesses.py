"""Which tensors operators read and write on the host, and which copies in flight use those."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.schemas import schema_of
from asyncguard.runtime.races import Flight, Races, touches

__all__ = ["Access", "HostMemory", "access_of", "keep", "storage_of"]

_FLIGHT = "_asyncguard_flight"
_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
# Operators that look at no values, though they return something new or change a tensor.
_BLIND = frozenset({
    "aten::is_pinned", "aten::lift_fresh", "aten::lift", "aten::is_same_size", "aten::detach",
    "aten::record_stream", "aten::resize_", "aten::resize_as_", "aten::set_", "aten::detach_",
    "aten::_reshape_alias", "aten::_unsafe_view", "aten::requires_grad_", "aten::empty_like",
    "aten::_has_same_storage_numel",
})  # fmt: skip
# Of those that are told a device and make a tensor like another, the ones that read that.
_COPIERS = ("aten::_to_copy", "aten::to", "aten::_pin_memory", "aten::sparse_")


class Access(NamedTuple):
    """What one overload does with its tensors."""

    reads: bool = False  # whether it looks at values at all
    written: frozenset[int] = frozenset()  # positions of arguments that it writes
    writes_out: bool = False  # whether it writes what is given by keyword (`out=`)


def access_of(func: Any) -> Access:
    """Read an overload's schema; of an operator of higher order, what it runs is seen by itself."""
    schema = schema_of(func)
    if schema is None or schema.name in _BLIND:
        return Access()
    copies = not schema.takes_device or schema.name.startswith(_COPIERS)
    by_keyword = {at for at in schema.written if schema.arguments[at].kwarg_only}
    return Access(
        bool(schema.written) or (schema.makes and copies),
        frozenset(schema.written) - by_keyword,
        bool(by_keyword),
    )


def storage_of(tensor: Tensor) -> Any:
    """What keeps the copies in flight of a tensor's memory; None: it has no such memory."""
    try:
        with private.DisableTorchFunctionSubclass():
            return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def keep(bearer: Any, name: str, value: object) -> None:
    """Let a storage, or a tensor that has none, keep something.

    The garbage collector shall not see the storage: in a cycle that is garbage, as `torch.save`
    leaves one, it would take that from the storage of a tensor that lives on. (What is kept leads
    to no storage, so that nothing is kept alive by this.)
    """
    setattr(bearer, name, value)
    if not isinstance(bearer, Tensor):
        _untrack(ctypes.py_object(bearer))


class HostMemory:
    """Pinned memory of the host, and the copies in flight that use it.

    These are kept by the memory itself: freed memory has none. (torch's allocator hands out no
    block anew before the copies that use it are done, so that freeing is no race.)
    """

    def __init__(self, races: Races, bearer_of: Callable[[Tensor], Any] = storage_of) -> None:
        self.races = races
        self._bearer_of = bearer_of

    def used(self, tensor: Tensor, *, writes: bool) -> None:
        """The host reads or writes a tensor."""
        flight = getattr(self._bearer_of(tensor), _FLIGHT, None)
        if flight is not None and flight.copies:
            self.races.used(flight, lambda low, high: _touches(tensor, low, high), writes=writes)

    def used_whole(self, storage: Any) -> None:
        """The host reads a whole storage."""
        flight = getattr(storage, _FLIGHT, None)
        if flight is not None and flight.copies:
            self.races.used(flight, lambda low, high: True, writes=False)

    def copied(self, tensor: Tensor, stream: object, *, fills: bool, name: str) -> None:
        """A copy in flight uses the tensor, which is one block of pinned memory."""
        bearer = self._bearer_of(tensor)
        if bearer is None:
            return
        flight = getattr(bearer, _FLIGHT, None)
        if flight is None:
            flight = Flight()
            keep(bearer, _FLIGHT, flight)
        low = tensor.storage_offset() * tensor.element_size()
        high = low + tensor.numel() * tensor.element_size()
        self.races.copied(flight, stream, low, high, fills=fills, name=name)

    def sent(self, tensor: Tensor, stream: object) -> None:
        """A copy reads the tensor, for which the host waits afterwards."""
        flight = getattr(self._bearer_of(tensor), _FLIGHT, None)
        if flight is not None and flight.copies:
            self.races.used(
                flight, lambda low, high: _touches(tensor, low, high), writes=False, by=stream
            )

    def operated(self, access: Access, arguments: int, at: int, tensor: Tensor) -> None:
        """An operator on the host takes the tensor, by position; by keyword from `arguments` on."""
        writes = at in access.written or (access.writes_out and at >= arguments)
        if writes or access.reads:
            self.used(tensor, writes=writes)


def _touches(tensor: Tensor, low: int, high: int) -> bool:
    with private.DisableTorchFunctionSubclass():
        width = tensor.element_size()
        strides = tuple(stride * width for stride in tensor.stride())
        return touches(
            tensor.storage_offset() * width, tuple(tensor.shape), strides, width, low, high
        )
