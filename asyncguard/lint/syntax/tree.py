"""Trees of functions, and back from their nodes to places in the file.

A tree is made of the part of a file that is looked at (`nodes`). `children` walks one without
whitespace nodes, `dotted` names a chain of attributes, and `place` says where a node stands, which
nodes do not know themselves.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.source.decode import check_syntax
from asyncguard.lint.syntax.builder import Builder, Numbers, Origin, Use, span
from asyncguard.lint.syntax.nodes import builder

Place = tuple[
    int, int, int, int
]  # line, column, end line, end column; lines from 1, columns from 0


NO_TREE = cst.Pass()  # stands for a tree that was let go


class TooDeepError(Exception):
    """The source nests deeper than the parser or the analyzer can follow."""


class Unit(NamedTuple):
    """The tree of a function, or of what stands outside a file's outlined functions."""

    tree: Any  # cst.FunctionDef or cst.Module
    lines: Sequence[str]  # of the file
    origins: Mapping[int, Origin]  # what its nodes were built from, by their id
    uses: Mapping[int, Sequence[Use]]  # what is called and assigned in bodies, by their nodes' id
    offset: int = 0  # lines of the file before what these count from


def module_unit(lines: Sequence[str], parsed: ast.Module, outlined: Numbers) -> Unit:
    """Make the tree of a file, without the bodies of its outlined functions."""
    made = builder(lines, outlined)
    with _depth():
        return Unit(made.module(parsed), lines, made.origins, made.uses)


def function_unit(
    lines: Sequence[str], first: int, last: int, parsed: ast.stmt | None = None
) -> Unit:
    """Make the tree of the function on lines `first` to `last` of a file that is Python.

    `parsed` is what Python's parser said of it in the file, if that is at hand.
    """
    if parsed is not None:
        return _unit(builder(lines), parsed, lines, 0)
    own = lines[first - 1 : last]
    indented = own[0][:1] in (" ", "\t")
    if indented:
        own = ["if 1:", *own]
    (parsed,) = check_syntax("\n".join(own) + "\n").body
    if isinstance(parsed, ast.If):
        (parsed,) = parsed.body
    return _unit(builder(own), parsed, lines, first - 1 - indented)


def _unit(made: Builder, statement: ast.stmt, lines: Sequence[str], offset: int) -> Unit:
    with _depth():
        (function,) = made.statements([statement])
    if type(function) is not cst.FunctionDef:
        raise TooDeepError("a function was not where it was expected")
    return Unit(function, lines, made.origins, made.uses, offset)


@contextmanager
def _depth() -> Iterator[None]:
    """Name what it means that a tree takes too many calls."""
    try:
        yield
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error


@lru_cache(maxsize=1024)
def parse_type(text: str) -> cst.BaseExpression | None:
    """Parse a type that a string names; None if it holds anything else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        made: cst.BaseExpression = builder(()).expression(node)
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


def argument_paths(call: cst.Call) -> frozenset[str]:
    """Return the plain names and the paths in the arguments of a call."""
    paths = (dotted(argument.value) for argument in call.args)
    return frozenset(paths).union(*(names_in(argument.value) for argument in call.args))


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Return the plain names in a piece of code."""
    return frozenset(n.value for n in walk(node) if type(n) is cst.Name)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and all code below it, in no particular order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` of a chain of names, or "" of anything else."""
    if type(node) is cst.Name:
        return node.value
    if type(node) is not cst.Attribute:  # asked often, like `_NODES`
        return ""
    owner = node.value
    if type(owner) is cst.Name:
        return f"{owner.value}.{node.attr.value}"
    path = dotted(owner)
    return f"{path}.{node.attr.value}" if path else ""


def item_path(node: cst.CSTNode) -> str:
    """Name `d["key"]` as a path, so that hints and assignments find it; "" of anything else."""
    if type(node) is not cst.Subscript or len(node.slice) != 1:
        return ""
    index = node.slice[0].slice
    if type(index) is not cst.Index or type(index.value) is not cst.SimpleString:
        return ""
    base = dotted(node.value)
    return f"{base}.{index.value.raw_value}" if base else ""


def docstring(node: cst.CSTNode) -> str:
    """Return what a function's docstring says, as it is written; "" if it has none."""
    first: Any = node.body.body[0] if type(node) is cst.FunctionDef else None
    if type(first) is cst.SimpleStatementLine:
        first = first.body[0]
    text = first.value if type(first) is cst.Expr else None
    said = ast.literal_eval(text.value) if type(text) is cst.SimpleString else ""
    return said if isinstance(said, str) else ""


def place(unit: Unit, node: cst.CSTNode) -> Place | None:
    """Return the place in the file of one of a unit's expressions or statements."""
    origin = unit.origins.get(id(node))
    if origin is None:
        return None
    line, column, end_line, end_column = span(origin)
    line, end_line = line + unit.offset, end_line + unit.offset
    return (
        line,
        _column(unit.lines[line - 1], column),
        end_line,
        _column(unit.lines[end_line - 1], end_column),
    )


def line_of(unit: Unit, node: cst.CSTNode) -> int:
    """Return the line in the file that one of a unit's statements starts on; 0 if unknown."""
    origin = unit.origins.get(id(node))
    return span(origin)[0] + unit.offset if origin is not None else 0


def _column(line: str, column: int) -> int:
    return column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))
