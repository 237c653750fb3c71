"""What a finding takes to happen: parameters that are off unless a caller gives them.

`if labels is not None:` where `labels=None`, or `if self.smooth:` where `__init__` takes
`smooth=False`. The wait is in every step all the same, of a program that asks for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import product

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.syntax.nodes import (
    STATEMENTS,
    Expression,
    Scope,
    body,
    constant,
    is_and,
    is_not,
    name_of,
    operands,
    operator,
    otherwise,
    parameters,
    targets,
)
from asyncguard.lint.syntax.tree import dotted

MOST = 2  # that a message names
_LEAVES = (cst.Return, cst.Continue, cst.Break)


def options(spot: Spot) -> tuple[str, ...]:
    """Return the parameters and attributes that must be set for a finding, the outermost first."""
    if not isinstance(spot.scope, cst.FunctionDef):
        return ()
    off = _off_in(spot.code, spot.scope)
    if not off:
        return ()
    asked = dict.fromkeys(path for path in _asked(spot, off) if path in off)
    return tuple(reversed(asked))[:MOST]


@kept(OF_SCOPES)
def _off_in(code: Code, function: cst.FunctionDef) -> frozenset[str]:
    """Return what is off by default in a function, and not set there."""
    found = {name for name in _off(function) if not flow.assignments(function, name)}
    owner = code.around(function, cst.ClassDef)
    for part in body(owner) if owner is not None else ():
        if isinstance(part, cst.FunctionDef) and part.name.value == "__init__":
            found |= _kept(part, {*_off(part)})
    return frozenset(found)


def _kept(init: cst.FunctionDef, given: Container[str]) -> set[str]:
    """Return the attributes that keep these parameters as they are."""
    return {
        dotted(targets(node)[0])
        for node in body(init)
        if isinstance(node, cst.Assign)
        and (name := name_of(node.value)) in given
        and dotted(targets(node)[0]) == f"self.{name}"
    }


def _off(function: cst.FunctionDef) -> Iterator[str]:
    """Yield the parameters that are `None`, `False` or 0 by default."""
    for parameter in parameters(function):
        if constant(parameter.default) in (None, 0):  # and so is False
            yield parameter.name.value


def _asked(spot: Spot, off: frozenset[str]) -> Iterator[str]:
    """Yield what conditions around a finding, or before it, ask for, the innermost first."""
    child: cst.CSTNode = spot.node
    for parent in spot.code.outers(spot.node):
        if isinstance(child, STATEMENTS):
            yield from _asked_before(spot, child)
        if parent is spot.scope:
            return
        match parent:
            case cst.If(test=test) if child is not test:
                yield from _needed(test, child in body(parent))
            case cst.IfExp(test=test) if child is not test:
                yield from _needed(test, child is parent.body)
            case cst.BooleanOperation(right=right) if child is right:
                yield from _of_left(parent, off)
        child = parent


@kept(OF_STATEMENTS)
def _of_left(connective: cst.BooleanOperation, off: frozenset[str]) -> list[str]:
    """Return which of the options its parts ask for, so that the last one is reached."""
    truth, left = is_and(connective), operands(connective)[:-1]
    return [path for part in left for path in _needed(part, truth) if path in off]


def _asked_before(spot: Spot, statement: cst.CSTNode) -> Iterator[str]:
    """Yield what must be set for a statement to be reached: `if x is None: return` before it."""
    block, at = spot.code.block(statement)
    for before in _leaving(spot.scope):
        there, where = spot.code.block(before)
        if there is block and where < at:
            yield from _needed(before.test, False)


@kept(OF_SCOPES)
def _leaving(scope: Scope) -> list[cst.If]:
    """Return the statements of a function that only end it, or the round of a loop, the last first.

    One that raises says what every program gives.
    """
    return [
        node
        for node in reversed([*flow.walk_own(scope)])
        if isinstance(node, cst.If) and not otherwise(node) and isinstance(body(node)[-1], _LEAVES)
    ]


# What asks whether a variable is set, by what it is compared with: `x is not None`, `x > 0`.
_ZEROS = ("0", "0.0")
_SET = {("None", cst.IsNot), *product(_ZEROS, (cst.GreaterThan, cst.NotEqual))}
_UNSET = {("None", cst.Is), *product(_ZEROS, (cst.LessThanEqual, cst.Equal))}


def _needed(test: Expression, truth: bool) -> Iterator[str]:
    """Yield the variables that must be set for a test to be true, or false, the last first."""
    if isinstance(test, cst.UnaryOperation) and is_not(test):
        yield from _needed(test.expression, not truth)
    elif isinstance(test, cst.BooleanOperation):
        if is_and(test) is truth:
            for value in reversed(operands(test)):
                yield from _needed(value, truth)
    elif isinstance(test, cst.Comparison):
        asked = repr(constant(test.comparisons[-1].comparator)), operator(test)
        if len(test.comparisons) == 1 and asked in (_SET if truth else _UNSET):
            yield dotted(test.left)
    elif truth:
        yield dotted(test)
