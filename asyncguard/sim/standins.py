"""Putting stand-ins in the place of torch's functions, also where modules hold copies of these."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from asyncguard.runtime.patch import MISSING, Patcher, Place

_OWN = f"{__package__}."


class StandIns:
    """Replaces attributes; `restore` puts the very same objects back."""

    def __init__(self) -> None:
        self._patcher = Patcher()
        self._pairs: list[tuple[Any, Any]] = []  # functions and classes of modules: torch's, ours

    def place(self, replacements: Iterable[tuple[Place, Any]]) -> None:
        """Put all in place. Modules that took a function with `from torch import f` get ours."""
        for place, new in replacements:
            old = place.raw()
            if isinstance(place.owner, types.ModuleType) and callable(new):
                self._pairs.append((old, new))
            self._patcher.replace(place, new)
        ours = {id(old): new for old, new in self._pairs if old is not MISSING}
        for place, new in list(_copies(ours)):
            self._patcher.replace(place, new)

    def restore(self) -> None:
        """Take all away, also where a module has taken one of ours meanwhile."""
        self._patcher.restore()
        theirs = {id(new): old for old, new in self._pairs if old is not MISSING}
        for place, old in list(_copies(theirs)):
            setattr(place.owner, place.name, old)
        self._pairs.clear()


def _copies(swap: dict[int, Any]) -> Iterator[tuple[Place, Any]]:
    """Where modules hold one of these objects, by its id, and what belongs there instead.

    Those of the simulation keep what they have: stand-ins lie there, and what is stood in for.
    """
    for called, module in list(sys.modules.items()):
        if isinstance(module, types.ModuleType) and not called.startswith(_OWN):
            held = vars(module).copy()
            if not swap.keys().isdisjoint(map(id, held.values())):  # few modules: asked at once
                for name, value in held.items():
                    if id(value) in swap:
                        yield Place(module, name), swap[id(value)]


def class_like(own: type, make: Callable[..., Any], ours: type | None = None) -> type:
    """A class in the place of torch's own: it equals that as a key of tables.

    make: makes its instances, which are torch's own, or of the class `ours`.
    """
    kinds = (own,) if ours is None else (own, ours)

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return make(*args, **kwargs)

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, kinds)

        def __subclasscheck__(cls, other: type) -> bool:
            return other is cls or issubclass(other, kinds)

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is own

        def __hash__(cls) -> int:
            return hash(own)

    made = {"__module__": "torch", "__doc__": own.__doc__, "__wrapped__": own}
    return Meta(own.__name__, (), made)
