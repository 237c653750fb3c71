"""Conditions on counters: the remainder of one, the first, the last or a few of its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, text_of, walk

_ACCUMULATES = family("value.accumulation")
_COUNTER = family("counter.compared")
_EPOCH = family("counter.epoch")
_LAST = family("counter.last")
_RANK = family("value.rank")
_STEP = family("counter.step")
FIRST_STEPS = 20  # `step < 20`: a few at the start, a profiler's say
MORE = (cst.GreaterThan, cst.GreaterThanEqual)


class Rarity(NamedTuple):
    """How seldom a condition is true, and how seldom it is false."""

    rarely_true: bool
    rarely_false: bool

    def inverted(self) -> Rarity:
        """Return what holds of the opposite condition."""
        return Rarity(self.rarely_false, self.rarely_true)


USUAL = Rarity(False, False)
RARELY_TRUE = Rarity(True, False)
RARELY_FALSE = Rarity(False, True)


def modulo_truth(test: cst.BaseExpression, *, negated: bool) -> Rarity:
    """`i % n == 0` is rarely true; `i % n`, `i % n != 0` are rarely false."""
    usual = True
    if type(test) is cst.Call:  # of a function that compares: `tf.equal(i % n, 0)`
        usual = dotted(test.func).rpartition(".")[2] != "equal"
    if type(test) is cst.Comparison:
        usual = type(test.comparisons[0].operator) in (cst.NotEqual, cst.GreaterThan)
    if negated:
        usual = not usual
    return RARELY_FALSE if usual else RARELY_TRUE


def counts_periods(counters: frozenset[str], test: cst.BaseExpression) -> bool:
    """Whether a test asks what is left of one of these counters: `i % n == 0`."""
    periods = (n.left for n in walk(test) if type(n) is cst.BinaryOperation) if counters else ()
    names = (n for left in periods for n in walk(left) if type(n) is cst.Name)
    return has_modulo(test) and any(name.value in counters for name in names)


def has_modulo(test: cst.BaseExpression) -> bool:
    """Whether the test asks for a period; that of gradient accumulation is one optimizer step."""
    if type(test) is cst.Comparison and all(map(_is_plain, _sides(test))):
        return False
    return not dotted(test) and any(
        not _ACCUMULATES(dotted(divisor))
        and not (type(divisor) is cst.Integer and divisor.value == "1")
        for divisor in _divisors(test)
    )


def _sides(test: cst.Comparison) -> list[cst.BaseExpression]:
    return [test.left, *(target.comparator for target in test.comparisons)]


def _is_plain(node: cst.BaseExpression) -> bool:
    return type(node) in (cst.Integer, cst.SimpleString) or dotted(node) != ""


def _divisors(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what a test divides by for the remainder: `i % n`, `mod(i, n)`."""
    for node in walk(test):
        if type(node) is cst.BinaryOperation and type(node.operator) is cst.Modulo:
            if not isinstance(node.left, cst.BaseString):
                yield node.right
        elif type(node) is cst.Call and len(node.args) == 2 and _gives_remainder(node.func):
            yield node.args[1].value


def _gives_remainder(func: cst.BaseExpression) -> bool:
    return dotted(func).rpartition(".")[2] in load().language.remainders


def counter_comparison(frame: Frame, test: cst.Comparison) -> Rarity:
    """`i == last`, `i < 3`, `i >= max_steps`: rare when one side counts the loop's iterations."""
    operator, bound = test.comparisons[0].operator, test.comparisons[0].comparator
    if not _is_of_counter(frame, test, bound):
        return USUAL
    match operator:
        case cst.Equal():
            return RARELY_TRUE
        case cst.NotEqual():
            return RARELY_FALSE
        case cst.In():
            return RARELY_TRUE if _counts_rounds(test.left) else USUAL
        case cst.NotIn():
            return RARELY_FALSE if _counts_rounds(test.left) else USUAL
        case cst.GreaterThan() | cst.GreaterThanEqual():
            return RARELY_TRUE if _is_period(bound) or _is_last(bound) else USUAL
        case cst.LessThan() | cst.LessThanEqual():
            return RARELY_TRUE if _is_last(test.left) or _is_early(bound) else USUAL
    return USUAL


def _counts_rounds(node: cst.BaseExpression) -> bool:
    """Whether a name counts steps or epochs: some of these are asked for, `step in save_steps`."""
    name = dotted(node).rpartition(".")[2]
    return _STEP(name) or _EPOCH(name)


def _is_last(node: cst.BaseExpression) -> bool:
    """Whether a name is that of an end: `global_step >= args.max_steps`."""
    return _LAST(dotted(node).rpartition(".")[2])


def _is_early(node: cst.BaseExpression) -> bool:
    """Whether a bound is the number of one of the first steps."""
    return type(node) is cst.Integer and int(node.value, 0) <= FIRST_STEPS


def _is_of_counter(frame: Frame, test: cst.Comparison, bound: cst.BaseExpression) -> bool:
    """Whether a comparison is of a counter of iterations, and not of a name or of parts of one."""
    sides = (test.left, bound)
    if any(type(side) is cst.SimpleString for side in sides):
        return False  # a name, which counts nothing
    if not any(_counts(frame, side) for side in sides):
        return False
    return not any(_ACCUMULATES(n.value) for n in walk(test) if type(n) is cst.Name)


def _counts(frame: Frame, node: cst.BaseExpression) -> bool:
    if type(node) is cst.Call and dotted(node.func) == "int" and len(node.args) == 1:
        return _counts(frame, node.args[0].value)
    if type(node) is cst.BinaryOperation:
        counts = type(node.operator) is not cst.Modulo and _counts(frame, node.left)
    else:
        path = _entry(node) or dotted(node).rpartition(".")[2]
        counts = bool(path) and _COUNTER(path)
        counts = counts or any(path in loop.targets for loop in frame.loops)
    return counts and not any(_RANK(n.value) for n in walk(node) if type(n) is cst.Name)


def _entry(node: cst.BaseExpression) -> str:
    """Return `count` of `state["count"]`, or ""."""
    if type(node) is not cst.Subscript or len(node.slice) != 1:
        return ""
    index = node.slice[0].slice
    text = index.value if type(index) is cst.Index else None
    return text_of(text) or ""


def _is_period(node: cst.BaseExpression) -> bool:
    """Whether a number of steps is one by its form: `state["updates"] >= 1 / probability`."""
    divides = type(node) is cst.BinaryOperation and type(node.operator) is cst.Divide
    return divides and type(node.left) is cst.Integer  # type: ignore[attr-defined]
