"""Source text to libcst tree, and back to places.

libcst's own metadata providers are slow, so this module has its own: `children` walks a tree
without whitespace nodes, `dotted` names a chain of attributes, and `places` generates the code
once and notes where the few wanted nodes begin and end. Everything later works on these trees.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple

import libcst as cst
from libcst._nodes.internal import CodegenState

Place = tuple[
    int, int, int, int
]  # line, column, end line, end column; lines from 1, columns from 0


NO_TREE = cst.Pass()  # stands for a tree that was let go


class TooDeepError(Exception):
    """The source nests deeper than the parser or the analyzer can follow."""


def parse(text: str) -> cst.Module:
    """Parse `text`; raises libcst.ParserSyntaxError, and TooDeepError for absurd nesting."""
    with _lock, _unvalidated():
        try:
            return cst.parse_module(text)
        except RecursionError as error:
            raise TooDeepError("nested too deeply") from error


_lock = threading.Lock()


@contextmanager
def _unvalidated() -> Iterator[None]:
    """Skip the checks that nodes make of themselves: what the parser makes is valid.

    They take half of the parsing time, and are meant for nodes that people build by hand.
    """
    check = cst.CSTNode.__post_init__
    cst.CSTNode.__post_init__ = _accept  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        cst.CSTNode.__post_init__ = check  # type: ignore[method-assign]


def _accept(node: cst.CSTNode) -> None:
    """Accept a node as it is."""


class Unit(NamedTuple):
    """A tree of a part of a file: the tree's lines and those of the file.

    `lines` gives the file's line for each line of the tree, or else `offset` is added.
    """

    tree: cst.Module
    offset: int = 0
    lines: tuple[int, ...] = ()

    def real(self, line: int) -> int:
        """Return the line of the file that a line of the tree is."""
        if self.lines:
            return self.lines[min(line, len(self.lines)) - 1]
        return line + self.offset


def parse_function(lines: Sequence[str], first: int, last: int) -> tuple[Unit, cst.FunctionDef]:
    """Parse the function on lines `first` to `last` of a file that was found to be Python."""
    text = "\n".join(lines[first - 1 : last]) + "\n"
    indented = text[:1] in " \t\f"
    module = parse("if 1:\n" + text if indented else text)
    statement: cst.CSTNode = module.body[0]
    if isinstance(statement, cst.If):
        statement = statement.body.body[0]
    if not isinstance(statement, cst.FunctionDef):
        raise TooDeepError("a function was not where it was expected")
    return Unit(module, first - 1 - indented), statement


@lru_cache(maxsize=1024)
def parse_type(text: str) -> cst.BaseExpression | None:
    """Parse a type that a string names; None if it holds anything else."""
    try:
        return cst.parse_expression(text)
    except Exception:  # noqa: BLE001 - any text may stand in an annotation or a docstring
        return None


# Fields that hold no expression or statement.
_DULL = ("whitespace", "leading_lines", "lines_after", "header", "footer", "indent", "newline",
         "lpar", "rpar", "comma", "semicolon", "dot", "equal", "trailing", "lbracket", "rbracket",
         "lbrace", "rbrace", "asynchronous", "star", "operator_whitespace")  # fmt: skip


@cache
def _fields(node_type: type[Any]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in dataclasses.fields(node_type)
        if not any(field.name.startswith(dull) for dull in _DULL)
        and field.name
        not in ("encoding", "default_indent", "default_newline", "has_trailing_newline")
    )


_IS_NODE: dict[type[Any], bool] = {}  # asked often, and `isinstance` is slow for abstract bases


def _is_node(value: Any) -> bool:
    kind = type(value)
    known = _IS_NODE.get(kind)
    if known is None:
        known = _IS_NODE[kind] = issubclass(kind, cst.CSTNode)
    return known


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the direct children that are code, in source order."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if value is None:
            continue
        if type(value) in (list, tuple):
            found += [item for item in value if _is_node(item)]
        elif _is_node(value):
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
    while type(node) is cst.Attribute:  # asked often, like `_is_node`
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


class _AllFoundError(Exception):
    """All places are known."""


class _Recorder(CodegenState):
    """Generates code only to learn the places of the wanted nodes."""

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.wanted = wanted
        self.found: dict[int, Place] = {}
        self.starts: dict[int, tuple[int, int]] = {}
        self.line, self.column = 1, 0

    def add_indent_tokens(self) -> None:
        self.column += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        breaks = value.count("\n")
        if not breaks:
            if value == "\r":
                self.line, self.column = self.line + 1, 0
            else:
                self.column += len(value)
            return
        self.line += breaks
        self.column = len(value) - value.rfind("\n") - 1

    def pop_trailing_newline(self) -> None:
        pass

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.starts[id(node)] = (self.line, self.column)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted and id(node) not in self.found:
            self.note(node, self.starts[id(node)])

    def note(self, node: cst.CSTNode, start: tuple[int, int]) -> None:
        """Note where a node ends; the rest of the code matters no more when it was the last."""
        self.found[id(node)] = (*start, self.line, self.column)
        if len(self.found) == len(self.wanted):
            raise _AllFoundError

    @contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Iterator[None]:
        """Leave parentheses, comments and blank lines around the node out of its place."""
        start = (self.line, self.column)
        yield
        if id(node) in self.wanted and id(node) not in self.found:
            self.note(node, start)


def places(unit: Unit, nodes: Iterable[cst.CSTNode]) -> dict[int, Place]:
    """Return the place in the file of each of a unit's `nodes`, by `id(node)`."""
    wanted = {id(node) for node in nodes}
    if not wanted:
        return {}
    recorder = _Recorder(unit.tree, wanted)
    with suppress(_AllFoundError):
        unit.tree._codegen(recorder)
    return {
        node: (unit.real(place[0]), place[1], unit.real(place[2]), place[3])
        for node, place in recorder.found.items()
    }
