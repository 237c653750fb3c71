"""What sort of subscript can make a framework wait.

The catalogue names the sorts (`catalogue.OPERATORS`); a framework's adapter says what a device
value and what a mask are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_PLAIN = frozenset({int, type(None), type(Ellipsis), bool, str})

Test = Callable[[Any], bool]


def is_plain(index: Any) -> bool:
    """Whether an index is made of integers, slices of integers, None and Ellipsis: never a wait."""
    kind = type(index)
    if kind in _PLAIN:
        return True
    if kind is slice:
        return (
            type(index.start) in _PLAIN
            and type(index.stop) in _PLAIN
            and type(index.step) in _PLAIN
        )
    if kind is tuple:
        return all(map(is_plain, index))
    return False


def operators(args: tuple[Any, ...], on_device: Test, is_mask: Test) -> frozenset[str]:
    """The sorts that `x[index]` (args: x, index) or `x[index] = value` (x, index, value) are of."""
    if len(args) < 2:  # a function of its own, called with keywords
        return frozenset()
    index = args[1]
    parts = index if isinstance(index, tuple) else (index,)
    found = {sort for part in parts for sort in _sorts(part, args, on_device, is_mask)}
    if len(args) > 2 and _is_host_array(args[2], on_device):
        found.add("host-write")
    return frozenset(found)


def _sorts(part: Any, args: tuple[Any, ...], on_device: Test, is_mask: Test) -> Iterator[str]:
    if is_plain(part):
        return
    writes = len(args) > 2
    if isinstance(part, slice):
        if on_device(part.start) or on_device(part.stop) or on_device(part.step):
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
    elif part.ndim == 0:
        yield "scalar-index"
    else:
        yield "index-upload"  # if it is on the host: the probe compares devices
        if writes and isinstance(args[2], bool | int | float | complex):
            yield "scalar-write"


def _is_host_array(value: Any, on_device: Test) -> bool:
    return hasattr(value, "__array__") and not on_device(value)
