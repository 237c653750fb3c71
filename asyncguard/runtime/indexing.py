"""What sort of subscript can make a framework wait.

The catalogue names the sorts (`catalogue.OPERATORS`); a framework's adapter says what a device
value and what a mask are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

NOTHING: frozenset[str] = frozenset()
_PLAIN = frozenset({int, type(None), type(Ellipsis), bool, str})

Test = Callable[[Any], bool]


def operators(args: tuple[Any, ...], on_device: Test, is_mask: Test) -> frozenset[str]:
    """The sorts that `x[index]` (args: x, index) or `x[index] = value` (x, index, value) belong to.

    Integers, None, Ellipsis and slices of integers never wait, and are told apart at once.
    """
    index = args[1]
    kind = type(index)
    if len(args) == 2 and (kind in _PLAIN or (kind is slice and not _bounds(index))):
        return NOTHING
    parts = index if kind is tuple else (index,)
    found = {sort for part in parts for sort in _sorts(part, args, on_device, is_mask)}
    if len(args) > 2 and _is_host_array(args[2], on_device):
        found.add("host-write")
    return frozenset(found)


def _bounds(part: slice) -> list[Any]:
    """The bounds that are no plain numbers."""
    limits = (part.start, part.stop, part.step)
    return [limit for limit in limits if type(limit) not in _PLAIN]


def _sorts(part: Any, args: tuple[Any, ...], on_device: Test, is_mask: Test) -> Iterator[str]:
    if type(part) in _PLAIN:
        return
    writes = len(args) > 2
    if isinstance(part, slice):
        if any(on_device(bound) for bound in _bounds(part)):
            yield "slice-bound"
    elif not on_device(part):
        if hasattr(part, "__len__"):
            yield "index-upload"
    elif is_mask(part):
        # One value for all chosen elements is filled in without asking how many there are.
        if not writes:
            yield "mask-read"
        elif on_device(args[2]) and args[2].ndim:
            yield "mask-write"
    else:
        yield "index-upload"  # if it is on the host: the probe compares devices
        if writes and isinstance(args[2], bool | int | float | complex):
            yield "scalar-write"


def _is_host_array(value: Any, on_device: Test) -> bool:
    return hasattr(value, "__array__") and not on_device(value)
