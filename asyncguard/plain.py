"""Plain data (of JSON or TOML) -> records, each value checked against the type of its field."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from functools import lru_cache
from inspect import Parameter, signature
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
BITS = 63  # of a count, a line or a time; Python's own integers have no end


def made(record: type[R], values: Mapping[str, Any]) -> R:
    """Return the record, lists turned into tuples; raises ValueError naming the field.

    The names must be those of fields; their types may be classes, unions, tuples of one type and
    mappings, as the records of this package write them.
    """
    hints = _hints(record)  # type: ignore[arg-type]  # classes can be hashed
    checked = {}
    for name, value in values.items():
        value = tuple(value) if isinstance(value, list) else value
        if not fits(value, hints[name]):
            raise ValueError(f"{name} is {reprlib.repr(value)}")
        checked[name] = value
    for name in _required(record):  # type: ignore[arg-type]
        if name not in checked:
            raise ValueError(f"it lacks {name!r}")
    return record(**checked)


_hints = lru_cache(get_type_hints)


@lru_cache
def _required(record: type[object]) -> tuple[str, ...]:
    """Return the fields without a default."""
    parameters = signature(record).parameters.values()
    return tuple(each.name for each in parameters if each.default is Parameter.empty)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; integers also if they are of at most 64 bits."""
    if type(value) is hint and hint is not int:
        return True
    kinds, parts = _taken_apart(hint)
    if kinds is None:
        return any(fits(value, part) for part in parts)
    if kinds is Any:
        return True
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        return False
    if kinds is int:
        return bool(value.bit_length() <= BITS)
    if kinds in (tuple, frozenset):
        return all(fits(item, parts[0]) for item in value)
    if parts:  # a mapping
        items = value.items()
        return all(fits(key, parts[0]) and fits(item, parts[1]) for key, item in items)
    return True


@lru_cache
def _taken_apart(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its parameters (None for a union), and these."""
    parts = get_args(hint)
    return None if isinstance(hint, UnionType) else get_origin(hint) or hint, parts
