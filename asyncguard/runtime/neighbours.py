"""Modules of the program that are called like libraries of ours: each side meets its own.

A `rich.py` beside the script is what the script imports by that name, though a report of ours needs
the library; and a library that is loaded for us is not what the script finds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_KEPT = frozenset({"__main__", "asyncguard"}) | sys.stdlib_module_names


class Neighbours:
    """The modules in the folder from which a program imports first."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._ours: dict[str, ModuleType] = {}

    def step_aside(self) -> None:
        """Forget those modules loaded for us whose names the folder has; ours keep their own."""
        names = {name for name in _tops() if self._defines(name) and not self._holds(name)}
        self._ours = _taken(names)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Import as if the folder were not there."""
        theirs = _taken({name for name in _tops() if self._holds(name)})
        path, sys.path = sys.path, [entry for entry in sys.path if entry != self._folder]
        sys.modules.update(self._ours)
        try:
            yield
        finally:
            sys.path = path
            _taken({name.partition(".")[0] for name in (*theirs, *self._ours)})
            sys.modules.update(theirs)

    def _defines(self, name: str) -> bool:
        inside = os.path.join(self._folder, name)
        return os.path.isfile(f"{inside}.py") or os.path.isfile(f"{inside}/__init__.py")

    def _holds(self, name: str) -> bool:
        """Whether a module lies in the folder itself: not in an environment below it."""
        file = getattr(sys.modules[name], "__file__", None)
        if not isinstance(file, str):
            return False
        inside = os.path.dirname(os.path.abspath(file))
        if os.path.basename(file) == "__init__.py":
            inside = os.path.dirname(inside)
        return inside == self._folder


def _tops() -> list[str]:
    return [name for name in list(sys.modules) if "." not in name and name not in _KEPT]


def _taken(tops: set[str]) -> dict[str, ModuleType]:
    """Take modules out of `sys.modules`, with all below them."""
    names = [name for name in list(sys.modules) if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}
