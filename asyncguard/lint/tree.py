"""Source text to libcst tree, and back to places.

libcst's own metadata providers are slow, so this module has its own: `children` walks a tree
without whitespace nodes, `dotted` names a chain of attributes, and `places` generates the code
once and notes where the few wanted nodes begin and end. Everything later works on these trees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

Place = tuple[
    int, int, int, int
]  # line, column, end line, end column; lines from 1, columns from 0


class TooDeepError(Exception):
    """The source nests deeper than the parser or the analyzer can follow."""


def parse(text: str) -> cst.Module:
    """Parse `text`; raises libcst.ParserSyntaxError, and TooDeepError for absurd nesting."""
    try:
        return cst.parse_module(text)
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error


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


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the direct children that are code, in source order."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, cst.CSTNode):
                    yield item


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
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


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
            self.found[id(node)] = (*self.starts[id(node)], self.line, self.column)

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
            self.found[id(node)] = (*start, self.line, self.column)


def places(module: cst.Module, nodes: Iterable[cst.CSTNode]) -> dict[int, Place]:
    """Return the place of each of `nodes`, by `id(node)`."""
    wanted = {id(node) for node in nodes}
    if not wanted:
        return {}
    recorder = _Recorder(module, wanted)
    module._codegen(recorder)
    return recorder.found
