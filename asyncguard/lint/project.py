"""The files being checked, as modules that import each other.

A file's analysis asks the project for a module by its dotted name; the module is read and its own
statements run when first asked for, its functions only when called. What a file depends on is
noted, so that a cache entry can name it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import libcst as cst

from asyncguard.lint.analysis import FileAnalysis
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.screen import outline
from asyncguard.lint.source import SourceError, check_syntax, decode, frameworks_in, starred_in
from asyncguard.lint.tree import TooDeepError
from asyncguard.model import Device

INIT = "__init__.py"
MAX_MODULES = 300  # kept at a time: those that were asked for last
MAX_LOADS = 12  # modules read for one file to check
MAX_GAP = 2  # folders without `__init__.py` within a package
MAX_SIZE = 400_000  # bytes of a module that is read only because another imports it


def module_name(path: Path, packages: dict[Path, bool], root: Path | None = None) -> str:
    """Return a file's dotted module name.

    It starts at the outermost package that the file is in; folders without `__init__.py` may lie
    between (namespace packages). A file in no package is named from `root`.
    """
    within = 0
    for count, folder in enumerate(path.parents, 1):
        if _is_package(folder, packages):
            within = count
        elif count - within > MAX_GAP:
            break
    folders = [folder.name for folder in path.parents[:within]]
    if not within and root is not None and path.is_relative_to(root):
        folders = list(reversed(path.parent.relative_to(root).parts))
    parts = folders if path.name == INIT else [path.stem, *folders]
    return ".".join(reversed(parts))


def _is_package(folder: Path, packages: dict[Path, bool]) -> bool:
    """Whether a folder is a regular package, asked of the file system once."""
    if folder not in packages:
        packages[folder] = (folder / INIT).is_file()
    return packages[folder]


def index(paths: Iterable[Path]) -> dict[str, str]:
    """Return the paths of the Python files by module name."""
    packages: dict[Path, bool] = {}
    files = {path.absolute(): str(path) for path in paths if path.suffix == ".py"}
    if not files:
        return {}
    root = Path(os.path.commonpath([file.parent for file in files]))
    return {module_name(file, packages, root): path for file, path in files.items()}


class Project:
    """The modules that one worker has read."""

    def __init__(
        self, modules: Mapping[str, str], knowledge: Knowledge, device: Device = Device.WRITTEN
    ) -> None:
        self.device = device
        self.modules = modules
        self.lasts = {name.rpartition(".")[2] for name in modules}
        self.names = {path: name for name, path in modules.items()}
        self.knowledge = knowledge
        self.loaded: dict[str, FileAnalysis | None] = {}
        self.seen: set[str] = set()  # names of modules that are or were loaded
        self.loads = 0  # of them, those read first for the present file
        self.abroad = 0  # calls into other files that are being followed
        self.packages: dict[Path, bool] = {}
        self.asked: set[str] = set()  # paths that the current file depends on

    def module(self, name: str, frameworks: tuple[str, ...] = ()) -> FileAnalysis | None:
        """Return a checked module, its own statements run; None if there is none such."""
        path = self.modules.get(name)
        if path is None:
            return None
        self.asked.add(path)
        if name not in self.loaded:
            if name not in self.seen and self.loads >= MAX_LOADS:
                return None
            self.loads += name not in self.seen
            self.seen.add(name)
            self._keep(name, None)  # while it loads: import cycles end here
            self._keep(name, analysis := self._load(path, frameworks))
            if analysis is not None:
                analysis.imported = True
                analysis.run_module()
            return analysis
        self._keep(name, known := self.loaded[name])
        return known

    def _keep(self, name: str, analysis: FileAnalysis | None) -> None:
        """Keep a module as the one asked for last, and let go of those not asked for longest."""
        self.loaded.pop(name, None)
        self.loaded[name] = analysis
        while len(self.loaded) > MAX_MODULES:
            del self.loaded[next(iter(self.loaded))]

    def _load(self, path: str, frameworks: tuple[str, ...]) -> FileAnalysis | None:
        try:
            data = Path(path).read_bytes()
            if len(data) > MAX_SIZE:
                return None
            text = decode(data)
            found = frameworks_in(text, self.knowledge.module_framework) or frameworks
            return self.analysis(path, text, check_syntax(text), found) if found else None
        except (OSError, SourceError, TooDeepError, cst.ParserSyntaxError):
            return None

    def starred(self, text: str) -> dict[str, tuple[str, ...]]:
        """Return the frameworks of the checked modules that a text imports everything from."""
        found: dict[str, tuple[str, ...]] = {}
        for name in starred_in(text):
            if path := self.modules.get(name):
                try:
                    other = decode(Path(path).read_bytes())
                except (OSError, SourceError):
                    continue
                found[path] = frameworks_in(other, self.knowledge.module_framework)
        return found

    def analysis(
        self, path: str, text: str, parsed: ast.Module, frameworks: tuple[str, ...]
    ) -> FileAnalysis:
        """Return the analysis of a text, nothing of it run yet."""
        outlined = outline(text, parsed, self.knowledge, frameworks, self._may_be_checked)
        return FileAnalysis(
            path, self.name(path), text, outlined, self.knowledge, frameworks, self,
            is_package=Path(path).name == INIT,
        )  # fmt: skip

    def is_packaged(self, path: str) -> bool:
        """Whether a file is in a package, and so imports by full names alone."""
        return _is_package(Path(path).absolute().parent, self.packages)

    def _may_be_checked(self, name: str) -> bool:
        """Whether an import may name a checked module, whichever folder it is looked up from."""
        return name.rpartition(".")[2] in self.lasts

    def name(self, path: str) -> str:
        """Return the module name of a file, one of those to check or not."""
        return self.names.get(path) or module_name(Path(path).absolute(), self.packages)

    def file(
        self, path: str, text: str, parsed: ast.Module, frameworks: tuple[str, ...]
    ) -> FileAnalysis:
        """Return the analysis of a file to check, the one that importers have asked for if any."""
        self.loads = 0
        self.asked = set()
        name = self.name(path)
        if self.modules.get(name) != path:
            return self.analysis(path, text, parsed, frameworks)
        known = self.loaded.get(name)
        if known is None:
            known = self.analysis(path, text, parsed, frameworks)
        self.seen.add(name)
        self._keep(name, known)
        return known
