"""The files being checked, as modules that import each other.

A file's analysis asks the project for a module by its dotted name; the module is read and its own
statements run when first asked for, its functions only when called. Who asked for what is noted,
so that the cache knows what depends on a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from asyncguard import files
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.analysis import FileAnalysis
from asyncguard.lint.modules.copies import (
    by_file_name,
    is_of_python,
    source_among,
)
from asyncguard.lint.modules.leading import Leading
from asyncguard.lint.modules.naming import INIT, is_package, module_name, package_around
from asyncguard.lint.modules.outline import Outline, OwnClass, outline, own_classes
from asyncguard.lint.modules.screen import NEAR, Screen
from asyncguard.lint.modules.summaries import Summaries
from asyncguard.lint.source.decode import (
    SourceError,
    decode,
)
from asyncguard.lint.source.suppress import NO_ALLOWANCES, Allowances
from asyncguard.lint.syntax.unit import TooDeepError, Unit, read
from asyncguard.model import Device

MAX_TREES = 24  # modules that keep their trees: those that were asked for last
MAX_PARSED = 8  # files whose syntax is kept after others asked for their outline: theirs comes next
MAX_SIZE = 400_000  # bytes of a module that is read only because another imports it


def _prefixes(names: Iterable[str]) -> set[str]:
    """Return dotted names and what they begin with."""
    found: set[str] = set()
    for name in names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(".")[0]
    return found


def _twins(modules: Mapping[str, str]) -> frozenset[str]:
    """Return the names that files in several folders have."""
    without = ((name.partition(".")[2], path) for name, path in modules.items())
    return frozenset(name for name, path in without if modules.get(name, path) != path)


class Project:
    """The modules that one worker has read.

    What is known of a module never depends on who asked first: findings are the same however the
    files are dealt out.
    """

    def __init__(
        self,
        modules: Mapping[str, str],
        knowledge: Knowledge,
        device: Device = Device.WRITTEN,
        wanted: frozenset[str] | None = None,
        screen: Screen | None = None,
        leading: Leading | None = None,
        allowed: Allowances = NO_ALLOWANCES,
    ) -> None:
        self.screen = screen or Screen(modules, knowledge)
        self.device = device
        self.leading = leading  # which functions of the files around matter; None: all
        self.wanted = wanted  # the files whose facts will be asked for; None: all
        self.modules = modules
        self.prefixes = _prefixes(modules)  # of their names: they, and the packages they are in
        self.lasts = {name.rpartition(".")[2] for name in modules}
        self.twins = _twins(modules)
        self.nearest: dict[tuple[str, str], str] = {}  # paths by such a name and who asks for it
        self.names = {path: name for name, path in reversed(list(modules.items()))}  # its first
        self.knowledge = knowledge
        self.loaded: dict[str, FileAnalysis | None] = {}
        self.with_trees: dict[FileAnalysis, None] = {}  # those that have trees
        self.outlines: dict[str, Outline | None] = {}
        self.parsed: dict[str, tuple[str, Unit]] = {}  # the last to be outlined for others
        self.summaries = Summaries()
        self.packages = self.screen.packages
        self.absolute: dict[str, Path] = {}
        self.packaged: dict[str, bool] = {}  # files, whether they are in a package
        self.sources: dict[str, str] = {}  # of files: what `source_of` answered
        self.bounds: set[str] = set()  # reached ones, in words, until they are told
        self.asked = self.screen.asked
        self.allowed = allowed  # what says in programs that they wait on purpose

    def module(self, name: str, importer: str) -> FileAnalysis | None:
        """Return a checked module, its own statements run; None if there is none such."""
        path = self._path(name, importer)
        if path is None or self._is_passed_over(importer, path):
            return None
        self.asked.add((importer, path))
        name = self.names[path]
        analysis = self.loaded[name] if name in self.loaded else self._load(path)
        self._keep(name, analysis)
        try:
            if analysis is not None:
                analysis.run_module()
        except TooDeepError:  # told when its own turn comes
            self._keep(name, None)
            return None
        return analysis

    def _is_passed_over(self, importer: str, path: str) -> bool:
        """Whether a file is imported by one of those that only call what is reported."""
        leading = self.leading
        if leading is None or importer not in self._callers:
            return False
        return path not in leading.checked and path not in leading.paths

    @cached_property
    def _callers(self) -> frozenset[str]:
        """The files that only call what is reported, and are not called by it as well."""
        if self.leading is None:
            return frozenset()
        sources = self.screen.handed_on.sources
        used = (source for path in self.leading.checked for source in sources(path))
        return self.leading.callers.difference(used)

    @cached_property
    def described(self) -> dict[str, Path]:
        """The folders of the checked packages that the catalogue describes, by their names."""
        names = {name for f in self.knowledge.frameworks.values() for name in f.modules}
        found = {name: self.modules[name] for name in names if name in self.modules}
        return {
            name: Path(path).absolute().parent
            for name, path in found.items()
            if os.path.basename(path) == INIT
        }

    def _absolute(self, path: str) -> Path:
        """Return a path from the root; the working directory is asked for once."""
        if path not in self.absolute:
            self.absolute[path] = Path(path).absolute()
        return self.absolute[path]

    def _is_described(self, name: str, importer: str) -> bool:
        """Whether the catalogue, and not its source, says what a module does.

        So it is for everybody but the package itself: as where it is installed elsewhere.
        """
        folder = self.described.get(name.partition(".")[0])
        return folder is not None and not self._absolute(importer).is_relative_to(folder)

    def _path(self, name: str, importer: str) -> str | None:
        """Return the path of a module; of several with its name, that beside the importer."""
        if self.described and self._is_described(name, importer):
            return None
        if name not in self.twins:
            return self.modules.get(name)
        key = (name, importer)
        if key not in self.nearest:
            self.nearest[key] = self._beside_importer(name, self._absolute(importer))
        return self.nearest[key]

    def _beside_importer(self, name: str, importer: Path) -> str:
        for folder in importer.parents[:NEAR]:
            path = self.modules.get(f"{folder.name}.{name}", "")
            beside = path and self._absolute(path).is_relative_to(folder)
            if beside and not is_package(str(folder), self.packages):
                return path
        return self.modules[name]

    def _keep(self, name: str, analysis: FileAnalysis | None) -> None:
        """Keep a module, as the one asked for last."""
        self.loaded[name] = analysis
        if analysis is not None and analysis in self.with_trees:
            del self.with_trees[analysis]
            self.with_trees[analysis] = None

    def is_wanted(self, path: str, text: str) -> bool:
        """Whether the facts of a file will be asked for; of others, only what is called is run."""
        return (self.wanted is None or path in self.wanted) and not self.source_of(path, text)

    def source_of(self, path: str, text: str) -> str:
        """Return the checked file that a file was generated from, if it tells all of it, or ""."""
        if path not in self.sources:
            source = source_among(self._by_file_name, path, text)
            self.sources[path] = source if source and self._is_whole(source) else ""
            if source:
                self.asked.add((path, source))
        return self.sources[path]

    @cached_property
    def _by_file_name(self) -> dict[str, list[str]]:
        return by_file_name(sorted(set(self.modules.values())))

    def _is_whole(self, source: str) -> bool:
        """Whether all that the classes of a file inherit is of checked files, or is known."""
        outlined = self._outline_of(source)
        return outlined is not None and all(
            is_of_python(module)
            or self.knowledge.framework_of(f"{module}.{name}")
            or self._path(module, source)
            for module, name in outlined.foreign_bases
        )

    def _package(self, path: str) -> str:
        return package_around(self.name(path), path)

    def over_budget(self) -> list[FileAnalysis]:
        """Return the modules whose trees should go: all but those that were asked for last."""
        return list(self.with_trees)[:-MAX_TREES]

    def _load(self, path: str) -> FileAnalysis | None:
        read = self._read(path)
        if read is None:
            return None
        return self.analysis(path, *read, is_guest=not self.screen.frameworks(path, read[0]))

    def _read(self, path: str) -> tuple[str, Unit, tuple[str, ...]] | None:
        """Return a module's text, its syntax and its frameworks: all, if it names none."""
        try:
            text = decode(files.read(path, MAX_SIZE))
            found = self.screen.frameworks(path, text)
            if not found:
                found, graphs = self.screen.beside(path)
                found = found or (() if graphs else tuple(self.knowledge.frameworks))
            return text, self.unit(path, text), found
        except OSError:
            if os.path.exists(path) and os.path.getsize(path) > MAX_SIZE:
                text = "what others import of it is not followed, for its size"
                self.bounds.add(f"{path}: {text} (bound: {MAX_SIZE:,})")
            return None
        except (SourceError, TooDeepError):
            return None

    def unit(self, path: str, text: str) -> Unit:
        """Return the tree of a file; raises SourceError, TooDeepError."""
        kept, known = self.parsed.pop(path, ("", None))
        return known if known is not None and kept == text else read(text)

    def classes(self, path: str, unit: Unit) -> Mapping[str, OwnClass]:
        """Return the classes of a file, by name."""
        known = self.outlines.get(path)
        return own_classes(unit.tree) if known is None else known.classes

    def _keep_parsed(self, path: str, text: str, unit: Unit) -> None:
        """Keep the tree of a file, whose turn likely comes next."""
        self.parsed[path] = text, unit
        if len(self.parsed) > MAX_PARSED:
            del self.parsed[next(iter(self.parsed))]

    def _outlined(self, name: str, importer: str) -> Outline | None:
        """Return the outline of a checked module."""
        path = self._path(name, importer)
        if path is None:
            return None
        self.asked.add((importer, path))
        return self._outline_of(path)

    def _outline_of(self, path: str) -> Outline | None:
        """Return the outline of a checked file; None if it cannot be read."""
        if path not in self.outlines:
            read = self._read(path)
            self.outlines[path] = self.outline(path, *read[1:]) if read is not None else None
            if read is not None:
                self._keep_parsed(path, *read[:2])
        return self.outlines[path]

    def binds(self, module: str, name: str, importer: str) -> bool:
        """Whether a star import of a checked module may bring a name, by however many hops."""
        seen: set[str] = set()
        pending = [(module, importer)]
        while pending:
            module, importer = pending.pop()
            outlined = self._outlined(module, importer) if module not in seen else None
            seen.add(module)
            if outlined is not None and name in outlined.binds:
                return True
            pending += [(star, outlined.path) for star in outlined.stars] if outlined else []
        return False

    def handed_on(self, name: str, importer: str) -> str:
        """Return what a checked module has under a name from a framework, or ""."""
        module, _, last = name.rpartition(".")
        path = self._path(module, importer) if module else None
        if path is None or path == importer:
            return ""
        self.asked.add((importer, path))
        return self.screen.handed_on.of(path, last)

    def imported_texts(self, path: str) -> Iterable[str]:
        """Yield the texts of the checked files that a file imports."""
        return self.screen.imported_texts(path)

    def outline(self, path: str, unit: Unit, frameworks: tuple[str, ...]) -> Outline:
        """Outline a text."""
        package = self._package(path)
        return outline(path, unit, self.knowledge, frameworks, package, self._may_be_checked)

    def analysis(
        self,
        path: str,
        text: str,
        unit: Unit,
        frameworks: tuple[str, ...],
        *,
        is_guest: bool = False,
    ) -> FileAnalysis:
        """Return the analysis of a text, nothing of it run yet."""
        outlined = self.outlines.get(path)
        if outlined is None:
            outlined = self.outlines[path] = self.outline(path, unit, frameworks)
        return FileAnalysis(
            path, self.name(path), text, unit, outlined, self.knowledge, frameworks, self,
            is_package=os.path.basename(path) == INIT, is_guest=is_guest,
        )  # fmt: skip

    def is_packaged(self, path: str) -> bool:
        """Whether a file is in a package, and so imports by full names alone."""
        if path not in self.packaged:
            self.packaged[path] = is_package(str(self._absolute(path).parent), self.packages)
        return self.packaged[path]

    def _may_be_checked(self, name: str) -> bool:
        """Whether an import may name a checked module, whichever folder it is looked up from.

        Where a framework's name is that of a file as well, only its full name tells which it is.
        """
        if self.knowledge.framework_of(name):
            return name in self.prefixes
        return name.rpartition(".")[2] in self.lasts

    def name(self, path: str) -> str:
        """Return the module name of a file, one of those to check or not."""
        return self.names.get(path) or module_name(self._absolute(path), self.packages)

    def file(self, path: str) -> FileAnalysis | None:
        """Return the analysis of a file to check, if importers have asked for it before."""
        name = self.name(path)
        known = self.loaded.get(name) if self.modules.get(name) == path else None
        if known is not None:
            self._keep(name, known)
        return known

    def add(self, path: str, text: str, unit: Unit, frameworks: tuple[str, ...]) -> FileAnalysis:
        """Return the analysis of a file to check, and keep it for importers."""
        analysis = self.analysis(path, text, unit, frameworks)
        name = self.name(path)
        if self.modules.get(name) == path:
            self._keep(name, analysis)
        return analysis
