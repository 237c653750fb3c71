"""Control characters, made visible: what a trace or a source file is called never moves a cursor.

Names come from files that somebody else may have written. A terminal obeys the control characters
in them, and some that no ASCII table has (C1, and those that turn the direction of writing).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar

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
    made = _shown(value)
    return made if made is not value else value  # type: ignore[return-value]


def _shown(value: object) -> object:
    if isinstance(value, Enum) or value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return visible(value) if _CONTROL.search(value) else value
    if isinstance(value, tuple | list):
        parts = [_shown(part) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, Mapping):
        return _shown_mapping(value)
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        changed = {name: new for name, old in pairs if (new := _shown(old)) is not old}
        return replace(value, **changed) if changed else value
    return value


def _shown_mapping(value: Mapping[object, object]) -> Mapping[object, object]:
    made = {_shown(key): _shown(item) for key, item in value.items()}
    old = value.items()
    same = all(a is c and b is d for (a, b), (c, d) in zip(made.items(), old, strict=True))
    return value if same else made


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
