"""What sort of subscript can make a framework wait.

The catalogue names the sorts (`catalogue.OPERATORS`); a framework's adapter says what a device
value and what a mask are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_PLAIN = frozenset({int, type(None), type(Ellipsis), bool, str})

Test = Callable[[Any], bool]
Test2 = Callable[[Any, Any], bool]


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


class Place(NamedTuple):
    """What a framework knows of the values of a subscript."""

    on_device: Test  # whether it is a value of the framework
    is_mask: Test  # whether such a value chooses elements by truth
    # Whether the first, such a value, is in host memory and the second, what is indexed, is not.
    is_away: Test2 = lambda value, owner: False
    # Whether a mask fills the first into the second without asking how many elements it chooses;
    # None: it does so with all but such values that have dimensions.
    fills: Test2 | None = None
    # Whether such a value without dimensions is read as a number where it is an index.
    is_read: Test = lambda value: True
    # Whether a number that is written to one element of such a value is sent to where that is.
    sends_numbers: Test = lambda owner: False

    def is_filled(self, value: Any, owner: Any) -> bool:
        """Whether a mask fills `value` in without a wait."""
        if self.fills is not None:
            return self.fills(value, owner)
        return not (self.on_device(value) and value.ndim)


def operators(args: tuple[Any, ...], place: Place) -> Counter[str]:
    """The sorts that `x[index]` (args: x, index) or `x[index] = value` (x, index, value) are of.

    Each with how many parts of the index, and how many bounds of slices, are of it.
    """
    if len(args) < 2:  # a function of its own, called with keywords
        return Counter()
    index = args[1]
    parts = index if isinstance(index, tuple) else (index,)
    found = Counter(sort for part in parts for sort in _sorts(part, args, place))
    if len(args) > 2:
        found.update(_sorts_of_write(args[2], args[0], parts, place))
        if _is_number(args[2]) and found["index-upload"]:
            found["scalar-write"] = 1
    return found


def times(found: Counter[str]) -> int:
    """How often a subscript waits that is of these sorts: for each part, but a mask that fills."""
    return max(1, found.total() - found["mask-fill"])


def _sorts_of_write(value: Any, owner: Any, parts: tuple[Any, ...], place: Place) -> Iterator[str]:
    """The sorts that a write is of for what is written."""
    if _comes_from_host(value, owner, place):
        masked = any(place.on_device(part) and place.is_mask(part) for part in parts)
        if not (masked and place.is_filled(value, owner)):
            yield "host-write"
    if _sends_number(value, owner, parts, place):
        yield "number-write"


def _sends_number(value: Any, owner: Any, parts: tuple[Any, ...], place: Place) -> bool:
    """Whether a number, or an array of the host's without dimensions, is sent to one element.

    Where it meets no dimension, it is copied as an array of none; elsewhere it fills.
    """
    if not place.sends_numbers(owner):
        return False
    if not (_is_number(value) or (place.on_device(value) and place.is_away(value, owner))):
        return False
    chosen = [part for part in parts if part is not Ellipsis]
    return (
        len(chosen) == owner.ndim
        and not getattr(value, "ndim", 0)
        and all(_is_one(part, place) for part in chosen)
    )


def _is_one(part: Any, place: Place) -> bool:
    """Whether a part of an index chooses one place of a dimension: a number of either's."""
    if place.on_device(part):
        return not (part.ndim or place.is_mask(part)) and place.is_read(part)
    return hasattr(part, "__index__") and not isinstance(part, bool)


def _comes_from_host(value: Any, owner: Any, place: Place) -> bool:
    """Whether what is written is an array in host memory that has to be sent to the device."""
    if place.on_device(value):
        return place.is_away(value, owner) and bool(value.ndim)
    return hasattr(value, "__array__")


def _sorts(part: Any, args: tuple[Any, ...], place: Place) -> Iterator[str]:
    if is_plain(part):
        return
    if isinstance(part, slice):
        yield from _sorts_of_slice(part, args, place)
    elif not place.on_device(part):
        if hasattr(part, "__len__"):
            yield "index-upload"
            if _holds_truths(part):  # sent, and then counted where it is
                yield "index-upload"
    elif place.is_mask(part):
        yield from _sorts_of_mask(part, args, place)
    elif part.ndim == 0:
        if place.is_read(part) and not place.is_away(part, args[0]):  # the host's is read at once
            yield "scalar-index"
    elif place.is_away(part, args[0]):
        yield "index-upload"
    elif len(args) > 2 and _is_number(args[2]):
        yield "scalar-write"


def _sorts_of_slice(part: slice, args: tuple[Any, ...], place: Place) -> Iterator[str]:
    """Each bound on the device is read."""
    for bound in (part.start, part.stop, part.step):
        if place.on_device(bound) and not place.is_away(bound, args[0]):
            yield "slice-bound"


def _sorts_of_mask(mask: Any, args: tuple[Any, ...], place: Place) -> Iterator[str]:
    """A mask in host memory is counted there, and its indices are sent without waiting."""
    away = place.is_away(mask, args[0])
    if len(args) < 3:
        if not away:
            yield "mask-read"
    elif away:
        if _is_number(args[2]):
            yield "scalar-write"
    elif not place.is_filled(args[2], args[0]):
        yield "mask-fill" if _is_number(args[2]) else "mask-write"


def _holds_truths(part: Any) -> bool:
    """Whether a list or an array in host memory is a mask."""
    kind = getattr(part, "dtype", None)
    if kind is not None:
        return bool(getattr(kind, "kind", "") == "b")
    return isinstance(part, list) and bool(part) and isinstance(part[0], bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex)
