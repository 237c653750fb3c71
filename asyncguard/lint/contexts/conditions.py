"""Conditions that guard what they govern.

A guard makes its branch rare: every n-th step, the first or the last one, a debug flag. `rank == 0`
is not a guard: that rank still waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeGuard

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts.counters import (
    MORE,
    RARELY_TRUE,
    USUAL,
    Rarity,
    counter_comparison,
    counts_periods,
    has_modulo,
    modulo_truth,
)
from asyncguard.lint.contexts.device_tests import of_place
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.type_tests import asks_type
from asyncguard.lint.domain.loops import Guard
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, suite, walk

_FLAG, _DEBUGS = family("test.flag"), family("test.debugs")
_PERIOD = family("period.length")
_COUNTER = family("counter.compared")
_CONDITIONS = frozenset({cst.Comparison, cst.BooleanOperation, cst.UnaryOperation})
_KEPT = _CONDITIONS | {cst.Subscript}
_CHOOSING = _KEPT | {cst.IfExp}
_SEVERAL = frozenset({cst.Tuple, cst.ListComp, cst.GeneratorExp})


def _may_be_none(value: cst.BaseExpression) -> bool:
    """Whether a condition says if this is something or `None`: `0 if self.noisy else None`."""
    return type(value) is cst.IfExp and "None" in (dotted(value.body), dotted(value.orelse))


def remember(frame: Frame, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
    """Keep the condition that a variable is assigned: `due = step % n == 0`.

    Or each of several: `log, save = [step % n == 0 for n in (10, 100)]`. Likewise what is chosen by
    an index, `state = states[indices]`: a later call may tell where that was.
    """
    if type(target) is cst.Tuple and type(value) in _SEVERAL:
        for index, element in enumerate(target.elements):
            if type(value) is not cst.Tuple:
                remember(frame, element.value, value.elt)  # type: ignore[attr-defined]
            elif len(value.elements) == len(target.elements):
                remember(frame, element.value, value.elements[index].value)
        return
    asks = type(value) in _CHOOSING or asks_type(value)
    if not (frame.held or asks):
        return  # there is nothing to forget
    path = dotted(target)
    if type(value) is cst.IfExp and (dotted(value.body), dotted(value.orelse)) == ("True", "False"):
        value = value.test
    if path and (type(value) in _KEPT or asks_type(value) or _may_be_none(value)):
        frame.held[path] = value
    else:
        frame.held.pop(path, None)


IDENTITY: frozenset[type[cst.CSTNode]] = frozenset({cst.Is, cst.IsNot})


def guard_of(frame: Frame, test: cst.BaseExpression) -> tuple[Guard | None, Guard | None]:
    """Return the guards that a condition puts on its `if` and its `else` branch."""
    depth = len(frame.loops)
    if type(test) is cst.Comparison and type(test.comparisons[0].operator) in IDENTITY:
        asks = type(test.comparisons[0].operator) is cst.IsNot  # `debug_level is not None`
        debugs = asks and _DEBUGS(dotted(test.left).rpartition(".")[2])
        return Guard(depth, True) if debugs else None, None
    _note_period(frame, test)
    rarity = rare(frame, test)
    if rarity == USUAL:
        return None, None
    asked = test
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        asked = test.expression
    counted = _counted(frame, test)
    one = counted >= 0 and _asks_for_one(test)
    lasting = is_flag(asked)
    flag = Guard(depth, lasting, first=counted) if one else Guard(depth, lasting, counted)
    return (flag if rarity.rarely_true else None), (flag if rarity.rarely_false else None)


def guards_of_parts(frame: Frame, node: cst.BooleanOperation) -> Iterator[Guard | None]:
    """Yield, for each part of a connective but the first, the guard that those before put on it.

    A part is asked as its guard is drawn, so that all parts take time in proportion to them.
    """
    otherwise = type(node.operator) is not cst.And
    first, *parts = operands(node)
    yield guard_of(frame, first)[otherwise]
    _note_period(frame, node.left)
    known = _asked(frame, first)
    for part in parts[:-1]:
        known = _joined(known, node.operator, _asked(frame, part))
        yield Guard(len(frame.loops), False) if known.rarity[otherwise] else None


def operands(node: cst.BooleanOperation) -> list[cst.BaseExpression]:
    """Return `a`, `b` and `c` of `a and b and c`."""
    found: list[cst.BaseExpression] = [node.right]
    left = node.left
    while type(left) is cst.BooleanOperation and type(left.operator) is type(node.operator):
        found.append(left.right)
        left = left.left
    return [left, *reversed(found)]


def _note_period(frame: Frame, test: cst.BaseExpression) -> None:
    """Record in the innermost loop that a test holds in every n-th iteration only."""
    if frame.loops and counts_periods(frame.loops[-1].targets, test):
        loop = frame.loops[-1]
        loop.shape = loop.shape._replace(periodic=True)


def _counted(frame: Frame, test: cst.BaseExpression) -> int:
    """Return the innermost loop whose target a comparison tests, -1 if it tests none."""
    if type(test) is not cst.Comparison:
        return -1
    names = {n.value for n in walk(test) if type(n) is cst.Name}
    counted = [i for i, loop in enumerate(frame.loops) if not names.isdisjoint(loop.targets)]
    return counted[-1] if counted else -1


def _asks_for_one(test: cst.BaseExpression) -> bool:
    """Whether a comparison asks for one iteration, by its number: `i == 0`."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    asked = test.comparisons[0]
    named = type(test.left) is cst.Name and type(asked.comparator) is cst.Integer
    return named and type(asked.operator) in _EQUAL


