"""Whether statements may change what an expression says: by what they bind, or by calls.

Purely syntactic. In doubt the answer is the one that stops a rewrite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import table, words
from asyncguard.lint.source import parsed

_PURE, _NOTING = words("method.pure"), words("method.noting")
_LOOKING = words("read.any") | frozenset(table("kind.reducing"))
_BUILTINS = frozenset({"print", "len", "float", "int", "bool", "zip", "enumerate", "range", "list",
                       "tuple", "isinstance", "sum", "max", "min", "super"})  # fmt: skip
_LIBRARIES = words("library.pure") | _BUILTINS


def _is_of_library(function: ast.expr) -> bool:
    """Whether it changes no argument, by its name: a library's function or a pure method."""
    if isinstance(function, ast.Attribute) and function.attr in _PURE | _NOTING:
        return True
    return dotted(function).partition(".")[0] in _LIBRARIES


def may_change(statements: Iterable[ast.AST], node: ast.AST) -> bool:
    """Whether statements may make an expression mean something else.

    A call may change what it is given, unless it is a library's, which says so by `_` or `out=`;
    and what hangs on an object that it is given, or that it is a method of.
    """
    return any(_touches(_touched(part), node) for part in statements)


def may_change_in(loop: ast.For | ast.AsyncFor | ast.While, node: ast.AST) -> bool:
    """Whether the body of a loop may make an expression mean something else."""
    return _touches(_touched_in(loop), node)


class Touched(NamedTuple):
    """The names whose objects code may change: bound or changed in sight, or by calls."""

    changed: frozenset[str]
    given: frozenset[str]  # to calls, which may change them
    reached: frozenset[str]  # by calls, which may change what hangs on them


def _touches(what: Touched, node: ast.AST) -> bool:
    needed = flow.names(node)
    if not needed.isdisjoint(what.changed) or not needed.isdisjoint(what.given):
        return True
    held = {flow.root(n) for n in parsed.walk(node) if isinstance(n, ast.Attribute)} | _entries(
        node
    )
    return not held.isdisjoint(what.reached)


@kept(OF_SCOPES)
def _touched_in(loop: ast.For | ast.AsyncFor | ast.While) -> Touched:
    changed, given, reached = zip(*map(_touched, loop.body), strict=True)
    none: frozenset[str] = frozenset()
    return Touched(none.union(*changed), none.union(*given), none.union(*reached))


@kept(OF_STATEMENTS)
def _touched(node: ast.AST) -> Touched:
    """Return the names whose objects a statement may change."""
    given: set[str] = set()
    reached: set[str] = set()
    for call in parsed.walk(node):
        if not isinstance(call, ast.Call):
            continue
        arguments = {n.id for n in call.args if isinstance(n, ast.Name)}
        arguments |= {k.value.id for k in call.keywords if isinstance(k.value, ast.Name)}
        function = call.func
        reached |= arguments
        if not _is_of_library(function):
            given |= arguments
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            reached |= {flow.root(function)} if function.attr not in _LOOKING else set()
    return Touched(frozenset(flow.changed([node])), frozenset(given), frozenset(reached))


def _entries(node: ast.AST) -> set[str]:
    """Return the names of what entries are taken from by a text: `batch` of `batch["mask"]`."""
    return {
        flow.root(part)
        for part in parsed.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
    }
