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
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

DEPTH = 3  # assignments followed from a value to its uses


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
_LOOPS = (ast.For, ast.comprehension)
Binds = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.comprehension
_CONVERTS = family("advice.converts")


def uses(spot: Spot) -> Iterator[Use]:
    """Yield the places that what a finding reads comes to, the nearest first."""
    yield from _uses(spot.code, spot.scope, spot.node, DEPTH, set())


def _uses(code: Code, scope: Scope, node: ast.AST, depth: int, seen: set[str]) -> Iterator[Use]:
    child = node
    for parent in code.parents(node):
        yield Use(child, parent)
        if isinstance(parent, Binds):
            names = _bound(parent, child) - seen if depth else set()
            seen |= names
            for name in sorted(names):
                for use in _loads(scope).get(name, ()):
                    if use not in flow.parts(parent) or isinstance(parent, _LOOPS):
                        yield from _uses(code, scope, use, depth - 1, seen)
            return
        if not _hands_on(parent, child):
            return
        child = parent


@kept(OF_SCOPES)
def _loads(scope: Scope) -> dict[str, list[ast.Name]]:
    """Return where the value of each name is used, nested functions included."""
    found: dict[str, list[ast.Name]] = {}
    for node in parsed.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
    return found


def _bound(parent: Binds, child: ast.AST) -> set[str]:
    """Return the names that an assignment of a value binds, or a loop over it."""
    if isinstance(parent, _LOOPS) and parent.iter is not child:
        return set()
    targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    parts = (part for target in targets for part in parsed.walk(target))
    return {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}


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
    looped: bool = False  # a loop or an unpacking takes it from something
    deep: bool = False  # by an attribute of an attribute, which others may set

    def __or__(self, other: object) -> Made:
        assert isinstance(other, Made)
        return Made(
            self.params | other.params,
            self.own | other.own,
            self.computed or other.computed,
            self.looped or other.looped,
            self.deep or other.deep,
        )


NOTHING = Made()
_LIBRARY = words("library.looks")


def made_of(spot: Spot, node: ast.AST) -> Made:
    """Return what an expression is made of, as far as plain assignments tell."""
    return _Making(spot.code, spot.scope).of(node)


class _Making:
    """One search through the assignments of a function: each name is followed once."""

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code, self.scope = code, scope
        self._params = parameters(scope)
        self._seen: set[str] = set()

    def of(self, node: ast.AST) -> Made:
        """Return what an expression is made of, beside the names that were followed before."""
        made = NOTHING
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Attribute) and part.attr == "shape":
                continue  # the host knows it, whatever it is of
            if isinstance(part, ast.Call) and self._computes(part.func):
                made |= Made(computed=True)
            if isinstance(part, ast.Attribute) and self._is_own_or_imported(part):
                made |= Made(own=_own(dotted(part)), deep=_is_deep(dotted(part)))
            elif isinstance(part, ast.Name):
                made |= self._of_name(part.id)
                pending += self._bound_to(part.id)
            else:
                pending += parsed.children(part)
        return made

    def _computes(self, function: ast.expr) -> bool:
        """Whether a call may do more than look at its arguments: a method of `self`, a helper."""
        name = dotted(function)
        if self.code.meaning(function).partition(".")[0] in _LIBRARY or name in _BUILTINS:
            return False
        return not isinstance(function, ast.Attribute) or name.startswith("self.")

    def _is_own_or_imported(self, node: ast.Attribute) -> bool:
        head = dotted(node).partition(".")[0]
        own = head == "self" and isinstance(node.value, ast.Name)
        return own or head in self.code.imports

    def _of_name(self, name: str) -> Made:
        looped = None in flow.assignments(self.scope, name)
        return Made(params=frozenset({name} & self._params), looped=looped)

    def _bound_to(self, name: str) -> list[ast.expr]:
        """Return what a name is bound to in the function, the first time it is asked for."""
        if name in self._seen or name in self.code.imports or name in _BUILTINS:
            return []
        self._seen.add(name)
        values = flow.assignments(self.scope, name)
        found = [value for value in values if value is not None]
        return found + (_sources(self.scope).get(name, []) if None in values else [])


def _own(path: str) -> frozenset[str]:
    """Return the attribute of `self` that a path begins with."""
    return frozenset(path.split(".")[1:2]) if path.startswith("self.") else frozenset()


def _is_deep(path: str) -> bool:
    """Whether this is an attribute of what `self` holds, and of no options: `self.a.b`."""
    owner = path.removeprefix("self.").rpartition(".")[0]
    return path.startswith("self.") and bool(owner) and not _OPTIONS(owner)


_OPTIONS = family("value.options")


@kept(OF_SCOPES)
def _sources(scope: Scope) -> dict[str, list[ast.expr]]:
    """Return what loops and unpacking bind names to, and what is added to them in place."""
    found: dict[str, list[ast.expr]] = {}
    for node in flow.walk_own(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        elif isinstance(node, ast.AugAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            unpacked = [t for t in node.targets if not isinstance(t, ast.Name)]
            targets, value = unpacked, node.value
        for name in {name for target in targets for name in flow.bound(target)}:
            found.setdefault(name, []).append(value)
    return found


def sources_of(scope: Scope, name: str) -> list[ast.expr]:
    """Return what loops and unpacking bind a name to."""
    return _sources(scope).get(name, [])


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
        statement.test is spot.node or spot.node in parsed.walk(statement.test)
    ):
        return statement
    return None


def is_repeated(spot: Spot, other: Spot) -> bool:
    """Whether another read could be made together with this one: nothing it needs changes."""
    if spot.body is not other.body or same(spot.node, other.node) or spot.at > other.at:
        return False
    between = spot.body[spot.at : other.at]
    return not flow.may_change(between, other.node)
