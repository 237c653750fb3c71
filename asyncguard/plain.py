"""Plain data (of JSON or TOML) -> records, each value checked against the type of its field."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

R = TypeVar("R")
BITS = 63  # of a count, a line or a time; Python's own integers have no end


def made(record: type[R], values: Mapping[str, Any]) -> R:
    """Return the record, lists turned into tuples; raises ValueError, TypeError naming the field.

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
    return record(**checked)


_hints = lru_cache(get_type_hints)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; integers also if they are of at most 64 bits."""
    parts = get_args(hint)
    if isinstance(hint, UnionType):
        return any(fits(value, part) for part in parts)
    kind = get_origin(hint) or hint
    if kind is Any:
        return True
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return False
    if kind is int:
        return bool(value.bit_length() <= BITS)
    if kind is tuple:
        return all(fits(item, parts[0]) for item in value)
    if parts:  # a mapping
        items = value.items()
        return all(fits(key, parts[0]) and fits(item, parts[1]) for key, item in items)
    return True
