"""Building the nodes of one text: the state that the parts of the grammar share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.names.words import MAX_NAMES
from asyncguard.lint.syntax import makers as make

Span = tuple[int, int, int, int]  # line, column, end line, end column; columns in UTF-8 bytes
Use = tuple[Any, frozenset[str]]  # a node, and the names that comprehensions around it bind
NO_NAMES = frozenset[str]()
Origin = Any  # a part of Python's syntax, or the first and the last of the parts built from
Numbers = Mapping[tuple[int, int], int]  # numbers of functions, by line and column of their `def`

word = lru_cache(MAX_NAMES)(
    make.name
)  # one that is no expression, so that nobody asks for its place

Handlers = Mapping[type[ast.AST], Callable[["Builder", Any], Any]]


class Grammar(NamedTuple):
    """How each kind of Python's own nodes is built (`nodes` fills it)."""

    expressions: Handlers
    simple: Handlers
    compound: Handlers


class Builder:
    """Builds the nodes of one text.

    `outlined` numbers functions, by line and column of their `def`, of which no more is wanted
    than name and decorators: the number is put where the body was. `origins` are what expressions
    and statements were built from, by `id(node)`; `uses` are the calls and the targets in the
    bodies of functions, lambdas and the module, likewise.
    """

    def __init__(
        self, grammar: Grammar, lines: Sequence[str], outlined: Numbers | None = None
    ) -> None:
        self.grammar = grammar
        self.lines = lines
        self.outlined = outlined or {}
        self.origins: dict[int, Origin] = {}
        self.uses: dict[int, list[Use]] = {}
        self._used: list[Use] = []  # so far in the function that is being built
        self._bound: frozenset[str] = NO_NAMES  # by comprehensions and lambdas around

    def expression(self, node: ast.expr) -> Any:
        """Build an expression."""
        if type(node) is ast.Name:
            made = make.name(node.id)
        elif type(node) is ast.Starred:  # by itself it stands in annotations of `*args`
            return self.expression(node.value)
        else:
            made = self.grammar.expressions[type(node)](self, node)
        self.origins[id(made)] = node
        return made

    def optional(self, node: ast.expr | None) -> Any:
        """Build an expression, if there is one."""
        return None if node is None else self.expression(node)

    def statements(self, body: Sequence[ast.stmt]) -> list[Any]:
        """Build statements; simple ones on the same line share one of libcst's lines."""
        lines: list[Any] = []
        end = 0  # line that the simple statement before ends on
        for node in body:
            compound = self.grammar.compound.get(type(node))
            made = (compound or self.grammar.simple[type(node)])(self, node)
            self.origins[id(made)] = node
            if compound is not None:
                lines.append(made)
                end = 0
                continue
            if node.lineno == end:
                lines[-1].body.append(made)
            else:
                lines.append(make.line([made]))
                self.origins[id(lines[-1])] = node
            end = node.end_lineno or 0
        return lines

    def suite(self, body: Sequence[ast.stmt]) -> Any:
        """Build the block of a compound statement: on lines of its own, or after the colon."""
        first = body[0]
        before = self.lines[first.lineno - 1][: first.col_offset]
        if not before or before.isspace() or getattr(first, "decorator_list", None):
            return make.block(self.statements(body))
        return make.one_line([part for line in self.statements(body) for part in line.body])

    def module(self, tree: ast.Module) -> cst.Module:
        """Build a module."""
        made: cst.Module = make.module(self.statements(tree.body))
        self.uses[id(made)] = self._used
        return made

    def use(self, made: Any) -> Any:
        """Note a call or a target."""
        self._used.append((made, self._bound))
        return made

    def apart(self, build: Callable[[], Any]) -> tuple[Any, list[Use]]:
        """Build something that is a scope of its own; returns what that uses as well."""
        around = self._used, self._bound
        own: list[Use] = []
        self._used, self._bound = own, NO_NAMES
        made = build()
        self._used, self._bound = around
        return made, own

    def within(self, bound: frozenset[str], build: Callable[[], Any]) -> Any:
        """Build something that binds names for itself alone."""
        around = self._bound
        self._bound |= bound
        made = build()
        self._bound = around
        return made

    def take(self, uses: list[Use], bound: frozenset[str]) -> None:
        """Note what something within uses, which binds names for itself alone."""
        self._used += [(node, self._bound | bound | inner) for node, inner in uses]


def span(origin: Origin) -> Span:
    """Return where it stands: from the beginning of the first part to the end of the last."""
    first, last = origin if isinstance(origin, tuple) else (origin, origin)
    return first.lineno, first.col_offset, last.end_lineno, last.end_col_offset
