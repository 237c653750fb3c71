"""One file as repairs see it: its text, its syntax tree, and the way between the two."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import libcst as cst

from asyncguard.lint.fixes.fresh import FreshNames
from asyncguard.lint.fixes.structure import Structure
from asyncguard.lint.source.fixes import lines_of
from asyncguard.lint.syntax.nodes import (
    LOOPS,
    Expression,
    Statement,
    attribute,
    blocks,
    body,
)
from asyncguard.lint.syntax.tree import dotted, walk_expressions
from asyncguard.lint.syntax.unit import read
from asyncguard.model import Edit

Span = tuple[int, int, int, int]  # line, column, end line, end column, as in `Edit`


def _imported(statements: Iterable[Statement]) -> Iterator[tuple[str, str]]:
    """Yield the names that statements import, and what they stand for."""
    for statement in statements:
        if isinstance(statement, cst.Import):
            for alias in statement.names:
                name, top = alias.evaluated_name, alias.evaluated_name.partition(".")[0]
                yield (alias.evaluated_alias, name) if alias.evaluated_alias else (top, top)
        elif isinstance(statement, cst.ImportFrom) and not statement.relative:
            module = dotted(statement.module) if statement.module is not None else ""
            for alias in statement.names if isinstance(statement.names, Sequence) else ():
                name = alias.evaluated_name
                yield alias.evaluated_alias or name, f"{module}.{name}"


class Code(Structure):
    """The text of a file and its tree. Lines count from 1, columns from 0, in characters."""

    def __init__(self, text: str) -> None:
        """Parse `text`; raises SourceError or TooDeepError where that fails."""
        self.text = text
        self.lines = lines_of(text)
        super().__init__(read(text))
        self._first_lines = [self._first_line(part) for part in self.tree.body]
        self._at: dict[int, dict[Span, Expression]] = {}  # by `id` of statements
        self._inner: dict[int, list[tuple[Sequence[Any], list[int]]]] = {}  # likewise
        self._fresh = FreshNames(self.tree)

    def expression_at(self, span: Span) -> Expression | None:
        """Return the outermost expression that stands exactly there."""
        around = reversed([*self._going_on(span, self.tree.body, self._first_lines)])
        tables = map(self._expressions, around)
        return next((found[span] for found in tables if span in found), None)

    def _going_on(
        self, span: Span, block: Sequence[Any], first_lines: Sequence[int]
    ) -> Iterator[cst.CSTNode]:
        """Yield the statements of a block, and those in them, that may go on there, line to line.

        Several may share the line. One ends before the next begins.
        """
        end = bisect_right(first_lines, span[0])
        for at in reversed(range(bisect_left(first_lines, span[2], hi=end) - 1, end)):
            if at >= 0:
                yield block[at]
                for inner, lines in self._blocks(block[at]):
                    yield from self._going_on(span, inner, lines)

    def _blocks(self, statement: cst.CSTNode) -> list[tuple[Sequence[Any], list[int]]]:
        """Return the blocks right in a statement, with the first lines of their statements."""
        if id(statement) not in self._inner:
            self._inner[id(statement)] = [
                (block, list(map(self._first_line, block))) for block in blocks(statement)
            ]
        return self._inner[id(statement)]

    def _expressions(self, statement: cst.CSTNode) -> dict[Span, Expression]:
        if id(statement) not in self._at:
            found: dict[Span, Expression] = {}
            for node in walk_expressions(statement):
                if isinstance(node, Expression):
                    found.setdefault(self.span(node), node)
            self._at[id(statement)] = found
        return self._at[id(statement)]

    def outermost(self, first: int, last: int) -> tuple[int, int]:
        """Return the lines of the module's statements that some lines are in or follow, as indices.

        Statements that share a line stay together.
        """
        starts = [0]
        end = 0
        for line, statement in zip(self._first_lines, self.tree.body, strict=True):
            if line > end:
                starts.append(line - 1)
            end = self._last_line(statement)
        begin = max((start for start in starts if start < first), default=0)
        return begin, next((s for s in starts if s >= last and s > begin), len(self.lines))

    def span(self, node: cst.CSTNode) -> Span:
        """Return where a node stands, the parentheses around it left out."""
        home = self._home(node)
        place = home.unit.place(node) if home is not None else None
        assert place is not None, type(node)
        return place

    def source(self, node: cst.CSTNode) -> str:
        """Return the text of a node, without the parentheses around it."""
        line, column, end_line, end_column = self.span(node)
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        middle = self.lines[line : end_line - 1]
        last = self.lines[end_line - 1][:end_column]
        return "\n".join([self.lines[line - 1][column:], *middle, last])

    def operand(self, node: Expression) -> str:
        """Return the text of an expression as `.name` or a call can be written behind it."""
        text = self.source(node)
        return text if is_postfix(node) else f"({text})"

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Replace a node."""
        return Edit(*self.span(node), text)

    def line(self, node: cst.CSTNode) -> int:
        """Return the line that a node begins on; a decorated function's is that of its `def`."""
        return self.span(node)[0]

    def last_line(self, node: cst.CSTNode) -> int:
        """Return the line that a node ends on."""
        return self.span(node)[2]

    def first_line(self, statement: cst.CSTNode) -> int:
        """Return the line that a statement begins on, its decorators included."""
        return min([self.line(statement), *map(self.unit.line, decorators(statement))])

    def indent(self, statement: cst.CSTNode) -> str | None:
        """Return what stands before a statement on its line; None if that is more than space.

        Nothing can be put before an `elif`, which the tree shows as an `if`.
        """
        line, column = self.first_line(statement), self.span(statement)[1]
        text = self.lines[line - 1]
        is_first = not text[:column].strip() and not text[column:].startswith("elif")
        return text[:column] if is_first else None

    def body_lines(self, branch: cst.If, change: Edit | None = None) -> list[str] | None:
        """Return the lines of a branch without their indent, a change in one of them made.

        None where the body begins on the line of its test, a line has less indent, or a text goes
        over several lines, which would become another one.
        """
        first_statement = body(branch)[0]
        inner, first = self.indent(first_statement), self.line(first_statement)
        lines = self.lines[first - 1 : self.last_line(branch)]
        if inner is None or any(line.strip() and not line.startswith(inner) for line in lines):
            return None
        if may_continue_text(lines):
            return None
        if change is not None:
            if change.line != change.end_line:
                return None
            line = lines[change.line - first]
            changed = line[: change.column] + change.text + line[change.end_column :]
            lines[change.line - first] = changed
        return [line[len(inner) :] if line.strip() else line for line in lines]

    def through(self, node: cst.CSTNode, methods: Container[str]) -> Iterator[cst.CSTNode]:
        """Yield an expression, and the calls of such methods on it: `x`, `x.f()`, `x.f().g()`."""
        while True:
            yield node
            function = self.parent(node)
            call = self.parent(function) if function is not None else None
            if not isinstance(call, cst.Call) or call.func is not function:
                return
            if attribute(function) not in methods:
                return
            node = call

    def is_alone(self, statement: cst.CSTNode) -> bool:
        """Whether nothing else stands on the lines of a statement, a comment aside."""
        _, _, end_line, end = self.span(statement)
        rest = self.lines[end_line - 1][end:].strip()
        return self.indent(statement) is not None and (not rest or rest.startswith("#"))

    def insert_before(self, statement: cst.CSTNode, *lines: str) -> Edit:
        """Insert lines above a statement that begins its line."""
        line, indent = self.first_line(statement), self.indent(statement) or ""
        return Edit(line, 0, line, 0, "".join(f"{indent}{text}\n" for text in lines))

    def insert_after(self, statement: cst.CSTNode, *lines: str) -> Edit:
        """Insert lines below a statement, and below the comments that belong to its block."""
        last, indent = self.last_line(statement), self.indent(statement) or ""
        for number in range(last, len(self.lines)):
            text = self.lines[number]
            if text.strip().startswith("#") and _depth(text) > len(indent):
                last = number + 1
            elif text.strip():
                break
        end = len(self.lines[last - 1])
        return Edit(last, end, last, end, "".join(f"\n{indent}{text}" for text in lines))

    def delete(self, statement: cst.CSTNode) -> Edit:
        """Delete the lines of a statement that stands alone on them; a comment behind it stays."""
        first, last = self.first_line(statement), self.last_line(statement)
        behind = self.lines[last - 1][self.span(statement)[3] :].strip()
        if behind:
            text = f"{self.indent(statement)}{behind}"
            return Edit(first, 0, last, len(self.lines[last - 1]), text)
        if last >= len(self.lines):
            return Edit(first, 0, last, len(self.lines[last - 1]), "")
        return Edit(first, 0, last + 1, 0, "")

    @cached_property
    def width(self) -> int:
        """How many characters a line of the file has at most: as many as it has, up to 100."""
        return min(100, max([79, *map(len, self.lines)]))

    @cached_property
    def imports(self) -> dict[str, str]:
        """Return what module-level names stand for: `F` -> `torch.nn.functional`."""
        return dict(_imported(body(self.tree)))

    @cached_property
    def may_import(self) -> dict[str, str]:
        """Return what names stand for that a condition or a `try` of the module imports, too."""
        inner = (s for s in body(self.tree) if isinstance(s, (cst.If, cst.Try)))
        return {**dict(_imported(part for s in inner for part in body(s))), **self.imports}

    def name_for(self, module: str) -> str | None:
        """Return how the file writes a module: `np` for `numpy`; None if it does not import it."""
        return next((name for name, what in self.imports.items() if what == module), None)

    def meaning(self, node: cst.CSTNode) -> str:
        """Return the full name of `F.one_hot`, imports resolved; "" where it is not one."""
        name = dotted(node)
        head, _, rest = name.partition(".")
        known = self.may_import.get(head)
        return f"{known}.{rest}".rstrip(".") if known else name

    def fresh(self, name: str, near: cst.CSTNode | None = None) -> str:
        """Return a name that the scope of a node does not use, as close to `name` as there is.

        Loops that follow each other may get the same. Without a node, the whole file has none such.
        """
        scope = self.tree if near is None else self.scope(near)
        text = self.text if scope is self.tree else self.source(scope)
        return self._fresh.name(name, scope, text, [] if near is None else self._around(near))

    def _around(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the outermost loop at a node, or its scope, and all that is around that."""
        found = [node, *self.parents(node)]
        scope = next(at for at, each in enumerate(found) if each is self.scope(node))
        loops = [at for at in range(scope) if isinstance(found[at], LOOPS)]
        return found[loops[-1] if loops else scope :]

    def _first_line(self, statement: cst.CSTNode) -> int:
        return min(map(self.unit.line, (statement, *decorators(statement))))

    def _last_line(self, statement: cst.CSTNode) -> int:
        """Return the last line of a statement of the module, or of one in one that is known."""
        if id(statement) not in self._homes:
            self._map(statement)
        return self.last_line(statement)


def decorators(statement: Any) -> Sequence[cst.Decorator]:
    """Return the decorators of a function or class."""
    return getattr(statement, "decorators", ())


def argument(code: Code, node: Expression) -> str:
    """Return the text of an expression as one argument or element: a bare tuple in parentheses."""
    text = code.source(node)
    is_bare = isinstance(node, cst.Tuple) and not node.lpar
    return f"({text})" if is_bare else text


def flat(text: str) -> str:
    """Return the source of an expression on one line."""
    return " ".join(text.split())


def may_continue_text(lines: Sequence[str]) -> bool:
    """Whether a text may go over the end of a line: with more indent it would be another one."""
    return any('"""' in line or "'''" in line or line.endswith("\\") for line in lines)


def is_postfix(node: Expression) -> bool:
    """Whether `.name` can be written behind the text of an expression."""
    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
