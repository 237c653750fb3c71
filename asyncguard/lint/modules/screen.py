"""Which frameworks a file is for, by its text and those of others: most files are for none.

It needs no trees, so that files without a framework are checked without libcst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from asyncguard import files
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.naming import is_package
from asyncguard.lint.modules.reexports import ReExports
from asyncguard.lint.source.decode import (
    SourceError,
    called_in,
    decode,
    frameworks_in,
    names_in,
    starred_in,
)

_LOOPS = re.compile(r"^[ \t]+(for|while)\b", re.M).search
NEAR = 3  # folders, from a file's own upward, whose files tell what framework it is for


class Screen:
    """The files of a project, by module name, and what frameworks those import that were asked."""

    def __init__(self, modules: Mapping[str, str], knowledge: Knowledge) -> None:
        self.modules = modules
        self.knowledge = knowledge
        self.packages: dict[str, bool] = {}
        self.handed_on = ReExports(modules, knowledge)
        self._of_packages: dict[str, tuple[str, ...]] = {}  # what the first file with any imports
        self.asked: set[tuple[str, str]] = set()  # files, each with one that it depends on
        # Frameworks by path, and those that the file builds graphs with.
        self.imported: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}

    def frameworks(self, path: str, text: str) -> tuple[str, ...]:
        """Return the frameworks that a file imports, or that it has from another file's import.

        One that imports none may still train: with what the files beside it import.
        """
        if found := frameworks_in(text, self.knowledge.module_framework):
            return found
        starred = starred_in(text)
        if found := self._first_imported(path, filter(None, map(self.modules.get, starred))):
            return found
        if found := self._handed_to(path, text):
            return found
        if starred and (found := names_in(text, self.knowledge.customary)):
            return found
        methods = called_in(text, self.knowledge.reveals)
        found = self.beside(path)[0] if methods else ()
        if any(self.knowledge.has(method, found) for method in methods):
            return found
        drives = called_in(text, tuple(self.knowledge.language.drives))
        found = self._of_package(path) if drives else ()
        return found or self._of_program(path, text)

    def _of_program(self, path: str, text: str) -> tuple[str, ...]:
        """Return the frameworks that a program without any has from what it imports and loops over.

        Its loop may be the training loop, whose steps stand in other files.
        """
        if "__main__" not in text or not _LOOPS(text):
            return ()
        sources = (other for other in self.handed_on.sources(path) if other != path)
        return self._first_imported(path, sources)

    def _of_package(self, path: str) -> tuple[str, ...]:
        """Return the frameworks of the nearest files, or of the first of its package with any."""
        if found := self.beside(path)[0]:
            return found
        package = self.handed_on.names.get(path, "").partition(".")[0]
        if package not in self._of_packages:
            names = sorted(name for name in self.modules if name.startswith(f"{package}."))
            inside = map(self.modules.__getitem__, names)
            self._of_packages[package] = self._first_imported(path, inside)
        return self._of_packages[package]

    def _handed_to(self, path: str, text: str) -> tuple[str, ...]:
        """Return the frameworks of which a file imports names from other checked files."""
        found: dict[str, None] = {}
        for other, origin in self.handed_on.used_in(path, text):
            self.asked.add((path, other))
            found[self.knowledge.framework_of(origin)] = None
        return tuple(name for name in found if name not in ("", "numpy"))

    def _first_imported(self, path: str, others: Iterable[str]) -> tuple[str, ...]:
        """Return the frameworks of the first of some files that imports any."""
        imported = (self._imported_by(other, path)[0] for other in others)
        return next(filter(None, imported), ())

    def _imported_by(self, other: str, path: str) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the frameworks that another file imports, and those that it builds graphs with."""
        self.asked.add((path, other))
        if other not in self.imported:
            try:
                text = decode(files.read(other))
            except (OSError, SourceError):
                text = ""
            found = frameworks_in(text, self.knowledge.module_framework)
            graphs = frozenset(f for f in found if self.knowledge.builds_graphs(f, text))
            self.imported[other] = found, graphs
        return self.imported[other]

    def imported_texts(self, path: str) -> Iterable[str]:
        """Yield the texts of the checked files that a file imports."""
        for other in sorted({*self.handed_on.sources(path)} - {path}):
            self.asked.add((path, other))
            try:
                yield decode(files.read(other))
            except (OSError, SourceError):
                continue

    def beside(self, path: str) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the frameworks of the files in the same folder, or in one that it is in.

        Apart from those that build graphs there: what a session gives others is in host memory.
        """
        graphs = frozenset[str]()
        for folder in Path(path).parents[:NEAR]:
            for other in self._folders.get(folder, ()):
                imported, building = self._imported_by(other, path)
                graphs |= building
                if found := tuple(f for f in imported if f not in graphs):
                    return found, graphs
            if not is_package(str(folder.absolute()), self.packages):
                break
        return (), graphs

    @cached_property
    def _folders(self) -> dict[Path, list[str]]:
        """The checked files of each folder."""
        found: dict[Path, list[str]] = {}
        for path in sorted(set(self.modules.values())):
            found.setdefault(Path(path).parent, []).append(path)
        return found
