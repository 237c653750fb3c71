"""The lines that statements stand on, which libcst's nodes do not know.

libcst's own `PositionProvider` finds every place of a file, and takes four times as long as its
parser. Here lines are counted from statement to statement. A statement is looked into only where
the text of its first line leaves open whether it goes on: it holds a quote beside a bracket, say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import libcst as cst

_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
# Fields of compound statements that hold statements, or lines of their own.
_APART = frozenset({"body", "orelse", "handlers", "finalbody", "cases", "decorators", "footer",
                    "leading_lines", "lines_after_decorators", "trailing_whitespace",
                    "whitespace_after_colon"})  # fmt: skip


class Lines(NamedTuple):
    """The lines of statements by the `id` of their nodes, and the last ones of functions.

    A decorated function or class stands on the line of its `def` or `class`.
    """

    starts: dict[int, int]
    ends: dict[int, int]


def lines_of(body: Iterable[cst.CSTNode], text: Sequence[str], first: int) -> Lines:
    """Count the lines of statements, the first of which (or its comments) begins on line `first`.

    `text` are the lines of the file.
    """
    counter = _Counter(text)
    counter.statements(body, first)
    return Lines(counter.starts, counter.ends)


class _Counter:
    def __init__(self, text: Sequence[str]) -> None:
        self.text = text
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.last = 0  # line that the last statement ended on

    def statements(self, body: Iterable[Any], line: int) -> int:
        """Count statements that begin at `line`; returns the line after them."""
        for node in body:
            line += _comments(node.leading_lines)
            if type(node) is cst.SimpleStatementLine:
                self.starts[id(node)] = line
                whole = len(node.body) == 1 and _is_whole(self.text[line - 1])
                line = self._simple(node.body, line, one_line=whole) + 1
            else:
                line = self._compound(node, line)
        return line

    def _simple(self, body: Sequence[cst.CSTNode], line: int, *, one_line: bool = False) -> int:
        """Count small statements; returns the line on which the last one ends."""
        for node in body:
            self.starts[id(node)] = line
            line += 0 if one_line else _breaks(node)
        self.last = line
        return line

    def _compound(self, node: Any, line: int) -> int:
        if type(node) is cst.FunctionDef or type(node) is cst.ClassDef:
            for decorator in node.decorators:
                line += _comments(decorator.leading_lines)
                self.starts[id(decorator)] = line
                line += _breaks(decorator.decorator) + 1
            line += _comments(node.lines_after_decorators)
        self.starts[id(node)] = line
        line = self._clause(node, line)
        if type(node) is cst.FunctionDef:
            self.ends[id(node)] = self.last
        return line

    def _clause(self, node: Any, line: int) -> int:
        """Count a statement's head and blocks, from the line of its first word."""
        if not _is_whole(self.text[line - 1]):
            line += sum(map(_breaks, _head(node)))
        if type(node) is cst.Match:
            line += 1  # behind its colon
            for case in node.cases:
                line = self._clause(case, line + _comments(case.leading_lines))
            return line + _comments(node.footer)
        line = self._suite(node.body, line)
        for part in _continued(node):
            line += _comments(part.leading_lines)
            self.starts[id(part)] = line
            line = self._clause(part, line)
        return line

    def _suite(self, suite: Any, line: int) -> int:
        if type(suite) is cst.IndentedBlock:
            return self.statements(suite.body, line + 1) + _comments(suite.footer)
        return self._simple(suite.body, line + _breaks(suite.leading_whitespace)) + 1


def _continued(node: Any) -> list[Any]:
    """Return the clauses that follow a statement's first block, in order."""
    parts = [*getattr(node, "handlers", ()), getattr(node, "orelse", None)]
    parts.append(getattr(node, "finalbody", None))
    return [part for part in parts if part is not None]


def _is_whole(line: str) -> bool:
    """Whether a line that a statement begins surely ends its head too: it leaves nothing open."""
    if "\\" in line or "#" in line or '"""' in line or "'''" in line:
        return False
    if '"' in line or "'" in line:
        return not ("(" in line or "[" in line or "{" in line)
    return all(line.count(left) == line.count(right) for left, right in _PAIRS)


def _comments(lines: Sequence[cst.EmptyLine]) -> int:
    return len(lines) and sum(map(_breaks, lines))


def _head(node: cst.CSTNode) -> list[Any]:
    """Return the parts of a statement before its colon."""
    return [part for part in _fields(type(node), _APART)(node) if isinstance(part, _KINDS)]


_KINDS = (cst.CSTNode, list, tuple)
_BROKEN = (cst.SimpleWhitespace, cst.SimpleString, cst.FormattedStringText,
           cst.TemplatedStringText)  # fmt: skip


def _breaks(node: Any) -> int:
    """Count the ends of lines in what is written for a node."""
    found = 0
    pending = [node]
    while pending:
        part = pending.pop()
        kind: Any = type(part)
        if kind is cst.SimpleWhitespace:
            if part.value and "\n" in part.value:
                found += part.value.count("\n")
        elif kind is list or kind is tuple:
            pending += part
        elif kind is cst.Newline:
            found += 1
        elif kind in _BROKEN:
            found += part.value.count("\n")
            pending += (part.lpar, part.rpar) if kind is cst.SimpleString else ()
        elif kind is not str and part is not None:
            pending += _fields(kind)(part)
    return found


@cache
def _fields(kind: Any, leave: frozenset[str] = frozenset()) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields of a node, but for some."""
    if not issubclass(kind, cst.CSTNode):
        return lambda node: ()
    names = [field.name for field in dataclasses.fields(kind) if field.name not in leave]
    if len(names) < 2:
        return lambda node: tuple(getattr(node, name) for name in names)
    return attrgetter(*names)
