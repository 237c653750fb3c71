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
from asyncguard.lint.run import ignored
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.ignored import Ignored
from asyncguard.lint.run.settings import Settings
from asyncguard.model import AsyncguardError

SUFFIXES = (".py", ".ipynb")
NAMED_SUFFIXES = (*SUFFIXES, ".pyi", ".pyw")  # checked where they are given by name
NOT_SOURCE = (
    f"not Python source ({', '.join(NAMED_SUFFIXES)} or a script with a Python shebang); pass it "
    "on standard input with '-' to check it even so"
)
SHEBANG = re.compile(rb"#!.*\bpython")


class Chosen(NamedTuple):
    """The files to check with their settings, in order, and why others were left out."""

    files: dict[str, Settings]
    notes: tuple[str, ...] = ()


class _File(NamedTuple):
    """A file to check, as it was given and from the root of the file system."""

    path: str
    absolute: str
    settings: Settings


def choose(paths: Sequence[Path], configuration: Configuration) -> Chosen:
    """Return the files to check, each once, in the order of the paths and sorted within folders.

    Each has the settings nearest to it. Raises AsyncguardError for a path that does not exist or
    cannot be checked.
    """
    chosen: dict[str, _File] = {}
    notes: list[str] = []
    for path in paths:
        for file in _Walk(configuration, notes).from_top(path):
            chosen.setdefault(file.absolute, file)
    return Chosen({file.path: file.settings for file in chosen.values()}, tuple(notes))


def is_excluded(path: Path, settings: Settings) -> bool:
    """Whether a pattern names the path, or a folder above it, by its name or from `root`."""
    relative = Path(os.path.relpath(path, settings.root))
    pattern = _excluded(settings)
    parts = (relative, *relative.parents[:-1])
    return any(pattern.match(part.name) or pattern.match(str(part)) for part in parts)


def _excluded(settings: Settings) -> re.Pattern[str]:
    return _pattern((*settings.exclude, *settings.extend_exclude))


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.rstrip("/")) for pattern in patterns) or r"(?!)")


class _Walk(NamedTuple):
    configuration: Configuration
    notes: list[str]

    def from_top(self, path: Path) -> Iterator[_File]:
        """Yield the files that a path of the command line stands for."""
        is_folder = _is_folder(path)
        settings = self.configuration.of(path if is_folder else path.parent)
        if settings.force_exclude and is_excluded(path, settings):
            return
        if is_folder:
            rules = Ignored.above(path) if settings.respect_gitignore else Ignored()
            yield from self.below(str(path), os.path.abspath(path), settings, rules)
        elif not _is_source(path):
            if not settings.force_exclude:
                raise AsyncguardError(f"{path}: {NOT_SOURCE}")
            self.notes.append(f"{path}: skipped: not Python source")  # a tool named it
        else:
            yield _File(str(path), os.path.abspath(path), settings)

    def below(self, folder: str, absolute: str, above: Settings, rules: Ignored) -> Iterator[_File]:
        """Yield the files of a folder, then those of the folders in it, by name."""
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.notes.append(f"{folder}: skipped: {error.strerror or error}")
            return
        names = {entry.name for entry in inside}
        settings = self.configuration.below(above, Path(absolute), names)
        if settings.respect_gitignore and ignored.NAME in names:
            rules = rules.extended(Path(absolute))
        within = "" if folder == os.curdir else os.path.join(folder, "")
        beyond = os.path.join(absolute, "")
        wanted = list(_wanted(inside, absolute, settings, rules))
        for entry in wanted:
            path = within + entry.name
            if entry.is_file():
                yield _File(path, beyond + entry.name, settings)
            elif not entry.is_dir():
                self.notes.append(f"{path}: skipped: {files.why_unreadable(path)}")
        for entry in wanted:
            if entry.is_dir(follow_symlinks=False):
                yield from self.below(within + entry.name, beyond + entry.name, settings, rules)


def _wanted(
    inside: Sequence[os.DirEntry[str]], absolute: str, settings: Settings, rules: Ignored
) -> Iterator[os.DirEntry[str]]:
    """Yield the sources and folders of a folder that neither settings nor git leave out."""
    here = os.path.relpath(absolute, settings.root)
    start = "" if here == os.curdir else os.path.join(here, "")
    beyond = os.path.join(absolute, "")
    excluded = _excluded(settings)
    for entry in inside:
        name = entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if name.startswith(".") if is_folder else not name.endswith(SUFFIXES):
            continue
        if excluded.match(name) or (start and excluded.match(start + name)):
            continue
        if rules.rules and rules.ignores(beyond + name, is_folder=is_folder):
            continue
        if not (is_folder and os.path.exists(os.path.join(beyond + name, "pyvenv.cfg"))):
            yield entry


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder; raises AsyncguardError if nothing is there."""
    why = files.why_unreadable(path)
    if why == files.FOLDER:
        return True
    if not why:
        return False
    if why == os.strerror(2):
        raise AsyncguardError(f"{path}: no such file or directory")
    raise AsyncguardError(f"{path}: {why}; pass source on standard input with '-'")


def _is_source(path: Path) -> bool:
    """Whether a file that was named is Python; raises AsyncguardError if it cannot be read."""
    if path.suffix in NAMED_SUFFIXES:
        return True
    try:
        return SHEBANG.match(files.read(path)[:200]) is not None
    except OSError as error:
        raise AsyncguardError(f"{path}: {error.strerror or error}") from error
