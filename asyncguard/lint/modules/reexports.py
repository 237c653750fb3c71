"""Names of frameworks that modules of a project hand on: `import cupy as xp` in its settings.

A text tells them, without a tree: `from pkg.settings import xp` is as good as the import there.
A name is looked for where it is asked for, since most are functions that a module defines itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from asyncguard import files
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.naming import INIT, package_around
from asyncguard.lint.source.decode import SourceError, decode, frameworks_in, lines_with
from asyncguard.lint.source.imports import Imported, imports_in, module_of

HOPS = 4  # modules between a name's use and its framework: mostly one or two


class ReExports:
    """What the modules of a project import from frameworks, as far as that was asked."""

    def __init__(self, modules: Mapping[str, str], knowledge: Knowledge) -> None:
        self.modules = modules
        self.knowledge = knowledge
        self.names = {path: name for name, path in reversed(list(modules.items()))}
        self._texts: dict[str, str] = {}  # of the files that were asked about
        self._imports: dict[str, dict[str, list[Imported]]] = {}  # of these, by the names bound
        self._known: dict[tuple[str, str], list[str]] = {}  # of a file's name, where it is from

    def of(self, path: str, name: str, hops: int = HOPS) -> str:
        """Return what a file's own import of a framework binds to a name, by its full name, or "".

        Where one path has it from NumPy, for want of the framework, the framework counts.
        """
        if f"{self.names.get(path)}.{name}" in self.modules:
            return ""  # a module of its own
        if (path, name) not in self._known:
            self._known[path, name] = self._handed_on(path, name)
        found = [self._origin(path, full, hops) for full in self._known[path, name]]
        return min(filter(None, found), key=self._is_of_numpy, default="")

    def used_in(self, path: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield what a text has from other files: the file, and the name of a framework, or "".

        It imports that by its name, or takes it of a module: `backend.xp.sum(x)`.
        """
        for bound, imports in _by_name(text).items():
            if not any(use in text for use in (f"{bound}.", f"{bound}(", f"@{bound}")):
                continue  # it is handed on, as a package does with most of what it imports
            origins = (self._full(path, one) for one in imports)
            for full in (name for origin in origins for name in self._taken(bound, origin, text)):
                module, name = _parted(full)
                other = self.modules.get(module, path)
                if other != path:
                    yield other, self.of(other, name)

    def sources(self, path: str, hops: int = HOPS) -> Iterator[str]:
        """Yield the files that a file imports, and those that packages hand it names from."""
        for imports in self._imports_of(path).values():
            for imported in imports:
                yield from self._sources(self._full(path, imported), hops)

    def _sources(self, full: str, hops: int) -> Iterator[str]:
        module, name = _parted(full)
        path = self.modules.get(full) or self.modules.get(module, "")
        if path:
            yield path
        if path and full not in self.modules and os.path.basename(path) == INIT and hops:
            for origin in self._handed_on(path, name):
                yield from self._sources(origin, hops - 1)

    def _taken(self, bound: str, full: str, text: str) -> Iterator[str]:
        """Yield what is imported, and what the text takes of it if it uses a framework."""
        yield full
        whole = self.modules.get(full)
        if whole is not None and frameworks_in(self._text(whole), self.knowledge.module_framework):
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

    def _handed_on(self, path: str, name: str) -> list[str]:
        """Return the names that one in a file stands for, one a path: not what it defines."""
        text = self._text(path)
        if name not in text or _defines(text, name):
            return []
        imports = self._imports_of(path)
        names = [name, *_assigned_to(name, text, imports)]
        return [self._full(path, one) for bound in names for one in imports.get(bound, ())]

    def _imports_of(self, path: str) -> dict[str, list[Imported]]:
        if path not in self._imports:
            self._imports[path] = _by_name(self._text(path))
        return self._imports[path]

    def _text(self, path: str) -> str:
        if path not in self._texts:
            try:
                self._texts[path] = decode(files.read(path))
            except (OSError, SourceError):
                self._texts[path] = ""
        return self._texts[path]

    def _full(self, path: str, imported: Imported) -> str:
        """Return the full name of what is imported; a script finds what lies beside it."""
        package = package_around(self.names.get(path, ""), path)
        module = module_of(imported, package)
        beside = f"{package}.{module}"
        if package and module not in self.modules and beside in self.modules:
            module = beside
        return ".".join(filter(None, (module, imported.name)))


_ASSIGNED = re.compile(
    r"[ \t]*(\w+)[ \t]*=[ \t]*(\w+)(?:[ \t]+if[ \t].*[ \t]else[ \t]+(\w+))?[ \t]*(?:#|$)"
)


def _by_name(text: str) -> dict[str, list[Imported]]:
    """Return what a text imports, by the names that this binds."""
    found: dict[str, list[Imported]] = {}
    for imported in imports_in(text):
        found.setdefault(imported.bound, []).append(imported)
    return found


def _defines(text: str, name: str) -> bool:
    """Whether a text defines a class or a function of a name."""
    for start in (f"def {name}", f"class {name}"):
        at = text.find(start)
        while at >= 0:
            at += len(start)
            if not (text[at : at + 1].isalnum() or text.startswith("_", at)):
                return True
            at = text.find(start, at)
    return False


def _assigned_to(name: str, text: str, known: Mapping[str, object]) -> list[str]:
    """Return the known names that a text sets one to: `xp = cp if use_gpu else np`."""
    found: list[str] = []
    for line in lines_with(f"{name} =", text):
        match = _ASSIGNED.match(line)
        chosen = [other for other in match.groups()[1:] if other] if match else []
        if match and match.group(1) == name and known.keys() >= set(chosen):
            found += chosen
    return found


def _parted(full: str) -> tuple[str, str]:
    """Return the module that a dotted name is in, and its last part."""
    module, _, name = full.rpartition(".")
    return module, name


def _taken_of(module: str, text: str) -> list[str]:
    """Return what a text takes of a module, each once, in order."""
    found = re.findall(rf"(?<![\w.]){re.escape(module)}\.(\w+)", text)
    return list(dict.fromkeys(found))
