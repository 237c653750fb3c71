"""What two runs printed, compared: the same text, the same but for rounding, or something else."""

from __future__ import annotations

import math
import re
from itertools import zip_longest
from typing import NamedTuple

TOLERANCE = 1e-5  # relative; sums of floats in another order differ by less
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")


class Comparison(NamedTuple):
    """Whether outputs are equal, by how much numbers differ at most, and where they first do."""

    equal: bool
    difference: float  # relative, of numbers in text that is the same
    first: tuple[str, str] | None  # lines before and after, where they are not equal
    fewer: int = 0  # lines that are missing, where the others are the same and in their order


def compare(before: str, after: str) -> Comparison:
    """Compare two outputs line by line; numbers with a point may differ by TOLERANCE."""
    largest = 0.0
    for old, new in zip_longest(before.splitlines(), after.splitlines()):
        difference = _difference(old, new)
        if difference > TOLERANCE:
            fewer = _missing(before.splitlines(), after.splitlines())
            return Comparison(False, difference, (old or "", new or ""), fewer)
        largest = max(largest, difference)
    return Comparison(True, largest, None)


def _missing(before: list[str], after: list[str]) -> int:
    """Return how many lines are missing, if nothing else has changed; else 0."""
    rest = iter(before)
    alike = all(any(_difference(old, new) <= TOLERANCE for old in rest) for new in after)
    return len(before) - len(after) if alike else 0


def _difference(old: str | None, new: str | None) -> float:
    """Return the largest relative difference of two lines; infinity if the text differs."""
    if old == new:
        return 0.0
    if old is None or new is None or _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return math.inf
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return max((_apart(a, b) for a, b in pairs), default=0.0)


def _apart(old: str, new: str) -> float:
    left, right = float(old), float(new)
    if left == right:
        return 0.0
    if "." not in old + new and "e" not in (old + new).lower():
        return math.inf  # integers are counts
    return abs(left - right) / max(abs(left), abs(right))
