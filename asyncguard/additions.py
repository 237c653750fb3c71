"""A team's own catalogue: helpers that block, loaders and steps that asyncguard cannot know.

A file of it (`syncs.toml`) extends one framework of the shipped catalogue by the same tables. It is
data for the linter: it hooks nothing and holds no patterns of names, for it may be a stranger's.
`rules/README.md` documents the format.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from asyncguard import catalogue, files
from asyncguard.catalogue import BY_KIND, Catalogue, CatalogueError, Framework, Steps, SyncPoint
from asyncguard.catalogue.extending import joined

MOST = 1 << 20  # bytes of one file
_KEYS = {"schema", "extends", "modules", "steps", "sync", "name", "snippet", *BY_KIND}
_NEEDED = ("id", "rule", "kind", "advice", "hit", "miss")
_DEFAULTS = {"waits_for": "value", "url": "", "one_sided": "It is for the linter alone."}
_FOR_HOOKS = {"runtime", "runtime_compiled"}  # of `[steps]`


@dataclass(frozen=True)
class Addition:
    """One file of a team's catalogue, as read: equal where name and text are."""

    path: str
    text: str


class Snippet(NamedTuple):
    """An example of the whole: a program with a finding, and one without."""

    says: str
    hit: str
    miss: str


def read(path: Path, folder: Path) -> Addition:
    """Read and check one file, which lies in `folder` or below; raises CatalogueError."""
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise CatalogueError(f"{path}: lies outside {folder}, the configuration's folder")
        found = Addition(str(path), files.read_text(path, MOST))
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:  # not UTF-8; links in a circle
        raise CatalogueError(f"{path}: {error}") from error
    load((found,))
    for _ in snippets(found):
        pass
    return found


@lru_cache(maxsize=16)
def load(additions: tuple[Addition, ...] = ()) -> Catalogue:
    """Return the shipped catalogue with these additions; raises CatalogueError."""
    shipped = catalogue.load()
    if not additions:
        return shipped
    frameworks = dict(shipped.frameworks)
    for addition in additions:
        data = table(addition)
        extended = _one_of(frameworks, data.get("extends"), f"{addition.path}: extends")
        frameworks[extended] = _extend(frameworks[extended], data, addition.path)
    found = replace(shipped, frameworks=frameworks)
    catalogue.require_unique_ids(found)
    return found


@lru_cache(maxsize=16)
def table(addition: Addition) -> Mapping[str, Any]:
    """Return what a file holds, its keys checked; raises CatalogueError."""
    data = catalogue.parse(addition.path, addition.text)
    if unknown := sorted(data.keys() - _KEYS):
        known = ", ".join(sorted(_KEYS))
        raise CatalogueError(f"{addition.path}: unknown key {unknown[0]!r:.50}; one of {known}")
    return data


def own_points(addition: Addition) -> Iterator[SyncPoint]:
    """Yield what a file says blocks."""
    ids = {entry["id"] for entry in table(addition).get("sync", ())}
    yield from (point for point in load((addition,)) if point.id in ids)


def snippets(addition: Addition) -> Iterator[Snippet]:
    """Yield the examples that belong to no single entry; raises CatalogueError."""
    for entry in catalogue.entries(addition.path, "snippet", table(addition)):
        yield catalogue.build(Snippet, entry, f"{addition.path}: [[snippet]]")


def _extend(base: Framework, data: Mapping[str, Any], where: str) -> Framework:
    steps = catalogue.build(Steps, data.get("steps", {}), f"{where}: [steps]")
    if hooked := sorted(key for key in _FOR_HOOKS if getattr(steps, key)):
        raise CatalogueError(f"{where}: [steps]: {hooked[0]!r} needs an adapter, in a package")
    tables: dict[str, Any] = {
        name: joined(getattr(base, name), catalogue.by_kind(where, name, data)) for name in BY_KIND
    }
    entries = catalogue.entries(where, "sync", data)
    points = tuple(_point(where, base.name, entry) for entry in entries)
    if taken := {point.id for point in base.sync}.intersection(point.id for point in points):
        raise CatalogueError(f"{where}: sync {min(taken)!r:.80}: the id is taken; choose another")
    return base._replace(
        steps=joined(base.steps, steps),
        companions=base.companions + catalogue.texts(where, "modules", data.get("modules", [])),
        sync=base.sync + points,
        **tables,
    )


def _point(path: str, framework: str, entry: dict[str, Any]) -> SyncPoint:
    where = f"{path}: sync {entry.get('id', '(without id)')!r:.80}"
    if "runtime" in entry:
        raise CatalogueError(f"{where}: 'runtime' needs an adapter, which a package brings")
    if "source" not in entry:
        raise CatalogueError(f"{where}: missing 'source', how it looks in a program")
    _one_of(_rules(), entry.get("rule"), f"{where}: rule")
    return catalogue.sync_point(path, framework, _DEFAULTS | entry, _NEEDED)


def _rules() -> Sequence[str]:
    """Return the rules that report calls."""
    return sorted({point.rule for point in catalogue.load()})


def _one_of(known: Mapping[str, object] | Sequence[str], word: object, where: str) -> str:
    if not isinstance(word, str) or word not in known:
        names = ", ".join(known)
        raise CatalogueError(f"{where}: must be one of {names}, not {reprlib.repr(word)}")
    return word
