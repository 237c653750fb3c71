"""From the tables of a rules file to records: each key and word is checked.

Every error is a CatalogueError that names the file and the entry.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from asyncguard import prepared
from asyncguard.catalogue.records import (
    DECIDERS,
    MOVES,
    OPERATORS,
    VALUE_KINDS,
    WAITS_FOR,
    Condition,
    Framework,
    Graph,
    HostMemory,
    Language,
    Masks,
    Region,
    Runtime,
    Source,
    Steps,
    SyncPoint,
    Trigger,
)
from asyncguard.model import AsyncguardError, Confidence, SyncKind
from asyncguard.plain import fits, made

SCHEMA = 1
R = TypeVar("R")


class CatalogueError(AsyncguardError):
    """A rules file breaks the format; the message names the file, the entry and what it lacks."""


def read(path: Path, keys: Iterable[str] | None = None) -> dict[str, Any]:
    """Return what a rules file says, its schema and its `keys` checked; raises CatalogueError."""
    try:
        data = _of_schema(path, lambda: prepared.toml(path))
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror or error}") from error
    if keys is not None and data.keys() != {"schema", *keys}:
        raise CatalogueError(f"{path}: must have the keys schema, {', '.join(keys)}, and no other")
    return data


def parse(path: str, text: str) -> dict[str, Any]:
    """Return what the text of one says; raises CatalogueError."""
    import tomli

    return _of_schema(path, lambda: tomli.loads(text))


def _of_schema(path: str | Path, parse: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        data = parse()
    except UnicodeDecodeError as error:
        raise CatalogueError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise CatalogueError(f"{path}: not valid TOML: {reason}") from error
    if data.get("schema") != SCHEMA:
        raise CatalogueError(f"{path}: schema is {data.get('schema')!r:.50}; expected {SCHEMA}")
    return data


BY_KIND = (
    "returns", "types", "attributes", "methods", "usage", "telling", "parts", "likely", "alone",
    "names", "model_methods",
)  # fmt: skip
_OF_FILES = {"schema", "framework", "trigger"}  # keys that are no fields of a framework
_KEYS = _OF_FILES.union(Framework._fields) - {"name", "path", "extensions"}


def framework(path: Path, data: dict[str, Any]) -> Framework:
    where = str(path)
    if unknown := sorted(set(data) - _KEYS):
        raise CatalogueError(f"{where}: unknown key {unknown[0]!r:.50}")
    for key in ("modules", "checked_version", "asynchronous_cpu"):
        if key not in data:
            raise CatalogueError(f"{where}: missing {key!r}")
    values = {key: value for key, value in data.items() if key not in _OF_FILES}
    values |= {"name": data["framework"], "path": path}
    values |= {table: by_kind(where, table, data) for table in BY_KIND}
    values["steps"] = build(Steps, data.get("steps", {}), f"{where}: [steps]")
    for table, cls in (("graph", Graph), ("masks", Masks), ("memory", HostMemory)):
        if table in data:
            values[table] = build(cls, data[table], f"{where}: [{table}]")
    options = table_of(where, "on_host", data)
    values["on_host"] = {key: texts(f"{where}: [on_host]", key, options[key]) for key in options}
    values["region"] = tuple(
        build(Region, entry, f"{where}: region {entry.get('id')!r:.50}")
        for entry in entries(where, "region", data)
    )
    values["sync"] = tuple(
        sync_point(where, data["framework"], entry) for entry in entries(where, "sync", data)
    )
    _check_regions(values["region"], {point.id for point in values["sync"]}, where)
    return build(Framework, values, where)


def _check_regions(regions: Iterable[Region], known: set[str], where: str) -> None:
    """Raise for an entry that a region names and that is not there."""
    for region in regions:
        for id in (*region.breaks, *region.holds):
            if id not in known:
                raise CatalogueError(f"{where}: region {region.id!r}: no entry {id!r}")


def language(where: str, data: Mapping[str, Any]) -> Language:
    names = {key: frozenset(texts(where, key, value)) for key, value in data.items()}
    made: Language = build(Language, names, where)
    return made


def texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """Return a list of strings as a tuple; raises CatalogueError."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CatalogueError(f"{where}: {key!r} must be a list of strings")
    return tuple(value)


