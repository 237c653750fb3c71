"""The files being checked, as modules that import each other.

A file's analysis asks the project for a module by its dotted name; the module is read and its own
statements run when first asked for, its functions only when called. What a file depends on is
noted, so that a cache entry can name it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import libcst as cst

from asyncguard.lint.analysis import FileAnalysis
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.screen import outline
from asyncguard.lint.source import SourceError, check_syntax, decode, frameworks_in
from asyncguard.lint.tree import TooDeepError

MAX_MODULES = 500  # kept at a time
MAX_LOADS = 12  # modules read for one file to check
MAX_SIZE = 400_000  # bytes of a module that is read only because another imports it


def module_name(path: Path, packages: dict[Path, bool] | None = None) -> tuple[str, bool]:
    """Return a file's dotted module name, and whether it is a package's `__init__`."""
    known = packages if packages is not None else {}
    is_package = path.name == "__init__.py"
    parts = [] if is_package else [path.stem]
    directory = path.parent
    while directory.name:
        if directory not in known:
            known[directory] = (directory / "__init__.py").is_file()
        if not known[directory]:
            break
        parts.append(directory.name)
        directory = directory.parent
    return ".".join(reversed(parts)), is_package


def index(paths: Iterable[Path]) -> dict[str, str]:
    """Return the paths of the Python files by module name."""
    packages: dict[Path, bool] = {}
    return {
        module_name(path.absolute(), packages)[0]: str(path)
        for path in paths
        if path.suffix == ".py"
    }


class Project:
    """The modules that one worker has read."""

    def __init__(self, modules: Mapping[str, str], knowledge: Knowledge) -> None:
        self.modules = modules
        self.knowledge = knowledge
        self.loaded: dict[str, FileAnalysis | None] = {}
        self.loads = 0  # modules read for the present file
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
            if self.loads >= MAX_LOADS:
                return None
            self.loads += 1
            while len(self.loaded) >= MAX_MODULES:
                del self.loaded[next(iter(self.loaded))]
            self.loaded[name] = None  # while it loads: import cycles end here
            self.loaded[name] = analysis = self._load(path, frameworks)
            if analysis is not None:
                analysis.imported = True
                analysis.run_module()
        return self.loaded[name]

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

    def analysis(
        self, path: str, text: str, parsed: ast.Module, frameworks: tuple[str, ...]
    ) -> FileAnalysis:
        """Return the analysis of a text, nothing of it run yet."""
        name, is_package = module_name(Path(path).absolute(), self.packages)
        outlined = outline(text, parsed, self.knowledge, frameworks, self.modules)
        return FileAnalysis(
            path, name, text, outlined, self.knowledge, frameworks, self, is_package=is_package
        )

    def file(
        self, path: str, text: str, parsed: ast.Module, frameworks: tuple[str, ...]
    ) -> FileAnalysis:
        """Return the analysis of a file to check, the one that importers have asked for if any."""
        self.loads = 0
        self.asked = set()
        name, _ = module_name(Path(path).absolute(), self.packages)
        if self.modules.get(name) != path:
            return self.analysis(path, text, parsed, frameworks)
        known = self.loaded.get(name)
        if known is None:
            known = self.loaded[name] = self.analysis(path, text, parsed, frameworks)
        return known
