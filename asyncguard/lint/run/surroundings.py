"""What is read beside files that are checked alone, so that they give what their project gives.

How often a function runs, and on what values, is often decided in another file. Of a small project
all files are looked at; of a large one those that define the bases of its classes, and those that
import and use the file, then those that use these, each up to a bound. What the file and the bases
import is read where it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from asyncguard import files
from asyncguard.lint.modules.copies import HEADER, named_source
from asyncguard.lint.modules.leading import Leading, Leads
from asyncguard.lint.run.bases import Bases
from asyncguard.lint.run.cache import Stamps
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.discover import SUFFIXES, choose
from asyncguard.lint.run.importers import importers
from asyncguard.lint.source.notebook import python_in
from asyncguard.model import AsyncguardError

MARKERS = ("pyproject.toml", "asyncguard.toml", "setup.py", "setup.cfg", ".git")  # of a project
MOST_FILES = 5_000  # of a project; of a larger one only the package counts
MOST = 120_000  # bytes of the files that use what is checked, of a larger one
MOST_OF_BASES = 60_000  # bytes of the files that define bases of its classes
MOST_OF_ONE = 400_000


def around(named: Sequence[str], configuration: Configuration) -> list[str]:
    """Return the other files of the projects that some files belong to, each once."""
    known = [os.path.abspath(path) for path in named]
    found: dict[str, None] = {}
    for folder in dict.fromkeys(Path(path).parent for path in known):
        found |= dict.fromkeys(_project(folder, configuration))
    others = found.keys() - known
    if named and not os.path.isabs(named[0]):  # they are named as the user named the first
        return sorted(_relative(others))
    return sorted(others)


def _relative(paths: Iterable[str]) -> Iterator[str]:
    """Yield paths as they are from the working directory."""
    folders: dict[str, str] = {}  # asked for once each: there are fewer than files
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.join(os.path.relpath(folder), "").removeprefix("./")
        yield folders[folder] + name


def _project(folder: Path, configuration: Configuration) -> list[str]:
    """Return the files of the project that a folder is in, or else of its package or itself.

    All paths start from the root of the file system.
    """
    above = root_of(str(folder))
    for root in (Path(above) if above else None, package(folder)):
        if root is not None:
            try:
                found = list(choose([root], configuration).files)
            except AsyncguardError:
                continue
            if len(found) <= MOST_FILES:
                return found
    return [str(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]


def root_of(folder: str) -> str | None:
    """Return the nearest folder at or above one that holds a project."""
    above, name = os.path.split(folder)
    if not name or folder == os.path.expanduser("~"):
        return None
    if any(os.path.exists(os.path.join(folder, marker)) for marker in MARKERS):
        return folder
    return root_of(above)


def package(folder: Path) -> Path | None:
    """Return the outermost package that a folder is, or is in."""
    found = None
    for above in (folder, *folder.parents):
        if not (above / "__init__.py").is_file():
            break
        found = above
    return found


class Near(NamedTuple):
    """The files that are looked at beside those that are checked.

    Of these, `callers` are there for how they call what is checked.
    """

    paths: Sequence[str]
    callers: frozenset[str] = frozenset()


def related(named: Sequence[str], others: Stamps, small: int) -> Near:
    """Return those of the others that are looked at for the files that are checked.

    All are, if they hold at most `small` bytes.
    """
    sizes = {path: stamp[0] for path, stamp in others.items() if stamp is not None}
    sizes = {path: size for path, size in sizes.items() if size <= MOST_OF_ONE}
    if sum(sizes.values()) <= small:
        return Near(list(sizes))
    texts = {path: _read(path) for path in sizes}
    found = dict.fromkeys(_sources(named, texts))
    budget = MOST - sum(sizes[path] for path in found)
    room = MOST_OF_BASES
    for path in Bases(texts).of({path: _read(path) for path in named}):
        if path not in found and sizes[path] <= room:
            found[path] = None
            room -= sizes[path]
    texts |= {path: _read(path) for path in named}
    callers = importers(named, texts, found, budget)
    return Near([*found, *callers], frozenset(callers))


def leading(
    near: Near, named: Sequence[str], typed: Mapping[str, bytes] | None = None
) -> Leading | None:
    """Return what leads from near files to those that are checked; None if no files are near.

    `typed` holds the text of files that are not saved yet.
    """
    if not near.paths:
        return None
    texts = {path: _read(path) for path in named} | dict(typed or {})
    leads = Leads(python_in(path, texts[path]) for path in named)
    for path in near.paths:
        leads.add(python_in(path, _read(path)))
    names = None if leads.by_no_name else frozenset(leads.names)
    return Leading(frozenset(near.paths), names, near.callers, frozenset(named))


def _read(path: str) -> bytes:
    try:
        return files.read(path)
    except OSError:
        return b""


def _sources(named: Iterable[str], texts: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the files that those to check were generated from."""
    for path in named:
        source = _source_of(_read(path))
        if source:
            yield from (o for o in texts if os.path.basename(o) == os.path.basename(source))


def _source_of(text: bytes) -> str:
    """Return the file that a text says it was generated from, or ""."""
    return named_source(text[:HEADER].decode("utf-8", "replace"))


def generated(named: Iterable[str], others: Sequence[str]) -> Iterator[str]:
    """Say of each file that was generated from one of the others where its findings are."""
    texts = dict.fromkeys(others, b"")
    for path in named:
        for source in _sources([path], texts):
            yield f"{path}: generated from {source}, where its findings are reported"