def entries(where: str, table: str, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of an array of tables."""
    entries = data.get(table, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CatalogueError(f"{where}: [[{table}]] must be tables")
    return entries


def triggers(path: Path, data: dict[str, Any]) -> tuple[Trigger, ...]:
    return tuple(
        build(Trigger, entry, f"{path}: trigger {entry.get('protocol')!r}")
        for entry in entries(str(path), "trigger", data)
    )


def strings(path: Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not fits(tuple(value), tuple[str, ...]):
        raise CatalogueError(f"{path}: clocks must be a list of strings")
    return tuple(value)


def table_of(where: str, table: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table, {} where it is not given; raises CatalogueError."""
    found = data.get(table, {})
    if not isinstance(found, dict):
        raise CatalogueError(f"{where}: [{table}] must be a table")
    return found


def by_kind(where: str, table: str, data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return one of the tables BY_KIND, {} where it is not given; raises CatalogueError."""
    result: dict[str, tuple[str, ...]] = {}
    for kind, names in table_of(where, table, data).items():
        if kind not in VALUE_KINDS:
            known = ", ".join(VALUE_KINDS)
            raise CatalogueError(
                f"{where}: [{table}]: unknown value kind {kind!r:.50}; one of {known}"
            )
        result[kind] = texts(f"{where}: [{table}]", kind, names)
    return result


_SYNC_KINDS = {kind.value for kind in SyncKind}
_REQUIRED = ("id", "rule", "kind", "waits_for", "url", "advice", "hit", "miss")


def sync_point(
    path: str, framework: str, entry: dict[str, Any], required: Iterable[str] = _REQUIRED
) -> SyncPoint:
    """Return one `[[sync]]` entry as a record; raises CatalogueError."""
    where = f"{path}: sync {entry.get('id', '(without id)')!r:.80}"
    _check_entry(entry, required, where)
    parts = {"source": Source, "runtime": Runtime, "when": Condition, "unless": Condition}
    built: dict[str, Any] = {
        key: build(cls, entry[key], f"{where}: {key}") for key, cls in parts.items() if key in entry
    }
    _check_words(built, where)
    if "confidence" in entry:
        _one_of((entry["confidence"],), tuple(Confidence), f"{where}: confidence")
        built["confidence"] = Confidence(entry["confidence"])
    built |= {"framework": framework, "kind": SyncKind(entry["kind"])}
    point = build(SyncPoint, entry | built, where)
    if len(point.makers) not in (0, 3):
        raise CatalogueError(f"{where}: makers: names of a zero, a one and any number, or none")
    return point


def _check_entry(entry: Mapping[str, Any], required: Iterable[str], where: str) -> None:
    """Raise for an entry that lacks something, or holds what nobody would understand."""
    for key in required:
        if not entry.get(key):
            raise CatalogueError(f"{where}: missing {key!r}")
        if not isinstance(entry[key], str):
            raise CatalogueError(f"{where}: {key!r} must be a string")
    if entry["kind"] not in _SYNC_KINDS:
        raise CatalogueError(f"{where}: unknown kind {entry['kind']!r:.50}")
    if entry["waits_for"] not in WAITS_FOR:
        raise CatalogueError(f"{where}: unknown waits_for {entry['waits_for']!r}")
    if not re.fullmatch(r"ASG\d{3}", entry["rule"]):
        raise CatalogueError(f"{where}: rule {entry['rule']!r} is no rule code")
    if entry["url"] and not str(entry["url"]).startswith("https://"):
        raise CatalogueError(f"{where}: url must start with https://")
    if not ("source" in entry and "runtime" in entry) and not entry.get("one_sided"):
        raise CatalogueError(f"{where}: only one of source and runtime: say why in 'one_sided'")


def _check_words(built: Mapping[str, Any], where: str) -> None:
    """Raise for a word in an entry's source or runtime table that nobody would understand."""
    if source := built.get("source"):
        _one_of(source.operators, OPERATORS, f"{where}: source: operators")
        _one_of((source.receiver,), VALUE_KINDS, f"{where}: source: receiver")
    if runtime := built.get("runtime"):
        _one_of(runtime.operators, OPERATORS, f"{where}: runtime: operators")
        _one_of((runtime.value,), DECIDERS, f"{where}: runtime: value")
        _one_of((runtime.moves,), MOVES, f"{where}: runtime: moves")
        hooked = runtime.patch + runtime.dispatch
        _one_of(tuple(runtime.times), hooked, f"{where}: runtime: times")


def _one_of(words: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    for word in words:
        if word not in known:
            expected = ", ".join(filter(None, known))
            raise CatalogueError(f"{where}: unknown {word!r:.50}; one of {expected}")


def build(cls: type[R], data: Any, where: str) -> R:
    """Make a record from a TOML table, lists turned into tuples; unknown keys are errors."""
    if not isinstance(data, dict):
        raise CatalogueError(f"{where}: must be a table, not {reprlib.repr(data)}")
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]  # a NamedTuple
    if unknown := sorted(set(data).difference(fields)):
        raise CatalogueError(f"{where}: unknown key {unknown[0]!r:.50}")
    try:
        return made(cls, data)
    except ValueError as error:
        raise CatalogueError(f"{where}: {error}") from error
