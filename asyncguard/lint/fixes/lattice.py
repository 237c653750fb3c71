"""What a value may be made of, from nothing known to anything, and how two answers become one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PLAIN, TENSOR, NDARRAY, OTHER = 1, 2, 4, 8  # a value is any of what is set
ARRAY = TENSOR | NDARRAY


class Sort(NamedTuple):
    """What a value is made of, and how many lists, tuples or dictionaries are around that."""

    element: int
    depth: int = 0


NOTHING, UNKNOWN, NUMBER = Sort(0), Sort(OTHER), Sort(PLAIN)


def join(left: Sort, right: Sort) -> Sort:
    """Return what is known of a value that is the one or the other."""
    if not left.element:
        return right
    if not right.element or left == right:
        return left
    same = left.depth == right.depth
    return Sort(left.element | right.element, left.depth) if same else _mixed(left, right)


def _mixed(left: Sort, right: Sort) -> Sort:
    return Sort(OTHER, 1) if left.depth and right.depth else UNKNOWN


def element_of(sort: Sort) -> Sort:
    """Return what iterating over a value gives, or an element of it."""
    if sort.depth:
        return Sort(sort.element, sort.depth - 1)
    return sort if not sort.element & OTHER else UNKNOWN


def held(sort: Sort) -> Sort:
    """Return what a list of such values is."""
    return Sort(sort.element or PLAIN, sort.depth + 1)


def combined(*sides: Sort) -> Sort:
    """Return what arithmetic of values gives: an array where one is an array for sure."""
    if any(side.depth or side.element & OTHER for side in sides):
        return UNKNOWN
    if not all(side.element for side in sides):
        return NOTHING
    sure = [side.element for side in sides if not side.element & PLAIN]
    every = 0
    for side in sides:
        every |= side.element
    return Sort(every & ARRAY if sure else every)


def joined(sorts: Iterable[Sort]) -> Sort:
    """Return what is known of a value that is one of several."""
    found = NOTHING
    for sort in sorts:
        found = join(found, sort)
    return found
