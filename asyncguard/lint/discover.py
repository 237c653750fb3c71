"""Which files are checked: paths of the command line -> source files.

Directories are walked for `*.py` and `*.ipynb`, leaving out hidden folders, virtual environments,
and what the configuration excludes or git ignores. What is given by name is checked even so, unless
`force-exclude` is set: pre-commit hands over every changed file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from asyncguard import files
from asyncguard.lint import ignored
from asyncguard.lint.configuration import Configuration
from asyncguard.lint.ignored import Ignored
from asyncguard.lint.settings import Settings
from asyncguard.model import AsyncguardError

SUFFIXES = (".py", ".ipynb")
NAMED_SUFFIXES = (*SUFFIXES, ".pyi", ".pyw")  # checked where they are given by name
SHEBANG = re.compile(rb"#!.*\bpython")


class Chosen(NamedTuple):
    """The files to check with their settings, in order, and why others were left out."""

    files: dict[str, Settings]
    notes: tuple[str, ...] = ()


def source_files(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """Return the files to check, each once, in the order of the paths and sorted within folders.

    Raises AsyncguardError for a path that does not exist or cannot be checked.
    """
    return [Path(name) for name in choose(paths, Configuration.fixed(settings)).files]


def choose(paths: Sequence[Path], configuration: Configuration) -> Chosen:
    """Do so with the settings nearest to each file."""
    chosen: dict[str, tuple[Path, Settings]] = {}
    notes: list[str] = []
    for path in paths:
        for file, settings in _Walk(configuration, notes).from_top(path):
            chosen.setdefault(os.path.abspath(file), (file, settings))
    return Chosen({str(file): settings for file, settings in chosen.values()}, tuple(notes))


def is_excluded(path: Path, settings: Settings) -> bool:
    """Whether a pattern names the path, or a folder above it, by its name or from `root`."""
    relative = Path(os.path.relpath(path, settings.root))
    return any(_matches(part, settings) for part in (relative, *relative.parents[:-1]))


def _matches(relative: Path, settings: Settings) -> bool:
    pattern = _pattern((*settings.exclude, *settings.extend_exclude))
    return bool(pattern.match(relative.name) or pattern.match(str(relative)))


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.rstrip("/")) for pattern in patterns) or r"(?!)")


class _Walk(NamedTuple):
    configuration: Configuration
    notes: list[str]

    def from_top(self, path: Path) -> Iterator[tuple[Path, Settings]]:
        """Yield the files that a path of the command line stands for."""
        is_folder = _kind(path)
        settings = self.configuration.of(path if is_folder else path.parent)
        if settings.force_exclude and is_excluded(path, settings):
            return
        if not is_folder:
            _require_source(path)
            yield path, settings
            return
        rules = Ignored.above(path) if settings.respect_gitignore else Ignored()
        yield from self.below(path, settings, rules)

    def below(
        self, folder: Path, above: Settings, rules: Ignored
    ) -> Iterator[tuple[Path, Settings]]:
        """Yield the files of a folder, then those of the folders in it, by name."""
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.notes.append(f"{folder}: skipped: {error.strerror or error}")
            return
        names = [entry.name for entry in inside]
        settings = self.configuration.below(above, folder, names)
        if settings.respect_gitignore and ignored.NAME in names:
            rules = rules.extended(Path(os.path.abspath(folder)))
        here = os.path.relpath(folder, settings.root)
        absolute = os.path.abspath(folder)
        folders: list[Path] = []
        for entry in inside:
            is_folder = entry.is_dir(follow_symlinks=False)
            wanted = not entry.name.startswith(".") if is_folder else _is_source(entry)
            if not wanted or _matches(Path(here, entry.name), settings):
                continue
            if rules.rules and rules.ignores(
                os.path.join(absolute, entry.name), is_folder=is_folder
            ):
                continue
            path = folder / entry.name
            if is_folder:
                folders.append(path)
            elif entry.is_file():
                yield path, settings
            else:
                self.notes.append(f"{path}: skipped: {files.why_unreadable(path)}")
        for path in folders:
            if not (path / "pyvenv.cfg").exists():
                yield from self.below(path, settings, rules)


def _is_source(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is named as sources are, and is not a link to a folder."""
    return entry.name.endswith(SUFFIXES) and not entry.is_dir()


def _kind(path: Path) -> bool:
    """Return whether a path is a folder; raises AsyncguardError if nothing is there."""
    why = files.why_unreadable(path)
    if why == files.FOLDER:
        return True
    if not why:
        return False
    if why == os.strerror(2):
        raise AsyncguardError(f"{path}: no such file or directory")
    raise AsyncguardError(f"{path}: {why}; pass source on standard input with '-'")


def _require_source(path: Path) -> None:
    """Raise AsyncguardError if a file that was named is not Python."""
    if path.suffix in NAMED_SUFFIXES:
        return
    try:
        if SHEBANG.match(files.read(path)[:200]):
            return
    except OSError as error:
        raise AsyncguardError(f"{path}: {error.strerror or error}") from error
    raise AsyncguardError(
        f"{path}: not Python source ({', '.join(NAMED_SUFFIXES)} or a script with a Python "
        "shebang); pass it on standard input with '-' to check it even so"
    )
