"""Packages whose lines count as the user's own while a trace runs, as in tests of a library.

Installed packages rank below the user's code, so a wait inside one is charged to the line that
called it. Ranks are the process's, so all traces that run meanwhile see a package as the user's.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder

from asyncguard.model import AsyncguardError
from asyncguard.runtime import sites
from asyncguard.runtime.hub import hub
from asyncguard.runtime.sinks import Sink


class Owned:
    """Ranks packages, named as they are imported, as the user's between `start` and `stop`.

    Imports none of them. Raises AsyncguardError where there is no such package.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._prefixes = tuple(prefix for name in names for prefix in _prefixes(name))
        self._listener = Sink()

    def start(self) -> None:
        """Begin; another listener keeps reads from the short way, which takes lines for granted."""
        hub.add(self._listener)
        sites.rank_as_users(self._prefixes)

    def stop(self) -> None:
        """Let them rank as before."""
        sites.rank_as_before(self._prefixes)
        hub.remove(self._listener)


def _prefixes(name: str) -> tuple[str, ...]:
    """How the names of all files of a package begin."""
    spec = _spec(name)
    if spec is not None and spec.submodule_search_locations:
        return tuple(os.path.join(place, "") for place in spec.submodule_search_locations)
    if spec is None or not spec.has_location or spec.origin is None:
        raise AsyncguardError(
            f"own: there is no package {name!r}: name it as `import` does, in an environment that"
            " has it (what lies beside your script is yours already)"
        )
    return (spec.origin,)


def _spec(name: str) -> ModuleSpec | None:
    """Where a package is, found without importing the ones around it."""
    top, *inner = name.split(".")
    try:
        spec = importlib.util.find_spec(top) if top else None
    except ValueError:  # a module without a spec, as __main__
        return None
    for at in range(len(inner)):
        within = spec.submodule_search_locations if spec is not None else None
        if within is None:
            return None
        spec = PathFinder.find_spec(".".join((top, *inner[: at + 1])), within)
    return spec
