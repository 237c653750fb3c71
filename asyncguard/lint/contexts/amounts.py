"""Conditions on how much there is of something: far more than usual, or anything at all."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

import libcst as cst

from asyncguard.lint.contexts.caches import counted_by_len
from asyncguard.lint.contexts.counters import MORE, RARELY_FALSE, RARELY_TRUE, Rarity
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

LARGE = 10_000  # elements: few inputs have as many boxes, lines or samples
_EVENT = family("value.event")
_ABOVE_NONE = (cst.GreaterThan, cst.NotEqual)


def compares(
    test: cst.BaseExpression, operators: Collection[type[cst.CSTNode]]
) -> TypeGuard[cst.Comparison]:
    """Whether a test is one comparison by one of these operators."""
    single = type(test) is cst.Comparison and len(test.comparisons) == 1
    return single and type(test.comparisons[0].operator) in operators  # type: ignore[attr-defined]


def of_size(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """`len(boxes) < 40000`: what is done for many more elements than inputs mostly have is rare."""
    if not compares(test, (*MORE, cst.LessThan, cst.LessThanEqual)):
        return None
    bound = test.comparisons[0].comparator
    if type(bound) is not cst.Integer or bound.evaluated_value < LARGE:
        return None
    if counted_by_len(test.left) is None:
        return None
    return RARELY_TRUE if type(test.comparisons[0].operator) in MORE else RARELY_FALSE


def of_event(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """`if len(new_detections) > 0`: in most steps there is none."""
    counted = test
    if compares(test, _ABOVE_NONE):
        bound = test.comparisons[0].comparator
        if type(bound) is not cst.Integer or bound.value != "0":
            return None
        counted = test.left
    return RARELY_TRUE if _EVENT(_counted_path(counted).rpartition(".")[2]) else None


def _counted_path(node: cst.BaseExpression) -> str:
    """Return what is counted: `x` of `x`, `len(x)` and `x.numel()`."""
    if type(node) is not cst.Call:
        return dotted(node)
    if (counted := counted_by_len(node)) is not None:
        return dotted(counted)
    path = dotted(node.func)
    return path.removesuffix(".numel") if path.endswith(".numel") else ""
