"""Sizes and numbers among the arguments of a call: where a device value in their place is read.

Programs call what takes them often, nearly always with numbers: to know that has to be cheap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NUMBERS: frozenset[type] = frozenset({int, float, bool, complex, str, type(None)})


def are_plain(values: Iterable[Any], plain: frozenset[type]) -> bool:
    """Whether no value is, or holds, one of an unknown type; `plain` are the types that are known.

    A tuple or list is looked into, but not what it holds in turn.
    """
    for value in values:
        if type(value) not in plain and not (
            isinstance(value, tuple | list) and plain.issuperset(map(type, value))
        ):
            return False
    return True
