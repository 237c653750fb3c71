"""Where a value that was read goes, and what the value that waits is made of, within a function.

Purely syntactic: names are followed through plain assignments, a few of them deep.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope, dotted, same
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family

DEPTH = 3  # assignments followed


class Use(NamedTuple):
    """One place that a value comes to: `parent` does something with `child`, which holds it."""

    child: ast.AST
    parent: ast.AST

    @property
    def called(self) -> str:
        """The last name of the function or method that is given the value, or called on it."""
        if isinstance(self.parent, ast.Attribute):
            return self.parent.attr
        call = self.parent
        if not isinstance(call, ast.Call) or call.func is self.child:
            return ""
        return last_name(call.func)


def last_name(node: ast.expr) -> str:
    """Return `f` of `a.b().f`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# What hands a value on as it is, or as a part of something: the place that counts is further out.
_HOLDS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.Starred, ast.IfExp,
          ast.keyword, ast.ListComp, ast.GeneratorExp, ast.NamedExpr)  # fmt: skip
_CONVERTS = family("advice.converts")


def uses(spot: Spot) -> Iterator[Use]:
    """Yield the places that what a finding reads comes to, the nearest first."""
    yield from _uses(spot.code, spot.scope, spot.node, DEPTH)


def _uses(code: Code, scope: Scope, node: ast.AST, depth: int) -> Iterator[Use]:
    child = node
    for parent in code.parents(node):
        yield Use(child, parent)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for name in _bound(parent) if depth else ():
                for use in flow.uses(scope, name, [parent]):
                    if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load):
                        yield from _uses(code, scope, use, depth - 1)
            return
        if not _hands_on(parent, child):
            return
        child = parent


def _bound(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _hands_on(parent: ast.AST, child: ast.AST) -> bool:
    """Whether what stands around an expression still holds its value."""
    if isinstance(parent, ast.Attribute):
        return _CONVERTS(parent.attr)
    if isinstance(parent, ast.Call):
        return _CONVERTS(last_name(parent.func))
    if isinstance(parent, ast.Subscript):
        return parent.value is child
    return isinstance(parent, _HOLDS)


# ---- what a value is made of


class Made(NamedTuple):
    """What an expression is made of: parameters of its function, attributes of `self`, the rest."""

    params: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    computed: bool = False  # by a call that may do more than look at its arguments

    def __or__(self, other: object) -> Made:
        assert isinstance(other, Made)
        return Made(
            self.params | other.params, self.own | other.own, self.computed or other.computed
        )


NOTHING = Made()
_LIBRARY = frozenset({"torch", "numpy", "math", "itertools", "mxnet", "jax", "tensorflow", "cupy"})


def made_of(spot: Spot, node: ast.AST) -> Made:
    """Return what an expression is made of, as far as plain assignments tell."""
    return _made(spot.code, spot.scope, node, 2 * DEPTH, frozenset())


def _made(code: Code, scope: Scope, node: ast.AST, depth: int, seen: frozenset[str]) -> Made:
    if isinstance(node, ast.Call):
        inner = _called(code, scope, node, depth, seen)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return _all(code, scope, given, depth, seen) | inner
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return Made(own=frozenset({node.attr}))
        if dotted(node).partition(".")[0] in code.imports:
            return NOTHING
    if isinstance(node, ast.Name):
        return _name(code, scope, node.id, depth, seen)
    return _all(code, scope, ast.iter_child_nodes(node), depth, seen)


def _all(
    code: Code, scope: Scope, nodes: Iterator[ast.AST] | list[ast.expr], depth: int,
    seen: frozenset[str],
) -> Made:  # fmt: skip
    made = NOTHING
    for node in nodes:
        made |= _made(code, scope, node, depth, seen)
    return made


def _called(code: Code, scope: Scope, node: ast.Call, depth: int, seen: frozenset[str]) -> Made:
    """Return what is known of the function that a call calls."""
    function = node.func
    name = dotted(function)
    head = name.partition(".")[0]
    if code.meaning(function).partition(".")[0] in _LIBRARY or name in _BUILTINS:
        return NOTHING
    if not isinstance(function, ast.Attribute) or head == "self":
        return Made(computed=True)
    return _made(code, scope, function.value, depth, seen)


def _name(code: Code, scope: Scope, name: str, depth: int, seen: frozenset[str]) -> Made:
    if name in seen or name in code.imports or name in _BUILTINS:
        return NOTHING
    values = flow.assignments(scope, name)
    seen |= {name}
    made = Made(params=frozenset({name})) if name in parameters(scope) else NOTHING
    if values and not depth:
        return Made(computed=True)
    for value in values:
        if value is None:
            made |= _from_loops(code, scope, name, depth - 1, seen)
        else:
            made |= _made(code, scope, value, depth - 1, seen)
    return made


def _from_loops(code: Code, scope: Scope, name: str, depth: int, seen: frozenset[str]) -> Made:
    """Return what a name is made of that a loop, a `with` or an unpacking binds."""
    made = NOTHING
    for node in flow.walk_own(scope):
        if isinstance(node, ast.For | ast.comprehension) and name in flow.bound(node.target):
            made |= _made(code, scope, node.iter, depth, seen)
        elif isinstance(node, ast.AugAssign) and name in flow.names(node.target):
            made |= _made(code, scope, node.value, depth, seen)
        elif isinstance(node, ast.Assign) and any(
            name in flow.bound(t) for t in node.targets if not isinstance(t, ast.Name)
        ):
            made |= _made(code, scope, node.value, depth, seen)
    return made


_BUILTINS = frozenset(dir(builtins))


def parameters(scope: Scope) -> frozenset[str]:
    """Return the names of a function's parameters, `self` aside."""
    if not isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        return frozenset()
    taken = scope.args
    every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
    return frozenset(a.arg for a in every if a is not None) - {"self", "cls"}


def condition_of(spot: Spot) -> ast.If | ast.Assert | ast.While | None:
    """Return the statement whose condition holds the read."""
    statement = spot.statement
    if isinstance(statement, ast.If | ast.While | ast.Assert) and (
        statement.test is spot.node or spot.node in ast.walk(statement.test)
    ):
        return statement
    return None


def is_repeated(spot: Spot, other: Spot) -> bool:
    """Whether another read could be made together with this one: nothing it needs changes."""
    if spot.body is not other.body or same(spot.node, other.node) or spot.at > other.at:
        return False
    between = spot.body[spot.at : other.at]
    return not flow.may_change(between, other.node)
