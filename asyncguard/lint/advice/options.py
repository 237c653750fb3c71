"""What a finding takes to happen: parameters that are off unless a caller gives them.

`if labels is not None:` where `labels=None`, or `if self.smooth:` where `__init__` takes
`smooth=False`. The wait is in every step all the same, of a program that asks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot

MOST = 2  # that a message names
_LEAVES = (ast.Return, ast.Continue, ast.Break)


def options(spot: Spot) -> tuple[str, ...]:
    """Return the parameters and attributes that must be set for a finding, the outermost first."""
    if not isinstance(spot.scope, FUNCTIONS):
        return ()
    off = _off_in(spot.code, spot.scope)
    if not off:
        return ()
    asked = dict.fromkeys(path for path in _asked(spot, off) if path in off)
    return tuple(reversed(asked))[:MOST]


@kept(OF_SCOPES)
def _off_in(code: Code, function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return what is off by default in a function, and not set there."""
    found = {name for name in _off(function) if not flow.assignments(function, name)}
    owner = code.around(function, ast.ClassDef)
    for part in owner.body if owner is not None else ():
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            found |= _kept(part, {*_off(part)})
    return frozenset(found)


def _kept(init: ast.FunctionDef, parameters: Container[str]) -> set[str]:
    """Return the attributes that keep these parameters as they are."""
    return {
        dotted(node.targets[0])
        for node in init.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id in parameters
        and dotted(node.targets[0]) == f"self.{node.value.id}"
    }


def _off(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the parameters that are `None`, `False` or 0 by default."""
    given = function.args
    named = [*given.posonlyargs, *given.args]
    defaults = [*zip(reversed(named), reversed(given.defaults), strict=False)]
    for parameter, default in [*defaults, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]:
        if isinstance(default, ast.Constant) and default.value in (None, 0):  # and so is False
            yield parameter.arg


def _asked(spot: Spot, off: frozenset[str]) -> Iterator[str]:
    """Yield what conditions around a finding, or before it, ask for, the innermost first."""
    child: ast.AST = spot.node
    for parent in spot.code.parents(spot.node):
        if isinstance(child, ast.stmt):
            yield from _asked_before(spot, child)
        if parent is spot.scope:
            return
        if isinstance(parent, ast.If | ast.IfExp):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if child is not parent.test:
                yield from _needed(parent.test, child in body)
        elif isinstance(parent, ast.BoolOp):
            place = parent.values.index(child)  # type: ignore[arg-type]
            yield from (path for at, path in _of_parts(parent, off) if at < place)
        child = parent


@kept(OF_STATEMENTS)
def _of_parts(connective: ast.BoolOp, off: frozenset[str]) -> list[tuple[int, str]]:
    """Return which of the options its parts ask for, so that those behind are reached."""
    truth = isinstance(connective.op, ast.And)
    parts = enumerate(connective.values)
    return [(at, path) for at, part in parts for path in _needed(part, truth) if path in off]


def _asked_before(spot: Spot, statement: ast.stmt) -> Iterator[str]:
    """Yield what must be set for a statement to be reached: `if x is None: return` before it."""
    block, at = spot.code.block(statement)
    for before in _leaving(spot.scope):
        there, where = spot.code.block(before)
        if there is block and where < at:
            yield from _needed(before.test, False)


@kept(OF_SCOPES)
def _leaving(scope: Scope) -> list[ast.If]:
    """Return the statements of a function that only end it, or the round of a loop, the last first.

    One that raises says what every program gives.
    """
    return [
        node
        for node in reversed([*flow.walk_own(scope)])
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES)
    ]


# What asks whether a variable is set, by what it is compared with: `x is not None`, `x > 0`.
_SET = {("None", ast.IsNot), *((zero, how) for zero in ("0", "0.0") for how in (ast.Gt, ast.NotEq))}
_UNSET = {("None", ast.Is), *((zero, how) for zero in ("0", "0.0") for how in (ast.LtE, ast.Eq))}


def _needed(test: ast.expr, truth: bool) -> Iterator[str]:
    """Yield the variables that must be set for a test to be true, or false, the last first."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _needed(test.operand, not truth)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is truth:
            for value in reversed(test.values):
                yield from _needed(value, truth)
    elif isinstance(test, ast.Compare):
        asked = ast.unparse(test.comparators[-1]), type(test.ops[0])
        if len(test.ops) == 1 and asked in (_SET if truth else _UNSET):
            yield dotted(test.left)
    elif truth:
        yield dotted(test)
