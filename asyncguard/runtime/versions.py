"""Version ranges of catalogue entries: `>=1.2, <2.0`, also `==` and `!=`, numbers only."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

_TESTS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def matches(version: str, ranges: str) -> bool:
    """Whether `version` lies in all `ranges`; a version that cannot be read lies in every range."""
    number = _number(version)
    if not number:
        return True
    return all(_holds(number, part.strip()) for part in ranges.split(",") if part.strip())


def _holds(number: tuple[int, ...], part: str) -> bool:
    found = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*([\d.]+)", part)
    if found is None:
        raise ValueError(f"{part!r} is no version range such as '>=2.1'")
    limit = _number(found[2])
    width = max(len(number), len(limit))
    pad = (0,) * width
    return _TESTS[found[1]]((number + pad)[:width], (limit + pad)[:width])


def _number(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
