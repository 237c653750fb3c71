"""Control characters, made visible: what a trace or a source file is called never moves a cursor.

Names come from files that somebody else may have written. A terminal obeys the control characters
in them, and some that no ASCII table has (C1, and those that turn the direction of writing).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

# Line breaks and tabs are left to what lays out the text; only JSON writes all of it as it is.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
_CONTROL = re.compile(f"[{_CONTROLS}\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with each control character as Python would write it: `\\x1b`."""
    return _CONTROL.sub(_escape, text)


def in_json(text: str) -> str:
    """JSON text with each control character escaped; they can only stand within its strings."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown(value: T) -> T:
    """A record with all of its texts `visible`; the same object where they are already."""
    return _shown(value, {})  # type: ignore[return-value]


Done = dict[int, object]  # id of a record -> what it became: many refer to the same sites


def _shown(value: object, done: Done) -> object:
    if isinstance(value, str):
        return visible(value) if not isinstance(value, Enum) and _CONTROL.search(value) else value
    if isinstance(value, tuple | list):
        parts = [_shown(part, done) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, Mapping):
        return _shown_mapping(value, done)
    if is_dataclass(value) and not isinstance(value, type):
        if id(value) not in done:
            done[id(value)] = _shown_record(value, done)
        return done[id(value)]
    return value


def _shown_record(value: DataclassInstance, done: Done) -> object:
    texts, others = _fields(type(value))
    changed: dict[str, object] = {}
    if _CONTROL.search("\n".join([str(getattr(value, name)) for name in texts])):
        changed = {name: _shown(getattr(value, name), done) for name in texts}
    for name in others:
        old = getattr(value, name)
        new = _shown(old, done) if old else old
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value


@lru_cache
def _fields(record: type[DataclassInstance]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields that are text, and of the others that may hold some."""
    types = {field.name: str(field.type) for field in fields(record)}
    texts = tuple(name for name, kind in types.items() if kind in ("str", "str | None"))
    others = (n for n, kind in types.items() if n not in texts and not _NUMBERS.fullmatch(kind))
    return texts, tuple(others)


_NUMBERS = re.compile(r"(?:int|float|bool|None|Mapping|tuple|[\[\], |.])+")  # types without text


def _shown_mapping(value: Mapping[object, object], done: Done) -> Mapping[object, object]:
    made = {_shown(key, done): _shown(item, done) for key, item in value.items()}
    old = value.items()
    same = all(a is c and b is d for (a, b), (c, d) in zip(made.items(), old, strict=True))
    return value if same else made


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
