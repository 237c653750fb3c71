"""Names of frameworks that modules of a project hand on: `import cupy as xp` in its settings.

A text tells them, without a tree: `from pkg.settings import xp` is as good as the import there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from asyncguard import files
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.naming import INIT
from asyncguard.lint.modules.outline import absolute
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.lint.source.imports import Imported, imports_in

HOPS = 4  # modules between a name's use and its framework: mostly one or two
Bound = Mapping[str, tuple[str, ...]]  # by name, the dotted names that it stands for: one a path


class ReExports:
    """What the modules of a project import from frameworks, as far as that was asked."""

    def __init__(self, modules: Mapping[str, str], knowledge: Knowledge) -> None:
        self.modules = modules
        self.knowledge = knowledge
        self.names = {path: name for name, path in reversed(list(modules.items()))}
        self._bound: dict[str, Bound] = {}  # by the files that were asked about

    def of(self, path: str, name: str, hops: int = HOPS) -> str:
        """Return what a file's own import of a framework binds to a name, by its full name, or "".

        Where one path has it from NumPy, for want of the framework, the framework counts.
        """
        if f"{self.names.get(path)}.{name}" in self.modules:
            return ""  # a module of its own
        found = [self._origin(path, full, hops) for full in self._in(path).get(name, ())]
        return min(filter(None, found), key=self._is_of_numpy, default="")

    def used_in(self, path: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a text has from other files: the file, and the name of a framework, or "".

        It imports that by its name, or takes it of a module: `backend.xp.sum(x)`.
        """
        for bound, origins in self._imports(path, text).items():
            if not any(use in text for use in (f"{bound}.", f"{bound}(", f"@{bound}")):
                continue  # it is handed on, as a package does with most of what it imports
            for full in (name for origin in origins for name in self._taken(bound, origin, text)):
                module, name = _parted(full)
                other = self.modules.get(module, path)
                if other != path:
                    yield other, self.of(other, name)

    def _taken(self, bound: str, full: str, text: str) -> Iterator[str]:
        """Yield what is imported, and what the text takes of it if it uses a framework."""
        yield full
        whole = self.modules.get(full)
        if whole is not None and self._names_frameworks(self._in(whole)):
            yield from (f"{full}.{name}" for name in _taken_of(bound, text))

    def _origin(self, path: str, full: str, hops: int) -> str:
        """Return the framework's name that an imported one stands for, by however many files."""
        if self.knowledge.framework_of(full):
            return full
        module, name = _parted(full)
        other = self.modules.get(module, path)
        return self.of(other, name, hops - 1) if other != path and hops else ""

    def _is_of_numpy(self, full: str) -> bool:
        return self.knowledge.framework_of(full) == "numpy"

    def _in(self, path: str) -> Bound:
        """Return what a file imports and others may import from it: nothing that it defines."""
        if path not in self._bound:
            try:
                text = decode(files.read(path))
            except (OSError, SourceError):
                text = ""
            found = self._imports(path, text)
            if self._names_frameworks(found):  # as few do; the rest takes longer
                _add_assigned(text, found)
                for name in _DEFINED.findall(text):
                    found.pop(name, None)
            self._bound[path] = found
        return self._bound[path]

    def _names_frameworks(self, found: Bound) -> bool:
        """Whether a file imports anything of a framework itself."""
        origins = (full for origins in found.values() for full in origins)
        return any(self.knowledge.framework_of(full) not in ("", "numpy") for full in origins)

    def _imports(self, path: str, text: str) -> dict[str, tuple[str, ...]]:
        """Return what the imports of a text bind, of frameworks and of checked modules."""
        found: dict[str, tuple[str, ...]] = {}
        for imported in imports_in(text):
            full = self._full(path, imported)
            if self.knowledge.framework_of(full) or not self.modules.keys().isdisjoint(
                (full, _parted(full)[0])
            ):
                found[imported.bound] = (*found.get(imported.bound, ()), full)
        return found

    def _full(self, path: str, imported: Imported) -> str:
        """Return the full name of what is imported; a script finds what lies beside it."""
        name = self.names.get(path, "")
        package = name if os.path.basename(path) == INIT else name.rpartition(".")[0]
        inner = imported.module.lstrip(".")
        module = absolute(len(imported.module) - len(inner), inner, package)
        beside = f"{package}.{module}"
        if package and module not in self.modules and beside in self.modules:
            module = beside
        return ".".join(filter(None, (module, imported.name)))


def _parted(full: str) -> tuple[str, str]:
    """Return the module that a dotted name is in, and its last part."""
    module, _, name = full.rpartition(".")
    return module, name


def _taken_of(module: str, text: str) -> list[str]:
    """Return what a text takes of a module, each once, in order."""
    found = re.findall(rf"(?<![\w.]){re.escape(module)}\.(\w+)", text)
    return list(dict.fromkeys(found))


_DEFINED = re.compile(r"^[ \t]*(?:class|def)[ \t]+(\w+)", re.MULTILINE)
_ASSIGNED = re.compile(
    r"^[ \t]*(\w+)[ \t]*=[ \t]*(\w+)(?:[ \t]+if[ \t][^\n]*[ \t]else[ \t]+(\w+))?[ \t]*(?:#|$)",
    re.MULTILINE,
)


def _add_assigned(text: str, imports: dict[str, tuple[str, ...]]) -> None:
    """Add the variables that a text sets to what it imports: `xp = cp if use_gpu else np`."""
    known = frozenset(imports)
    for bound, *others in _ASSIGNED.findall(text):
        chosen = [name for name in others if name]
        if known.issuperset(chosen):
            for name in chosen:
                imports[bound] = (*imports.get(bound, ()), *imports[name])