def compares(
    test: cst.BaseExpression, operators: Collection[type[cst.CSTNode]]
) -> TypeGuard[cst.Comparison]:
    """Whether a test is one comparison by one of these operators."""
    single = type(test) is cst.Comparison and len(test.comparisons) == 1
    return single and type(test.comparisons[0].operator) in operators  # type: ignore[attr-defined]


Question = Callable[[Frame, cst.BaseExpression], Rarity | None]


def rare(frame: Frame, test: cst.BaseExpression) -> Rarity:
    """Return whether the condition is rarely true, and whether it is rarely false.

    A connective hands on what holds of its parts; of another condition the first question decides
    that has an answer.
    """
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return _of_opposite(frame, test.expression)
    if type(test) is cst.BooleanOperation:
        return _asked(frame, test).rarity
    if type(test) is cst.NamedExpr:
        return rare(frame, test.value)
    for question in _QUESTIONS_OF.get(type(test), _QUESTIONS):
        answer = question(frame, test)
        if answer is not None:
            return answer
    return USUAL


def _of_opposite(frame: Frame, test: cst.BaseExpression) -> Rarity:
    if has_modulo(test):
        return modulo_truth(test, negated=True)
    return rare(frame, test).inverted()


class _Asked(NamedTuple):
    """A condition as a part of a connective."""

    rarity: Rarity
    is_switch: bool  # an option: every n-th time, or always if that is asked for
    is_abnormal: bool


def _asked(frame: Frame, test: cst.BaseExpression) -> _Asked:
    if type(test) is not cst.BooleanOperation:
        return _Asked(rare(frame, test), bool(dotted(test)), _abnormal(test))
    parts = (_asked(frame, part) for part in operands(test))
    return reduce(lambda left, right: _joined(left, test.operator, right), parts)


def _joined(left: _Asked, connective: cst.BaseBooleanOp, right: _Asked) -> _Asked:
    """Return what holds of both together."""
    (one_true, one_false), (other_true, other_false) = left.rarity, right.rarity
    if type(connective) is cst.And:
        rarity = Rarity(one_true or other_true, one_false and other_false)
        return _Asked(rarity, left.is_switch or right.is_switch, False)
    rarely = (one_true or left.is_switch) and (other_true or right.is_switch)
    odd = left.is_abnormal or right.is_abnormal  # and so is what else is asked for
    rarity = Rarity(odd or (rarely and (one_true or other_true)), one_false or other_false)
    return _Asked(rarity, left.is_switch and right.is_switch, False)


