"""What two runs printed, compared: the same text, the same but for rounding, or something else.

A program that prints how long it took prints something else each time. A second run of the
unchanged program tells such numbers and lines apart from those that a repair has changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

TOLERANCE = 1e-5  # relative; sums of floats in another order differ by less
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\d.])")


class Comparison(NamedTuple):
    """Whether outputs are equal, by how much numbers differ at most, and where they first do."""

    equal: bool
    difference: float  # relative, of numbers in text that is the same
    first: tuple[str, str] | None  # lines before and after, where they are not equal
    fewer: int = 0  # lines that are missing, where the others are the same and in their order
    unstable: int = 0  # lines in which the unchanged program differs from run to run


class _Line(NamedTuple):
    """A line of the unchanged program's output."""

    text: str
    unstable: frozenset[int] = frozenset()  # positions of numbers that differ from run to run
    is_free: bool = False  # its text differs from run to run

    def difference(self, new: str) -> float:
        """Return the largest relative difference to a line; infinity if the text differs."""
        if self.is_free or self.text == new:
            return 0.0
        if _NUMBER.sub("#", self.text) != _NUMBER.sub("#", new):
            return math.inf
        apart = _apart(self.text, new)
        return max((d for at, d in enumerate(apart) if at not in self.unstable), default=0.0)


def compare(before: str, after: str, again: str | None = None) -> Comparison:
    """Compare two outputs line by line; numbers with a point may differ by TOLERANCE.

    `again` is the output of another run of the unchanged program: numbers and lines in which it
    differs from `before` are left out.
    """
    lines = _expected(before.splitlines(), None if again is None else again.splitlines())
    unstable = sum(line.is_free or bool(line.unstable) for line in lines)
    new_lines = after.splitlines()
    largest = 0.0
    for old, new in zip_longest(lines, new_lines):
        difference = math.inf if old is None or new is None else old.difference(new)
        if difference > TOLERANCE:
            first = (old.text if old else "", new or "")
            return Comparison(False, difference, first, _missing(lines, new_lines), unstable)
        largest = max(largest, difference)
    return Comparison(True, largest, None, 0, unstable)


def _expected(before: Sequence[str], again: Sequence[str] | None) -> list[_Line]:
    """Mark in each line what another run of the same program has printed differently."""
    if again is None:
        return [_Line(text) for text in before]
    lines = []
    for text, other in zip_longest(before, again[: len(before)]):
        if other is None or _NUMBER.sub("#", text) != _NUMBER.sub("#", other):
            lines.append(_Line(text, is_free=True))
        else:
            apart = enumerate(_apart(text, other))
            lines.append(_Line(text, frozenset(at for at, d in apart if d > TOLERANCE)))
    return lines


def _missing(before: Sequence[_Line], after: Sequence[str]) -> int:
    """Return how many lines are missing, if nothing else has changed; else 0."""
    rest = iter(before)
    alike = all(any(old.difference(new) <= TOLERANCE for old in rest) for new in after)
    return len(before) - len(after) if alike else 0


def _apart(old: str, new: str) -> list[float]:
    """Return the relative differences of the numbers of two lines with the same text."""
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return [_relative(a, b) for a, b in pairs]


def _relative(old: str, new: str) -> float:
    left, right = float(old), float(new)
    if left == right:
        return 0.0
    if "." not in old + new and "e" not in (old + new).lower():
        return math.inf  # integers are counts
    return abs(left - right) / max(abs(left), abs(right))
