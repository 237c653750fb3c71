"""What binds the variables of a function: each binding with the expression that it takes from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.source import parsed

_LISTS = (ast.Tuple, ast.List)
_NUMBER = ast.Constant(0)


class Binding(NamedTuple):
    """A variable, and what it is bound to: a value, elements `taken` from it, in a list or not.

    `value` is None where it is anything: of a parameter, which may have an `annotation`, of `with`,
    `except`, `import`, `match` and definitions.
    """

    name: str
    value: ast.expr | None
    taken: int = 0
    is_listed: bool = False
    annotation: ast.expr | None = None


@kept(OF_SCOPES)
def own_names(scope: Scope) -> frozenset[str]:
    """Return the names that a function is given or binds, or that a module or class binds."""
    body = scope.body if isinstance(scope.body, list) else [scope.body]
    return flow.parameters(scope).union(*map(flow.bound, body)) - declared(scope)


@kept(OF_SCOPES)
def declared(scope: Scope) -> frozenset[str]:
    """Return the names that a scope itself declares as `global` or `nonlocal`."""
    return _declared(flow.walk_own(scope))


@kept(OF_SCOPES)
def rebound_elsewhere(tree: ast.AST) -> frozenset[str]:
    """Return the names that anything in a piece of code declares as `global` or `nonlocal`."""
    return _declared(parsed.walk(tree))


def _declared(nodes: Iterable[ast.AST]) -> frozenset[str]:
    found = (node for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for node in found for name in node.names)


@kept(OF_SCOPES)
def bindings(code: Code, scope: Scope) -> tuple[Binding, ...]:
    """Return all bindings of the variables of a scope."""
    found = [Binding(name, None) for name in own_names(scope) & rebound_elsewhere(scope)]
    if isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        found += _parameters(scope.args)
    plain: set[ast.AST] = set()
    for node in flow.walk_own(scope):
        for binding, target in of_node(code, node):
            found.append(binding)
            plain.add(target)
    return (*found, *_unclear(scope, plain))


def _parameters(arguments: ast.arguments) -> Iterator[Binding]:
    for part in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield Binding(part.arg, None, annotation=part.annotation)
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            yield Binding(rest.arg, None)


def _unclear(scope: Scope, plain: set[ast.AST]) -> Iterator[Binding]:
    """Yield the names that anything else binds: `with`, `except`, `import`, `match`, `def`."""
    for node in flow.walk_own(scope):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store) and node not in plain:
                yield Binding(node.id, None)
            continue
        inner = parsed.children(node)
        named = [c for c in inner if isinstance(c, (*FUNCTIONS, ast.ClassDef))]
        yield from (Binding(definition.name, None) for definition in named)
        if not isinstance(node, (ast.expr, *FUNCTIONS, ast.ClassDef)):
            of_inner = set().union(*map(flow.bound, inner), {d.name for d in named})
            yield from (Binding(name, None) for name in flow.bound(node) - of_inner)


Bound = tuple[Binding, ast.Name]


def of_node(code: Code, node: ast.AST) -> Iterator[Bound]:
    """Yield what a single node binds to known values, each with its target."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _paired(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield from _into(node.target, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _into(node.target, _operation(code, node))
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from _elements(code, node.target, node.iter)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[Bound]:
    """Yield what an assignment binds, of tuples of one length each part on its own."""
    pairs = pairs_of(target, value)
    if pairs is None:
        yield from _into(target, value)
    else:
        for one, other in pairs:
            yield from _paired(one, other)


def pairs_of(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """Return the parts of `a, b = c, d`; None where target and value are not so alike."""
    if not isinstance(target, _LISTS) or not isinstance(value, _LISTS):
        return None
    if any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):
        return None
    same = len(target.elts) == len(value.elts)
    return [*zip(target.elts, value.elts, strict=True)] if same else None


def _elements(code: Code, target: ast.expr, source: ast.expr) -> Iterator[Bound]:
    """Yield what a loop binds: through `enumerate` and `zip`, each target on its own."""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    name = dotted(source.func) if isinstance(source, ast.Call) else ""
    given = source.args if isinstance(source, ast.Call) else []
    if name == "enumerate" and len(parts) == 2 and given:
        yield from _into(parts[0], _NUMBER)
        yield from _elements(code, parts[1], given[0])
    elif name == "zip" and len(parts) == len(given) > 0:
        for one, other in zip(parts, given, strict=True):
            yield from _elements(code, one, other)
    else:
        yield from _into(target, source, 1)


def _into(target: ast.expr, value: ast.expr, taken: int = 0) -> Iterator[Bound]:
    if isinstance(target, ast.Name):
        yield Binding(target.id, value, taken), target
    elif isinstance(target, _LISTS):
        for part in target.elts:
            yield from _into(part, value, taken + 1)
    elif isinstance(target, ast.Starred) and isinstance(target.value, ast.Name):
        yield Binding(target.value.id, value, taken, is_listed=True), target.value


def _operation(code: Code, node: ast.AugAssign) -> ast.expr:
    """Return what `x += y` computes, as an expression."""
    left: ast.expr = node.target
    if isinstance(left, ast.Name):
        left = ast.copy_location(ast.Name(left.id, ast.Load()), left)
    operation = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
    code.adopt(operation, node)
    code.adopt(left, node)
    return operation
