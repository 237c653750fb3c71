"""Values on their way to the host: what starts a copy, and what is known of one that is under way.

`asyncguard.later` takes a nesting apart and hands each framework's arrays to that framework's
`Copier`, which its adapter makes. A copier starts as few transfers as it can and never waits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import prod
from typing import Any, Protocol, TypeVar

from asyncguard.runtime.hub import Collector, state

RESULT = "asyncguard.Handle.result"  # the catalogue's entry for a wait for a copy
Shape = tuple[int, ...]
Slotted = Sequence[tuple[int, Any]]  # arrays, each with the place that its value goes to
K = TypeVar("K", bound=Hashable)


class Copy(Protocol):
    """One transfer under way. `reports` says whether `wait` reports itself as a wait."""

    reports: bool

    @property
    def slots(self) -> Sequence[int]:
        """The places of the values that it brings, in their order."""

    @property
    def source(self) -> Any:
        """A device value whose device is the one that is waited for."""

    def done(self) -> bool:
        """Whether the values can be fetched without a wait; does not wait itself."""

    def wait(self) -> None:
        """Wait until they can be. Raises what computing them raised."""

    def fetch(self) -> list[Any]:
        """Give the values, numbers and NumPy arrays of their own; called once, when it is done."""


class Copier(Protocol):
    """Starts copies of one framework's arrays."""

    framework: str

    def takes(self, kind: type) -> bool:
        """Whether values of this type are arrays of the framework."""

    def start(self, arrays: Slotted) -> Iterable[Copy]:
        """Enqueue copies of the arrays as they are now. Raises TypeError for what has no values."""


class Arrived:
    """A copy that was made at once."""

    reports = False
    source = None

    def __init__(self, slots: Sequence[int], values: list[Any]) -> None:
        self.slots = slots
        self._values = values

    def done(self) -> bool:
        """It is."""
        return True

    def wait(self) -> None:
        """Nothing is waited for."""

    def fetch(self) -> list[Any]:
        """The values."""
        return self._values


class Quiet:
    """A block of asyncguard's own work: no call inside it is a wait of the user's."""

    __slots__ = ("_before", "_doing")

    def __enter__(self) -> None:
        doing = self._doing = state.doing
        self._before: tuple[bool, Collector | None] = doing.waiting, doing.around
        doing.waiting, doing.around = True, None

    def __exit__(self, *_: object) -> None:
        self._doing.waiting, self._doing.around = self._before


def grouped(keyed: Iterable[tuple[K, int, Any]]) -> Iterable[tuple[K, list[int], list[Any]]]:
    """Gather (key, slot, array) by key: each key with its slots and its arrays."""
    groups: dict[K, tuple[list[int], list[Any]]] = {}
    for key, slot, array in keyed:
        group = groups.get(key)
        if group is None:
            groups[key] = [slot], [array]
        else:
            group[0].append(slot)
            group[1].append(array)
    return ((key, slots, arrays) for key, (slots, arrays) in groups.items())


def on_host(array: Any) -> Any:
    """The value of a NumPy array: a number where it has no axes, else an array of its own.

    A dtype that NumPy itself lacks (bfloat16, float8) becomes float32, which holds all its values.
    """
    if array.dtype.isbuiltin == 2:  # registered by another package
        array = array.astype("float32")
    return array.copy() if array.ndim else array.item()


def unpacked(flat: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values of arrays of these shapes that lie one after another in a NumPy array."""
    if flat.dtype.isbuiltin == 2:
        flat = flat.astype("float32")
    if not any(shapes):
        numbers: list[Any] = flat.tolist()
        return numbers
    values, at = [], 0
    for shape in shapes:
        size = prod(shape)
        values.append(on_host(flat[at : at + size].reshape(shape)))
        at += size
    return values
