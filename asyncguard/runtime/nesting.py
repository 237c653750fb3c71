"""Nestings of values: taken apart now, and put together again around other leaves.

Taken apart are dictionaries, lists, tuples (named ones too) and instances of dataclasses, of their
own type each. Anything else is a leaf.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

Build = Callable[[Sequence[Any]], Any]  # what makes the nesting, of the values that were replaced
Replace = Callable[[Any], "int | None"]  # which of them a leaf stands for; None: it stays

_PLAIN = frozenset({int, float, bool, complex, str, bytes, type(None)})


def take_apart(value: Any, replace: Replace) -> Build:
    """Ask `replace` about each leaf, in their order; return what makes the nesting anew.

    Later changes of the containers do not show in what is made.
    """
    kind = type(value)
    if kind in _PLAIN:
        return lambda values: value
    if isinstance(value, dict):
        return _mapping(value, replace)
    if isinstance(value, list | tuple):
        return _sequence(value, replace)
    if hasattr(kind, "__dataclass_fields__"):
        return _record(value, replace)
    at = replace(value)
    return (lambda values: value) if at is None else (lambda values: values[at])


def _mapping(value: dict[Any, Any], replace: Replace) -> Build:
    parts = [(key, take_apart(each, replace)) for key, each in value.items()]
    if type(value) is dict:
        return lambda values: {key: build(values) for key, build in parts}
    empty = copy.copy(value)  # a subclass has more than its items, as a factory of defaults
    empty.clear()

    def build_other(values: Sequence[Any]) -> Any:
        made = copy.copy(empty)
        for key, build in parts:
            made[key] = build(values)
        return made

    return build_other


def _sequence(value: Any, replace: Replace) -> Build:
    kind = type(value)
    parts = [take_apart(each, replace) for each in value]
    if hasattr(kind, "_make"):  # named
        return lambda values: kind._make([build(values) for build in parts])
    return lambda values: kind([build(values) for build in parts])


def _record(value: Any, replace: Replace) -> Build:
    held = copy.copy(value)
    names = [name for name in type(value).__dataclass_fields__ if hasattr(value, name)]
    parts = [(name, take_apart(getattr(value, name), replace)) for name in names]

    def build_record(values: Sequence[Any]) -> Any:
        made = copy.copy(held)
        for name, build in parts:
            object.__setattr__(made, name, build(values))  # frozen ones have no other way
        return made

    return build_record
