"""Noticing imports: calls back right after a watched module has been imported.

A finder at the head of `sys.meta_path` that finds nothing itself. It is there only while something
is watched. The module's spec and loader are what they would have been.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import threading
import types
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from asyncguard import compat


class Watcher(importlib.abc.MetaPathFinder):
    """Calls `imported(name)` after each import of a watched module."""

    def __init__(self, imported: Callable[[str], None]) -> None:
        self._imported = imported
        self._names: frozenset[str] = frozenset()
        self._busy = threading.local()

    def watch(self, names: frozenset[str]) -> None:
        """Watch for exactly these modules from now on; none: step out of the way."""
        self._names = names
        if names and self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        elif not names and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Let the other finders find the module, and wrap its loader."""
        if fullname not in self._names or getattr(self._busy, "name", None) == fullname:
            return None
        self._busy.name = fullname
        try:
            spec = find_spec(fullname)
        finally:
            self._busy.name = None
        if spec is not None and hasattr(spec.loader, "exec_module"):
            compat.before_import(fullname)
            assert spec.loader is not None
            spec.loader = _Loader(spec.loader, self._imported)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as the real loader does, puts it back in its place, and calls back."""

    def __init__(self, loader: importlib.abc.Loader, imported: Callable[[str], None]) -> None:
        self._loader = loader
        self._imported = imported

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        spec.loader = self._loader
        try:
            return self._loader.create_module(spec)
        finally:
            spec.loader = self

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._imported(module.__name__)
