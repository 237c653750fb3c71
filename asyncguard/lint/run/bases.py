"""Which files define the bases of classes: their methods call those that override theirs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard.lint.source.decode import SourceError, decode

if TYPE_CHECKING:  # where the cache answers, no tree is needed
    import libcst as cst

LEVELS = 3  # of bases of bases, and of packages that hand a name on


class Imported(NamedTuple):
    """A name that a file imports from a module; `level`: how many folders up, if relative."""

    name: str
    module: str
    level: int


class Bases:
    """The files of a project, asked for the bases of classes."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._by_module: dict[str, list[str]] = {}
        for path in sorted(texts):
            self._by_module.setdefault(module(path), []).append(path)
        self._names: dict[str, dict[str, Imported]] = {}  # that packages bind by importing them

    def of(self, named: Mapping[str, bytes]) -> Iterator[str]:
        """Yield the files that define bases of classes of some files, then those of theirs."""
        seen = set(named)
        frontier = dict(named)
        for _ in range(LEVELS):
            reached: dict[str, bytes] = {}
            for path, text in frontier.items():
                for base in imported_bases(text):
                    home = self._home(base, path)
                    if home is not None and home not in seen:
                        seen.add(home)
                        reached[home] = self._texts[home]
            yield from reached
            frontier = reached

    def _home(self, base: Imported, path: str) -> str | None:
        """Return the file that a name is imported from, through packages that hand it on."""
        for _ in range(LEVELS):
            home = self._file_of(base, path)
            if home is None or os.path.basename(home) != "__init__.py":
                return home
            if home not in self._names:
                self._names[home] = dict(imports(parsed(self._texts[home])))
            handed = self._names[home].get(base.name)
            if handed is None:
                return home
            base, path = handed, home
        return None

    def _file_of(self, base: Imported, path: str) -> str | None:
        """Return the file of a module, as another one imports it: the nearest of that name."""
        parts = [part for part in base.module.split(".") if part]
        folders = Path(os.path.abspath(path)).parts[:-1]
        if base.level:
            above = folders[: len(folders) - base.level + 1]
            parts = [*above[-2:], *parts]
        if not parts:
            return None
        ends = (os.path.join(*parts) + ".py", os.path.join(*parts, "__init__.py"))
        found = [p for p in self._by_module.get(parts[-1], ()) if p.endswith(ends)]
        return min(found, key=partial(distance, path), default=None)


def imported_bases(text: bytes) -> list[Imported]:
    """Return the bases of a file's classes that it imports."""
    import libcst as cst

    from asyncguard.lint.syntax.nodes import name_of

    tree = parsed(text)
    classes = (node for node in tree.body if isinstance(node, cst.ClassDef))
    names = {name_of(base.value) for node in classes for base in node.bases}
    return [imported for bound, imported in imports(tree) if bound in names]


def parsed(text: bytes) -> cst.Module:
    """Return the syntax tree of a text; an empty one if it has none."""
    import libcst as cst

    from asyncguard.lint.syntax.unit import TooDeepError, parse_ahead

    try:
        return parse_ahead(decode(text))
    except (SourceError, TooDeepError):
        return cst.Module([])


def imports(tree: cst.Module) -> Iterator[tuple[str, Imported]]:
    """Yield the names that a module binds by `from ... import`, and what they are."""
    import libcst as cst

    from asyncguard.lint.syntax.nodes import body
    from asyncguard.lint.syntax.tree import dotted

    for node in body(tree):
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            module = dotted(node.module) if node.module is not None else ""
            for alias in node.names:
                name = alias.evaluated_name
                yield alias.evaluated_alias or name, Imported(name, module, len(node.relative))


def module(path: str) -> str:
    """Return the last part of the name that a file is imported by."""
    name = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.dirname(os.path.abspath(path)) if name == "__init__" else ""
    return os.path.basename(folder) or name


def distance(named: str, path: str) -> tuple[int, str]:
    """Order files: those in the same folder first, then those close to it."""
    return -len(_common(named.split(os.sep), path.split(os.sep))), path


def _common(folders: Iterable[str], others: Iterable[str]) -> list[str]:
    common = []
    for one, other in zip(folders, others, strict=False):
        if one != other:
            break
        common.append(one)
    return common
