"""Files that extend a framework: another device of its own arrays, with the package that brings it.

Such a file has the tables of a framework's own, and they are joined with those: lists are longer
then, tables have more rows. What is one answer for the whole framework (`asynchronous_cpu`) stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

from asyncguard.catalogue import tables
from asyncguard.catalogue.records import Extension, Framework, Graph, HostMemory, Masks
from asyncguard.catalogue.tables import CatalogueError

_PARTIAL = {"graph": Graph, "masks": Masks, "memory": HostMemory}
_OWN = ("name", "path", "modules", "checked_version", "extensions")  # not joined by their field


def extend(frameworks: Mapping[str, Framework], path: Path, data: dict[str, Any]) -> Framework:
    """Return the framework that a file extends, with what it says; raises CatalogueError."""
    base = frameworks.get(data["extends"]) if isinstance(data["extends"], str) else None
    if base is None:
        known = ", ".join(frameworks)
        raise CatalogueError(f"{path}: extends is {data['extends']!r:.50}; one of {known}")
    given = {key: value for key, value in data.items() if key != "extends"}
    if answers := sorted(key for key in given if isinstance(getattr(base, key, None), bool)):
        raise CatalogueError(f"{path}: {answers[0]!r} is for {base.name} as a whole to say")
    for table, cls in _PARTIAL.items():
        if isinstance(given.get(table), dict):
            given[table] = _filled(cls, given[table])
    given |= {"framework": base.name, "asynchronous_cpu": base.asynchronous_cpu}
    more = tables.framework(path, given)
    require_new(base, more, str(path))
    extension = Extension(path, more.modules, more.checked_version, more.devices)
    values = {name: joined(getattr(base, name), getattr(more, name)) for name in _joinable()}
    values["companions"] = (*values["companions"], *more.modules)
    return base._replace(**values, extensions=(*base.extensions, extension))


def require_new(base: Framework, more: Framework, where: str) -> None:
    """Raise CatalogueError for an entry whose id the framework has already."""
    if taken := {point.id for point in base.sync}.intersection(point.id for point in more.sync):
        raise CatalogueError(f"{where}: sync {min(taken)!r:.80}: the id is taken; choose another")


def joined(base: Any, more: Any) -> Any:
    """Return both together: lists one behind the other, tables and records by their fields."""
    if base is None or more is None:
        return more if base is None else base
    if isinstance(base, Mapping):
        return {key: joined(base.get(key), more.get(key)) for key in {**base, **more}}
    if hasattr(base, "_fields"):
        return type(base)(*map(joined, base, more))
    return base + more if isinstance(base, tuple) else base


def _joinable() -> tuple[str, ...]:
    return tuple(name for name in Framework._fields if name not in _OWN)


def _filled(cls: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a record, with nothing in place of what it does not say."""
    hints = get_type_hints(cls)
    needed = (name for name in cls._fields if name not in cls._field_defaults)
    return {name: "" if hints[name] is str else [] for name in needed} | data
