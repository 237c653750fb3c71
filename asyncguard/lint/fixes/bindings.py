"""What binds the variables of a function: each binding with the expression that it takes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import LISTS, Expression, Scope, is_name
from asyncguard.lint.syntax.tree import expressions

_NUMBER = cst.Integer("0")


class Binding(NamedTuple):
    """A variable, and what it is bound to: a value, elements `taken` from it, in a list or not.

    The value of `x += y` is that statement: it stands for the operation.
    `value` is None where it is anything: of a parameter, which may have an `annotation`, of `with`,
    `except`, `import`, `match` and definitions.
    """

    name: str
    value: Expression | cst.AugAssign | None
    taken: int = 0
    is_listed: bool = False
    annotation: Expression | None = None


@kept(OF_SCOPES)
def own_names(scope: Scope) -> frozenset[str]:
    """Return the names that a function is given or binds, or that a module or class binds."""
    body = [scope.body] if isinstance(scope, cst.Lambda) else nodes.body(scope)
    return flow.parameters(scope).union(*map(flow.bound, body)) - declared(scope)


@kept(OF_SCOPES)
def declared(scope: Scope) -> frozenset[str]:
    """Return the names that a scope itself declares as `global` or `nonlocal`."""
    return _declared(flow.walk_own(scope))


@kept(OF_SCOPES)
def rebound_elsewhere(tree: cst.CSTNode) -> frozenset[str]:
    """Return the names that anything in a piece of code declares as `global` or `nonlocal`."""
    return _declared(nodes.walk(tree))


def _declared(parts: Iterable[cst.CSTNode]) -> frozenset[str]:
    return frozenset(name for part in parts for name in nodes.declared(part))


@kept(OF_SCOPES)
def bindings(code: Code, scope: Scope) -> tuple[Binding, ...]:
    """Return all bindings of the variables of a scope."""
    found = [Binding(name, None) for name in own_names(scope) & rebound_elsewhere(scope)]
    found += _parameters(scope)
    plain: set[cst.CSTNode] = set()
    for node in flow.walk_own(scope):
        for binding, target in of_node(node):
            found.append(binding)
            plain.add(target)
    return (*found, *_unclear(scope, plain))


def _parameters(scope: Scope) -> Iterator[Binding]:
    for part in nodes.parameters(scope):
        told = part.annotation.annotation if part.annotation is not None else None
        yield Binding(part.name.value, None, annotation=None if part.star else told)


def _unclear(scope: Scope, plain: set[cst.CSTNode]) -> Iterator[Binding]:
    """Yield the names that anything else binds: `with`, `except`, `import`, `match`, `def`."""
    for node in flow.walk_own(scope):
        if not isinstance(node, cst.Del):
            for target in nodes.bound_by(node):
                if is_name(target) and target not in plain:
                    yield Binding(target.value, None)  # type: ignore[attr-defined]
        yield from (Binding(name, None) for name in nodes.named_otherwise(node))
        yield from (Binding(name, None) for name in _defined(expressions(node)))


def _defined(statements: Iterable[cst.CSTNode]) -> frozenset[str]:
    """Return the names of the functions and classes among some statements."""
    defined = (part for part in statements if isinstance(part, _DEFINITIONS))
    return frozenset(part.name.value for part in defined)


_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)
Bound = tuple[Binding, cst.Name]


def of_node(node: cst.CSTNode) -> Iterator[Bound]:
    """Yield what a single node binds to known values, each with its target."""
    match node:
        case cst.Assign(targets=targets, value=value):
            for each in targets:
                yield from _paired(each.target, value)
        case cst.AnnAssign(target=target, value=value) | cst.NamedExpr(target=target, value=value):
            if value is not None:
                yield from _into(target, value)
        case cst.AugAssign(target=target):
            yield from _into(target, node)
        case (
            cst.For(target=target, iter=source, asynchronous=None)
            | cst.CompFor(target=target, iter=source)
        ):
            yield from _elements(target, source)


def _paired(target: Expression, value: Expression) -> Iterator[Bound]:
    """Yield what an assignment binds, of tuples of one length each part on its own."""
    pairs = pairs_of(target, value)
    if pairs is None:
        yield from _into(target, value)
    else:
        for one, other in pairs:
            yield from _paired(one, other)


def pairs_of(target: Expression, value: Expression) -> list[tuple[Expression, Expression]] | None:
    """Return the parts of `a, b = c, d`; None where target and value are not so alike."""
    if not isinstance(target, LISTS) or not isinstance(value, LISTS):
        return None
    left, right = nodes.elements(target), nodes.elements(value)
    if any(isinstance(part, cst.StarredElement) for part in (*left, *right)):
        return None
    return [*zip(left, right, strict=True)] if len(left) == len(right) else None


def _elements(target: Expression, source: Expression) -> Iterator[Bound]:
    """Yield what a loop binds: through `enumerate` and `zip`, each target on its own."""
    parts = nodes.elements(target) if isinstance(target, cst.Tuple) else []
    name = nodes.function(source)
    given = nodes.positional(source) if isinstance(source, cst.Call) else []
    if name == "enumerate" and len(parts) == 2 and given:
        yield from _into(parts[0], _NUMBER)
        yield from _elements(parts[1], given[0])
    elif name == "zip" and len(parts) == len(given) > 0:
        for one, other in zip(parts, given, strict=True):
            yield from _elements(one, other)
    else:
        yield from _into(target, source, 1)


def _into(target: Expression, value: Expression | cst.AugAssign, taken: int = 0) -> Iterator[Bound]:
    if isinstance(target, LISTS):
        for part in nodes.elements(target):
            yield from _into(part, value, taken + 1)
    elif isinstance(target, cst.StarredElement) and isinstance(target.value, cst.Name):
        yield Binding(target.value.value, value, taken, is_listed=True), target.value
    elif isinstance(target, cst.Name):
        yield Binding(target.value, value, taken), target
