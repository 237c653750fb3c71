"""What a variable may hold at a place of its function."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import libcst as cst

from asyncguard.lint.fixes import bindings, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.syntax.nodes import (
    LOOPS,
    SCOPES,
    STATEMENTS,
    Expression,
    elements,
    name_of,
    parameters,
    targets,
)
from asyncguard.lint.syntax.tree import dotted


def given(code: Code, node: Any) -> Sequence[Expression | None]:
    """Return what a variable may hold at a place; None for what is not a plain assignment.

    That is the assignment above it in its block or in one around it, if nothing else binds the
    name on the way; else all assignments, and none for a parameter or what others may bind.
    """
    scope, name = code.scope(node), node.value
    if name not in bindings.own_names(scope):
        return _of_module(code, node)
    if name in bindings.rebound_elsewhere(code.tree):
        return ()
    if isinstance(scope, SCOPES) and not flow.is_private(code, scope, name):
        return ()
    statement = code.statement(node)
    while True:
        body, index = code.block(statement)
        above = flow.binders(code, body[0]).get(name, ())
        if last := bisect_left(above, index):
            before = body[above[last - 1]]
            if isinstance(before, (cst.Assign, cst.AnnAssign)):
                return [value_of(before, name)]
            return _anywhere(scope, name)
        parent = code.outer(statement)
        if not isinstance(parent, STATEMENTS) or isinstance(parent, SCOPES):
            return _anywhere(scope, name)
        if isinstance(parent, LOOPS) and name in flow.bound(parent):
            return _anywhere(scope, name)
        statement = parent


def value_of(statement: cst.Assign | cst.AnnAssign, name: str) -> Expression | None:
    """Return what an assignment gives a name, through tuples of one length; None if unclear."""
    found = targets(statement) if isinstance(statement, cst.Assign) else [statement.target]
    for target in found:
        if dotted(target) == name:
            return statement.value
        if isinstance(target, cst.Tuple) and isinstance(statement.value, cst.Tuple):
            pairs = [*zip(elements(target), elements(statement.value), strict=False)]
            starred = any(isinstance(part, cst.StarredElement) for pair in pairs for part in pair)
            values = [value for part, value in pairs if name_of(part) == name]
            return values[0] if len(values) == 1 and not starred else None
    return None


def _of_module(code: Code, node: cst.Name) -> Sequence[Expression | None]:
    """Return what a variable of the module may hold, as a function sees it."""
    if any(node.value in bindings.own_names(scope) or node.value in bindings.declared(scope)
           for scope in code.scopes(node)):  # fmt: skip
        return ()
    is_rebound = node.value in bindings.rebound_elsewhere(code.tree)
    return () if is_rebound else flow.assignments(code.tree, node.value)


def annotation(scope: cst.CSTNode, name: str) -> Expression | None:
    """Return the annotation of a parameter that its function does not bind anew."""
    if not isinstance(scope, cst.FunctionDef) or flow.assignments(scope, name):
        return None
    told = (part.annotation for part in parameters(scope) if part.name.value == name)
    found = next(told, None)
    return found.annotation if found is not None else None


def _anywhere(scope: cst.CSTNode, name: str) -> Sequence[Expression | None]:
    return () if name in flow.parameters(scope) else flow.assignments(scope, name)


def is_shadowed(code: Code, node: cst.CSTNode, name: str) -> bool:
    """Whether a function around a node, or the file, gives another meaning to a name.

    An import at the top of the file is its meaning.
    """
    around = (p for p in code.scopes(node) if not isinstance(p, cst.ClassDef))
    if any(name in _own(function) for function in around):
        return True
    return bool(flow.assignments(code.tree, name)) or name in flow.defined(code.tree)


@kept(OF_SCOPES)
def _own(function: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """Return the names that a function is given or binds."""
    return flow.parameters(function) | flow.bound(function)
