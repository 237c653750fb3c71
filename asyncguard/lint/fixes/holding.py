"""What a variable may hold at a place of its function."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence

from asyncguard.lint.fixes import bindings, flow
from asyncguard.lint.fixes.code import FUNCTIONS, LOOPS, SCOPES, Code, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.source import parsed


def given(code: Code, node: ast.Name) -> Sequence[ast.expr | None]:
    """Return what a variable may hold at a place; None for what is not a plain assignment.

    That is the assignment above it in its block or in one around it, if nothing else binds the
    name on the way; else all assignments, and none for a parameter or what others may bind.
    """
    scope, name = code.scope(node), node.id
    if name not in bindings.own_names(scope):
        return _of_module(code, node)
    if name in bindings.rebound_elsewhere(code.tree):
        return ()
    if isinstance(scope, SCOPES) and not flow.is_private(code, scope, name):
        return ()
    statement: ast.stmt = code.statement(node)
    while True:
        body, index = code.block(statement)
        above = flow.binders(code, body[0]).get(name, ())
        if last := bisect_left(above, index):
            before = body[above[last - 1]]
            if isinstance(before, (ast.Assign, ast.AnnAssign)):
                return [value_of(before, name)]
            return _anywhere(scope, name)
        parent = code.parent(statement)
        if not isinstance(parent, ast.stmt) or isinstance(parent, SCOPES):
            return _anywhere(scope, name)
        if isinstance(parent, LOOPS) and name in flow.bound(parent):
            return _anywhere(scope, name)
        statement = parent


def value_of(statement: ast.Assign | ast.AnnAssign, name: str) -> ast.expr | None:
    """Return what an assignment gives a name, through tuples of one length; None if unclear."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if dotted(target) == name:
            return statement.value
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs = [*zip(target.elts, statement.value.elts, strict=False)]
            starred = any(isinstance(part, ast.Starred) for pair in pairs for part in pair)
            found = [v for t, v in pairs if isinstance(t, ast.Name) and t.id == name]
            return found[0] if len(found) == 1 and not starred else None
    return None


def _of_module(code: Code, node: ast.Name) -> Sequence[ast.expr | None]:
    """Return what a variable of the module may hold, as a function sees it."""
    around = (p for p in code.parents(node) if isinstance(p, SCOPES))
    if any(node.id in bindings.own_names(scope) or node.id in bindings.declared(scope)
           for scope in around):  # fmt: skip
        return ()
    is_rebound = node.id in bindings.rebound_elsewhere(code.tree)
    return () if is_rebound else flow.assignments(code.tree, node.id)


def annotation(scope: ast.AST, name: str) -> ast.expr | None:
    """Return the annotation of a parameter that its function does not bind anew."""
    if not isinstance(scope, FUNCTIONS) or flow.assignments(scope, name):
        return None
    parts = (part for part in parsed.walk(scope.args) if isinstance(part, ast.arg))
    return next((part.annotation for part in parts if part.arg == name), None)


def _anywhere(scope: ast.AST, name: str) -> Sequence[ast.expr | None]:
    return () if name in flow.parameters(scope) else flow.assignments(scope, name)


def is_shadowed(code: Code, node: ast.AST, name: str) -> bool:
    """Whether a function around a node, or the file, gives another meaning to a name.

    An import at the top of the file is its meaning.
    """
    around = (p for p in code.parents(node) if isinstance(p, (*FUNCTIONS, ast.Lambda)))
    if any(name in _own(function) for function in around):
        return True
    return bool(flow.assignments(code.tree, name)) or name in _defined(code.tree)


@kept(OF_SCOPES)
def _own(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the names that a function is given or binds."""
    return flow.parameters(function) | flow.bound(function)


@kept(OF_SCOPES)
def _defined(tree: ast.Module) -> frozenset[str]:
    """Return the names of the functions and classes of a file."""
    return frozenset(s.name for s in tree.body if isinstance(s, (*FUNCTIONS, ast.ClassDef)))