def _of_abnormal(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    return RARELY_TRUE if _abnormal(test) else None


def _of_name(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    return RARELY_TRUE if is_flag(test) else None


def _of_remembered(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """Answer for the condition that a variable holds, which may name the variable itself."""
    path = dotted(test)
    condition = frame.held.pop(path, None)
    if condition is None:
        return None
    remembered = rare(frame, condition)
    frame.held[path] = condition
    return remembered


def _of_period(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    return modulo_truth(test, negated=False) if has_modulo(test) else None


def _of_predicate(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """Answer for a call of a function in sight that says whether it is time: `self.due(step)`."""
    if type(test) is not cst.Call:
        return None
    calls = (e.callee for e in reversed(frame.events[-NEAR:]) if e.node is test and e.callee)
    callee = next(calls, None)
    if callee is None:
        return None
    callee.module.materialise_body(callee)
    body = suite(callee.node.body) if type(callee.node) is cst.FunctionDef else ()
    returned = body[-1].value if body and type(body[-1]) is cst.Return else None
    return RARELY_TRUE if returned is not None and _is_seldom(returned) else None


NEAR = 8  # events of a test, at most


def _is_seldom(test: cst.BaseExpression) -> bool:
    """Whether a condition holds every n-th time, or only then."""
    if type(test) is cst.BooleanOperation and type(test.operator) is cst.And:
        return any(map(_is_seldom, operands(test)))
    plain = type(test) in (cst.Comparison, cst.UnaryOperation)
    negated = type(test) is cst.UnaryOperation and type(test.operator) is cst.Not
    return plain and has_modulo(test) and (negated or modulo_truth(test, negated=False).rarely_true)


def _of_clock(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """`time.time() - last > interval`: so long after the last time."""
    return RARELY_TRUE if compares(test, MORE) and _reads_clock(frame, test) else None


def _of_counter(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    single = type(test) is cst.Comparison and len(test.comparisons) == 1
    return counter_comparison(frame, test) if single else None  # type: ignore[arg-type]


# What makes a condition rare, in the order in which it is asked; no kind has all answers.
_QUESTIONS = (
    _of_abnormal, _of_name, _of_remembered, _of_period, _of_clock, of_place, _of_counter,
    _of_predicate,
)  # fmt: skip
_OF_NAMES = _QUESTIONS[:3]
_QUESTIONS_OF: Mapping[type[cst.CSTNode], Sequence[Question]] = {
    cst.Name: _OF_NAMES,
    cst.Attribute: (*_OF_NAMES, of_place),
    cst.Comparison: [
        q for q in _QUESTIONS if q not in (_of_abnormal, _of_remembered, _of_predicate)
    ],
}


_EQUAL = (cst.Equal, cst.NotEqual)


def _reads_clock(frame: Frame, test: cst.Comparison) -> bool:
    """Whether a test asks the time: `time.time() - last > interval`."""
    clocks = {name.rpartition(".")[2] for name in frame.analysis.knowledge.clocks}
    calls = (n.func for n in walk(test.left) if type(n) is cst.Call)
    return any(dotted(func).rpartition(".")[2] in clocks for func in calls)


_ABNORMAL = family("test.abnormal")
_NAMING = frozenset({cst.Call, cst.Name, cst.Attribute})


def _abnormal(test: cst.BaseExpression) -> bool:
    """Whether the test checks for NaN, infinity or overflow."""
    named = type(test) in _NAMING
    return named and any(_ABNORMAL(n.value) for n in walk(test) if type(n) is cst.Name)


def is_flag(test: cst.BaseExpression) -> bool:
    """Whether the condition is a flag for debugging, logging now, the first or the last step."""
    if type(test) is cst.Comparison:
        if type(test.comparisons[0].operator) in IDENTITY:
            return False
        if _PERIOD(dotted(test.left)):
            return False  # whether it is done at all: `log_interval > 0`
        return is_flag(test.left) and not any(
            _COUNTER(dotted(t.comparator)) for t in test.comparisons
        )
    if type(test) is cst.Call:
        return bool(_FLAG(dotted(test.func).rpartition(".")[2]))
    path = dotted(test)
    return bool(path and _FLAG(path.rpartition(".")[2]))


def _number(node: cst.BaseExpression | None) -> int | None:
    if type(node) is cst.Integer:
        return node.evaluated_value
    return {"True": 1, "False": 0}.get(dotted(node)) if node is not None else None


def never_holds(test: cst.BaseExpression) -> bool:
    """Whether a test is false as it is written: `if 0:` switches off what somebody may want."""
    return _number(test) == 0


def of_call(frame: Frame, node: cst.Call) -> Guard | None:
    """Return the guard that a call puts on its arguments: what warns does not in every step."""
    return Guard(len(frame.loops), True) if warns(node) else None


def warns(node: cst.CSTNode) -> bool:
    """Whether this is a call that warns: `warnings.warn(...)`, `logger.warning(...)`."""
    if type(node) is not cst.Call:
        return False
    last = node.func.attr if type(node.func) is cst.Attribute else node.func
    return type(last) is cst.Name and last.value.lower() in load().language.warns
