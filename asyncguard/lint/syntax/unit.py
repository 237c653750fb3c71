"""A tree with what its nodes do not know: where they stand, and what bodies use.

Both are worked out when they are asked for first: lines for each file, since calls and definitions
are told with theirs (`syntax.lines`), full places only for the functions that a finding is in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from asyncguard.lint.source.decode import SourceError, check_syntax, nesting
from asyncguard.lint.syntax.lines import Lines, lines_of
from asyncguard.lint.syntax.newer import is_newer
from asyncguard.lint.syntax.tree import dotted
from asyncguard.lint.syntax.uses import Use, uses_of

# Line, column, end line, end column; lines from 1, columns in characters from 0.
Place = tuple[int, int, int, int]

NO_TREE = cst.Pass()  # stands for a tree that was let go
_ENCLOSED = (cst.Tuple, cst.GeneratorExp)  # to Python, their parentheses are part of them


class TooDeepError(Exception):
    """The source nests deeper than the parser or the analyzer can follow."""


MOST_NESTED = 1_000  # expressions in expressions; the interpreter follows 60 of them
MOST_BRACKETS = 200  # within each other, as Python's own parser has it
LONGEST_LINE = 4_000  # characters, of what a newer Python may read
MOST_AHEAD = 200_000  # characters of files whose trees are kept for who asks next
_ahead: dict[str, cst.Module] = {}  # trees by their texts


def parse_ahead(text: str) -> cst.Module:
    """Parse a text whose turn comes later; the next to parse it gets the same tree."""
    tree = parse(text)
    keep_ahead(text, tree)
    return tree


def keep_ahead(text: str, tree: cst.Module) -> None:
    """Let the next to parse a text have this tree; small ones are kept, the newest of them."""
    if sum(map(len, _ahead)) + len(text) > MOST_AHEAD:
        _ahead.clear()
    if len(text) <= MOST_AHEAD:
        _ahead[text] = tree


def parse(text: str) -> cst.Module:
    """Parse a file; raises SourceError for what is no Python, or nests too deeply.

    Python's own parser is asked first. It takes a tenth of the time, says best what is wrong and
    where, and knows how deep a text nests, in which libcst's takes a time that grows with the
    square. What it refuses is read all the same if libcst reads it as that of a newer Python.
    """
    if (known := _ahead.pop(text, None)) is not None:
        return known
    refused: SourceError | None = None
    try:
        if nesting(check_syntax(text), MOST_NESTED) > MOST_NESTED:
            raise SourceError("nested too deeply to be analysed")
    except SourceError as error:
        if not error.may_be_newer or not _is_shallow(text):
            raise
        refused = error
    try:
        tree = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise refused or SourceError(error.message, error.raw_line, error.raw_column + 1) from error
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error
    if refused is not None and not is_newer(tree):
        raise refused
    return tree


def _is_shallow(text: str) -> bool:
    """Whether no line is very long, and brackets do not seem to nest deeply."""
    depth = 0
    for line in text.split("\n"):
        opened = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        depth = max(0, depth + opened)
        if depth > MOST_BRACKETS or len(line) > LONGEST_LINE:
            return False
    return True


class Unit:
    """The tree of a file, or of one of its statements."""

    def __init__(self, tree: Any, text: Sequence[str], lines: Lines, indent: str) -> None:
        self.tree = tree  # a statement or cst.Module
        self.text = text  # the lines of the file
        self.lines = lines  # of statements
        self.indent = indent  # that the file is indented with
        self.file: Unit | None = None  # of which this is a statement
        self._uses: dict[int, Sequence[Use]] = {}
        self._called: dict[int, frozenset[str]] = {}
        self._places: _Places | None = None

    def uses(self, node: cst.CSTNode) -> Sequence[Use]:
        """Return what is called and assigned in the body of a function, a lambda or the module."""
        if id(node) not in self._uses:
            self._uses[id(node)] = uses_of(node)
        return self._uses[id(node)]

    def called(self, node: cst.CSTNode) -> frozenset[str]:
        """Return the names and chains of attributes that are called there."""
        if id(node) not in self._called:
            calls = (each for each, _ in self.uses(node) if type(each) is cst.Call)
            self._called[id(node)] = frozenset(dotted(call.func) for call in calls)
        return self._called[id(node)]

    def line(self, statement: cst.CSTNode) -> int:
        """Return the line that a statement starts on; 0 of what is none."""
        return self.lines.starts.get(id(statement), 0)

    def place(self, node: cst.CSTNode) -> Place | None:
        """Return where an expression or a statement stands in the file; None of a stranger."""
        if self._places is None:
            self._places = _Places(self)
        return self._places.of(node)

    def of(self, statement: cst.CSTNode) -> Unit:
        """Return the unit of one of the file's functions or lines."""
        own = Unit(statement, self.text, self.lines, self.indent)
        own.file = self
        return own

    @cached_property
    def begins(self) -> list[int]:
        """Where each line of the file begins, in characters; worked out once for all functions."""
        if self.file is not None:
            return self.file.begins
        return [0, *accumulate(len(line) + 1 for line in self.text)]


