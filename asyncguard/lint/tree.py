"""Trees of functions, and back from their nodes to places in the file.

A tree is made of the part of a file that is looked at (`nodes`). `children` walks one without
whitespace nodes, `dotted` names a chain of attributes, and `places` says where nodes stand: a tree
does not know that itself, so an equal one is made, this time with the places. Only what is found
somewhere asks for them.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.nodes import Builder, Numbers, Span
from asyncguard.lint.source import check_syntax

Place = tuple[
    int, int, int, int
]  # line, column, end line, end column; lines from 1, columns from 0


NO_TREE = cst.Pass()  # stands for a tree that was let go


class TooDeepError(Exception):
    """The source nests deeper than the parser or the analyzer can follow."""


class Unit(NamedTuple):
    """The tree of a part of a file: of a function, or of what stands outside `outlined` ones."""

    tree: Any  # cst.FunctionDef or cst.Module
    lines: Sequence[str]  # of the file
    first: int = 1
    last: int | None = None  # None: the whole file
    outlined: Numbers | None = None


def module_unit(lines: Sequence[str], parsed: ast.Module, outlined: Numbers) -> Unit:
    """Make the tree of a file, without the bodies of its outlined functions."""
    return Unit(_module(lines, parsed, outlined, None), lines, outlined=outlined)


def function_unit(
    lines: Sequence[str], first: int, last: int, parsed: ast.stmt | None = None
) -> Unit:
    """Make the tree of the function on lines `first` to `last` of a file that is Python."""
    if parsed is not None:
        return Unit(_build(Builder(lines), parsed), lines, first, last)
    return Unit(_function(lines, first, last, None), lines, first, last)


def _module(
    lines: Sequence[str], parsed: ast.Module, outlined: Numbers, spans: dict[int, Span] | None
) -> cst.Module:
    try:
        return Builder(lines, outlined, spans).module(parsed)
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error


def _function(
    lines: Sequence[str], first: int, last: int, spans: dict[int, Span] | None
) -> cst.FunctionDef:
    own = lines[first - 1 : last]
    if own[0][:1] in (" ", "\t"):
        own = ["if 1:", *own]
    (statement,) = check_syntax("\n".join(own) + "\n").body
    if isinstance(statement, ast.If):
        (statement,) = statement.body
    return _build(Builder(own, spans=spans), statement)


def _build(builder: Builder, statement: ast.stmt) -> cst.FunctionDef:
    try:
        (function,) = builder.statements([statement])
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error
    if type(function) is not cst.FunctionDef:
        raise TooDeepError("a function was not where it was expected")
    return function


@lru_cache(maxsize=1024)
def parse_type(text: str) -> cst.BaseExpression | None:
    """Parse a type that a string names; None if it holds anything else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        made: cst.BaseExpression = Builder(()).expression(node)
    except Exception:  # noqa: BLE001 - any text may stand in an annotation or a docstring
        return None
    return made


# Fields that hold no expression or statement.
_DULL = ("whitespace", "leading", "lines_after", "header", "footer", "indent", "newline",
         "lpar", "rpar", "comma", "semicolon", "dot", "equal", "trailing", "lbracket", "rbracket",
         "lbrace", "rbrace", "asynchronous", "star", "operator_whitespace",
         "encoding", "default_indent", "default_newline", "has_trailing")  # fmt: skip


@cache
def _parts(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields that may hold code, from nodes of a kind."""
    names = [f.name for f in dataclasses.fields(kind) if not f.name.startswith(_DULL)]
    get = attrgetter(*names) if names else None
    if get is None:
        return lambda node: ()
    return get if len(names) > 1 else lambda node: (get(node),)


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


_NODES = frozenset(_kinds(cst.CSTNode))  # `isinstance` is slow for classes with an ABC as base
_LEAVES = frozenset({cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.FormattedStringText})


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the direct children that are code, in source order."""
    found: list[cst.CSTNode] = []
    if type(node) in _LEAVES:
        return found
    for value in _parts(type(node))(node):
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif kind in _NODES:
            found.append(value)
    return found


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and all code below it, in no particular order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` of a chain of names, or "" of anything else."""
    parts: list[str] = []
    while type(node) is cst.Attribute:  # asked often, like `_NODES`
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def places(unit: Unit, nodes: Iterable[cst.CSTNode]) -> dict[int, Place]:
    """Return the place in the file of each of a unit's `nodes`, by `id(node)`."""
    wanted = {id(node) for node in nodes}
    if not wanted:
        return {}
    spans: dict[int, Span] = {}
    lines = unit.lines
    if unit.last is None:
        equal: cst.CSTNode = _module(
            lines, check_syntax("\n".join(lines)), unit.outlined or {}, spans
        )
        offset = 0
    else:
        equal = _function(lines, unit.first, unit.last, spans)
        offset = unit.first - 1 - (lines[unit.first - 1][:1] in (" ", "\t"))
    found: dict[int, Place] = {}
    for node, other in zip(walk(unit.tree), walk(equal), strict=True):
        if id(node) in wanted and id(other) in spans:
            found[id(node)] = _place(spans[id(other)], lines, offset)
            if len(found) == len(wanted):
                break
    return found


def _place(span: Span, lines: Sequence[str], offset: int) -> Place:
    """Return a span of a text that begins `offset` lines down a file, its columns in characters."""
    line, column, end_line, end_column = span
    line, end_line = line + offset, end_line + offset
    return (
        line,
        _column(lines[line - 1], column),
        end_line,
        _column(lines[end_line - 1], end_column),
    )


def _column(line: str, column: int) -> int:
    return column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))
