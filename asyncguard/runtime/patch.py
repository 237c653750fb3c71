"""Finding attributes by dotted paths, and setting some until the last trace ends.

Stands at the bottom of the runtime: knows modules, classes and attributes, and nothing of
frameworks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.runtime import slots

MISSING: Any = object()


@dataclass(frozen=True)
class Place:
    """Where a dotted path leads: an attribute of a module or a class that is loaded already."""

    owner: Any
    name: str

    def __str__(self) -> str:
        of = getattr(self.owner, "__qualname__", "")
        module = getattr(self.owner, "__module__" if of else "__name__", "")
        return ".".join(part for part in (module, of, self.name) if part)

    @property
    def key(self) -> tuple[int, str]:
        """What tells places apart: the owner itself, not what it compares equal to."""
        return id(self.owner), self.name

    def raw(self) -> Any:
        """What the owner's own namespace holds, descriptors unbound; MISSING where inherited."""
        return vars(self.owner).get(self.name, MISSING)

    def effective(self) -> Any:
        """What the attribute is, its own or inherited, descriptors unbound; MISSING if nowhere."""
        for owner in self.owner.__mro__ if isinstance(self.owner, type) else (self.owner,):
            if self.name in vars(owner):
                return vars(owner)[self.name]
        return MISSING

    def sight(self) -> Iterator[tuple[Mapping[str, Any], str, Any]]:
        """Each namespace that is looked at for the attribute, the name, and what it holds there.

        As long as they hold the same, so is the attribute.
        """
        for owner in self.owner.__mro__ if isinstance(self.owner, type) else (self.owner,):
            names = vars(owner)
            yield names, self.name, names.get(self.name, MISSING)
            if self.name in names:
                return


@dataclass(frozen=True)
class NotLoaded:
    """A dotted path that leads into a module which nobody has imported yet."""

    module: str


def find(path: str) -> Place | NotLoaded:
    """Follow a dotted path through loaded modules and classes, importing nothing.

    Namespaces are read directly: asking a module by `getattr` may import a lazy submodule.
    """
    parts = path.split(".")
    depth = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in sys.modules), 0)
    if not depth:
        return NotLoaded(parts[0])
    owner: Any = sys.modules[".".join(parts[:depth])]
    for index, part in enumerate(parts[depth:-1], start=depth):
        step = Place(owner, part).effective()
        if step is MISSING:
            return NotLoaded(".".join(parts[: index + 1]))
        owner = step
    return Place(owner, parts[-1])


class Patcher:
    """Replaces attributes; `restore` undoes everything, the newest first."""

    def __init__(self) -> None:
        self._undo: dict[tuple[int, str], tuple[Place, Any, Any]] = {}  # (owner, name) -> old, new

    def replace(self, place: Place, new: Any) -> None:
        """Put `new` in place. Raises TypeError where the owner is an immutable C type."""
        old = place.raw()
        _set(place, new)
        self._undo[place.key] = (place, old, new)

    def holds(self, place: Place) -> bool:
        """Whether this patcher has replaced the attribute."""
        return place.key in self._undo

    def restore(self) -> tuple[Place, ...]:
        """Put every old object back; where it had been inherited, delete ours.

        An attribute that somebody else has replaced meanwhile is theirs to restore, and one may
        refuse to be set by now: such are left, and returned.
        """
        left = []
        while self._undo:
            _, (place, old, new) = self._undo.popitem()
            if place.raw() is not new:
                left.append(place)
                continue
            try:
                _set(place, old)
            except (AttributeError, TypeError):
                left.append(place)
        return tuple(left)


def _set(place: Place, value: Any) -> None:
    """Set the attribute; MISSING: delete it. Classes that are no sequences to C code stay none."""
    owner, name = place.owner, place.name
    empty = slots.empties(owner, name) if isinstance(owner, type) else ()
    if value is MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    for _, slot in empty:
        slot.value = None