def read(text: str) -> Unit:
    """Parse a file; raises SourceError for what is no Python, TooDeepError."""
    tree = parse(text)
    lines = text.split("\n")
    return Unit(tree, lines, lines_of(tree.body, lines, 1 + len(tree.header)), tree.default_indent)


def function_unit(text: Sequence[str], first: int, last: int) -> Unit:
    """Parse the function on lines `first` to `last` of a file that is Python."""
    own = text[first - 1 : last]
    indented = own[0][:1] in (" ", "\t")
    if indented:
        own = ["if 1:", *own]
    module = parse("\n".join(own) + "\n")
    body: Sequence[Any] = module.body
    if indented:
        body = module.body[0].body.body  # type: ignore[union-attr]
    (function,) = body
    if type(function) is not cst.FunctionDef:
        raise TooDeepError("a function was not where it was expected")
    return Unit(function, text, lines_of(body, text, first), module.default_indent)


class _Places(CodegenState):
    """The places of a unit's nodes: its code, as libcst writes it, measured and not kept."""

    def __init__(self, unit: Unit) -> None:
        tree = unit.tree
        super().__init__(unit.indent, "\n")
        self.at = 0
        self.begun: list[int] = []
        self.spans: dict[int, tuple[int, int]] = {}
        shift = 0
        if type(tree) is not cst.Module:
            own = unit.text[unit.line(tree) - 1]
            shift = len(own) - len(own.lstrip())
            self.indent_tokens.append(own[:shift])
        tree._codegen(self)
        self.begins = unit.begins
        if type(tree) is not cst.Module:
            self.moved = self.begins[unit.line(tree) - 1] + shift - self.spans[id(tree)][0]
        else:
            self.moved = 0

    def of(self, node: Any) -> Place | None:
        """Return where a node stands."""
        if isinstance(node, _ENCLOSED) and node.lpar:
            (start, _), (_, end) = self.spans[id(node.lpar[-1])], self.spans[id(node.rpar[0])]
        elif id(node) in self.spans:
            start, end = self.spans[id(node)]
        else:
            return None
        return (*self._point(start), *self._point(end))

    def _point(self, at: int) -> tuple[int, int]:
        at += self.moved
        line = bisect_right(self.begins, at)
        return line, at - self.begins[line - 1]

    def add_token(self, value: str) -> None:
        """Count what is written."""
        self.at += len(value)

    def add_indent_tokens(self) -> None:
        """Count the indentation of a line."""
        self.at += sum(map(len, self.indent_tokens))

    def pop_trailing_newline(self) -> None:
        """Nothing stands behind the end of a file."""

    def before_codegen(self, node: cst.CSTNode) -> None:
        """Note where the text of a node begins."""
        self.begun.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        """Note where it ends, unless the node itself has said what belongs to it."""
        self.spans.setdefault(id(node), (self.begun.pop(), self.at))

    @contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Iterator[None]:
        """Note where a node stands, without the space and the parentheses around it."""
        start = self.at
        yield
        start = start if start_node is None else self.spans[id(start_node)][0]
        self.spans[id(node)] = start, self.at if end_node is None else self.spans[id(end_node)][1]
