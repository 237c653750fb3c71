"""Read by each Python that a followed program starts, before anything else of that program.

It costs next to nothing until a framework is imported: only then is asyncguard. Where somebody
else's `sitecustomize` would have been read in its place, that is read next.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

VARIABLE = "ASYNCGUARD_CHILDREN"
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(HERE))


class Finder:
    """Finds nothing itself; once a framework is about to be imported, it lets the trace begin."""

    def __init__(self, modules: frozenset[str]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Begin where `name` is one of the modules; then let the other finders find it."""
        if name not in self._modules:
            return None
        sys.meta_path.remove(self)
        before = [*sys.path]
        sys.path.append(PACKAGES)  # asyncguard may have been found from another folder
        try:
            from asyncguard.startup.child import begin_with
        except ImportError:
            return None  # its libraries are not here
        finally:
            sys.path[:] = before
        begin_with(name)
        return importlib.import_module("importlib.util").find_spec(name)


def start() -> None:
    """Wait for a framework, if this is the Python whose processes are followed."""
    python, _, modules = os.environ.get(VARIABLE, "").partition("\n")[0].partition(",")
    if python == f"{sys.prefix} {sys.hexversion:x}":
        sys.meta_path.insert(0, Finder(frozenset(modules.split(","))))


def step_aside() -> None:
    """Let the program find `sys.path` as it would be without us, and another `sitecustomize`."""
    own = sys.modules.pop(__name__)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
    try:
        importlib.import_module(__name__)
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
    sys.modules.setdefault(__name__, own)


if __name__ == "sitecustomize":
    start()
    step_aside()
