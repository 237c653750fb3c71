"""One file as repairs see it: its text, its syntax tree, and the way between the two."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import warnings
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.source import parsed
from asyncguard.lint.source.fixes import lines_of
from asyncguard.model import Edit

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
Loop = ast.For | ast.AsyncFor | ast.While
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_WORD = r"(?<![\w.])[^\W\d]\w*"
_RESERVED = {*keyword.kwlist, *vars(builtins)}
N = TypeVar("N", bound=ast.AST)
Span = tuple[int, int, int, int]  # line, column, end line, end column, as in `Edit`


def _imported(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the names that statements import, and what they stand for."""
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, alias.name if alias.asname else top
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            for alias in statement.names:
                yield alias.asname or alias.name, f"{statement.module}.{alias.name}"


class Code:
    """The text of a file and its tree. Lines count from 1, columns from 0, in characters."""

    def __init__(self, text: str) -> None:
        """Parse `text`; raises SyntaxError, ValueError or RecursionError where that fails."""
        self.text = text
        self.lines = lines_of(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(text)
        self._first_lines = [first_line(statement) for statement in self.tree.body]
        self._parents: dict[ast.AST, ast.AST] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._mapped: set[ast.stmt] = set()
        self._on_lines: dict[tuple[int, int], list[ast.expr]] = {}  # by their first and last line
        self._at: dict[
            tuple[int, int], dict[Span, ast.expr]
        ] = {}  # of the lines that were asked for
        self._places: dict[ast.stmt, tuple[list[ast.stmt], int]] = {}
        self._taken: dict[str, list[ast.AST]] = {}  # new names, and the code that has them
        self._numbers: dict[tuple[str, ast.AST], int] = {}  # of the newest of new names
        self._names: dict[ast.AST, frozenset[str]] = {}

    def expression_at(self, span: Span) -> ast.expr | None:
        """Return the expression that stands exactly there."""
        line, _, end_line, _ = span
        at = bisect_right(self._first_lines, line) - 1
        while at >= 0 and (self.tree.body[at].end_lineno or 0) >= end_line:
            self._map(self.tree.body[at])
            at -= 1
        lines = line, end_line
        if near := self._on_lines.pop(lines, None):
            at_spans = self._at.setdefault(lines, {})
            for node in near:
                at_spans.setdefault(self.span(node), node)
        found = self._at.get(lines, {}).get(span)
        return found if found is not None and self._is_placed(found) else None

    def outermost(self, first: int, last: int) -> tuple[int, int]:
        """Return the lines of the module's statements that some lines are in or follow, as indices.

        Statements that share a line stay together.
        """
        starts = [0]
        end = 0
        for line, statement in zip(self._first_lines, self.tree.body, strict=True):
            if line > end:
                starts.append(line - 1)
            end = statement.end_lineno or 0
        begin = max((start for start in starts if start < first), default=0)
        return begin, next((s for s in starts if s >= last and s > begin), len(self.lines))

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what is around a node, innermost first, the module last."""
        while (parent := self.parent(node)) is not None:
            yield parent
            node = parent

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return what a node stands in; None for the module."""
        if node not in self._parents and not isinstance(node, ast.Module):
            for statement in self.tree.body:
                self._map(statement)
        return self._parents.get(node)

    def adopt(self, node: ast.AST, parent: ast.AST) -> None:
        """Give a node that is not in the text its place in the tree."""
        self._parents.setdefault(node, parent)

    def around(self, node: ast.AST, kind: type[N] | tuple[type[N], ...]) -> N | None:
        """Return the innermost node of a kind around another."""
        return next((p for p in self.parents(node) if isinstance(p, kind)), None)

    def scope(self, node: ast.AST) -> Scope:
        """Return the function, class, lambda or module that a node's names belong to."""
        if node not in self._scopes:
            found = next((p for p in self.parents(node) if isinstance(p, SCOPES)), self.tree)
            self._scopes[node] = found
        return self._scopes[node]

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement around a node, or the node if it is one."""
        if isinstance(node, ast.stmt):
            return node
        found = self.around(node, ast.stmt)
        assert found is not None
        return found

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """Return the list of statements that one is in, and its index there."""
        if statement not in self._places:
            parent = self.parent(statement) or self.tree
            for name in _BLOCKS:
                body = getattr(parent, name, ())
                if isinstance(body, list):  # that of a lambda is an expression
                    self._places.update({part: (body, at) for at, part in enumerate(body)})
        return self._places[statement]

    def span(self, node: ast.AST) -> Span:
        """Return where a node stands."""
        assert isinstance(node, (ast.expr, ast.stmt, ast.keyword))
        end_line, end = node.end_lineno or 0, node.end_col_offset or 0
        start = self._column(node.lineno, node.col_offset)
        return node.lineno, start, end_line, self._column(end_line, end)

    def source(self, node: ast.AST) -> str:
        """Return the text of a node, without the parentheses around it."""
        line, column, end_line, end_column = self.span(node)
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        middle = self.lines[line : end_line - 1]
        last = self.lines[end_line - 1][:end_column]
        return "\n".join([self.lines[line - 1][column:], *middle, last])

    def operand(self, node: ast.expr) -> str:
        """Return the text of an expression as `.name` or a call can be written behind it."""
        text = self.source(node)
        return text if is_postfix(node) else f"({text})"

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Replace a node."""
        return Edit(*self.span(node), text)

    def indent(self, statement: ast.stmt) -> str | None:
        """Return what stands before a statement on its line; None if that is more than space.

        Nothing can be put before an `elif`, which the tree shows as an `if`.
        """
        line, column = first_line(statement), statement.col_offset
        text = self.lines[line - 1]
        is_first = not text[:column].strip() and not text[column:].startswith("elif")
        return text[:column] if is_first else None

    def body_lines(self, branch: ast.If, change: Edit | None = None) -> list[str] | None:
        """Return the lines of a branch without their indent, a change in one of them made.

        None where the body begins on the line of its test, a line has less indent, or a text goes
        over several lines, which would become another one.
        """
        inner, first = self.indent(branch.body[0]), branch.body[0].lineno
        lines = self.lines[first - 1 : branch.end_lineno]
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

    def through(self, node: ast.AST, methods: Container[str]) -> Iterator[ast.AST]:
        """Yield an expression, and the calls of such methods on it: `x`, `x.f()`, `x.f().g()`."""
        while True:
            yield node
            attribute = self.parent(node)
            call = self.parent(attribute) if attribute is not None else None
            if not isinstance(attribute, ast.Attribute) or not isinstance(call, ast.Call):
                return
            if call.func is not attribute or attribute.attr not in methods:
                return
            node = call

    def is_alone(self, statement: ast.stmt) -> bool:
        """Whether nothing else stands on the lines of a statement, a comment aside."""
        _, _, end_line, end = self.span(statement)
        rest = self.lines[end_line - 1][end:].strip()
        return self.indent(statement) is not None and (not rest or rest.startswith("#"))

    def insert_before(self, statement: ast.stmt, *lines: str) -> Edit:
        """Insert lines above a statement that begins its line."""
        line, indent = first_line(statement), self.indent(statement) or ""
        return Edit(line, 0, line, 0, "".join(f"{indent}{text}\n" for text in lines))

    def insert_after(self, statement: ast.stmt, *lines: str) -> Edit:
        """Insert lines below a statement, and below the comments that belong to its block."""
        last, indent = statement.end_lineno or 0, self.indent(statement) or ""
        for number in range(last, len(self.lines)):
            text = self.lines[number]
            if text.strip().startswith("#") and _depth(text) > len(indent):
                last = number + 1
            elif text.strip():
                break
        end = len(self.lines[last - 1])
        return Edit(last, end, last, end, "".join(f"\n{indent}{text}" for text in lines))

    def delete(self, statement: ast.stmt) -> Edit:
        """Delete the lines of a statement that stands alone on them; a comment behind it stays."""
        first, last = first_line(statement), statement.end_lineno or 0
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
        return dict(_imported(self.tree.body))

    @cached_property
    def may_import(self) -> dict[str, str]:
        """Return what names stand for that a condition or a `try` of the module imports, too."""
        inner = (s for s in self.tree.body if isinstance(s, ast.If | ast.Try))
        return {**dict(_imported(part for s in inner for part in s.body)), **self.imports}

    def name_for(self, module: str) -> str | None:
        """Return how the file writes a module: `np` for `numpy`; None if it does not import it."""
        return next((name for name, what in self.imports.items() if what == module), None)

    def meaning(self, node: ast.AST) -> str:
        """Return the full name of `F.one_hot`, imports resolved; "" where it is not one."""
        name = dotted(node)
        head, _, rest = name.partition(".")
        known = self.may_import.get(head)
        return f"{known}.{rest}".rstrip(".") if known else name

    def fresh(self, name: str, near: ast.AST | None = None) -> str:
        """Return a name that the scope of a node does not use, as close to `name` as there is.

        Loops that follow each other may get the same. Without a node, the whole file has none such.
        """
        scope = self.tree if near is None else self.scope(near)
        place = self.tree if near is None else self._stretch(near)
        number = self._numbers.get((name, place), 1)
        tried = name if number == 1 else f"{name}_{number}"
        while tried in self._used(scope) or tried in _RESERVED or self._is_taken(tried, place):
            number += 1
            tried = f"{name}_{number}"
        self._numbers[name, place] = number
        self._taken.setdefault(tried, []).append(place)
        return tried

    def _stretch(self, node: ast.AST) -> ast.AST:
        """Return the outermost loop around a node, itself included, or its scope."""
        found = node if isinstance(node, LOOPS) else None
        for parent in self.parents(node):
            if isinstance(parent, SCOPES):
                return found or parent
            found = parent if isinstance(parent, LOOPS) else found
        return found or self.tree

    def _is_taken(self, name: str, place: ast.AST) -> bool:
        """Whether a new name is in a stretch of code, in one around it, or anywhere in the file."""
        around = {place, *self.parents(place)}
        return any(
            other in around or place is self.tree or place in self.parents(other)
            for other in self._taken.get(name, ())
        )

    def _used(self, scope: ast.AST) -> frozenset[str]:
        if scope not in self._names:
            text = self.text if scope is self.tree else self.source(scope)
            self._names[scope] = frozenset(re.findall(_WORD, text))
        return self._names[scope]

    def _map(self, statement: ast.stmt) -> None:
        if statement in self._mapped:
            return
        self._mapped.add(statement)
        self._parents[statement] = self.tree
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            for child in parsed.children(node):
                self._parents.setdefault(child, node)
                if type(child) not in parsed.LEAVES:
                    stack.append(child)
                if isinstance(child, ast.expr):
                    lines = child.lineno, child.end_lineno or 0
                    self._on_lines.setdefault(lines, []).append(child)

    def _is_placed(self, node: ast.expr) -> bool:
        """Whether the text there is the node: before 3.12, places in f-strings may be wrong."""
        if not any(isinstance(parent, ast.JoinedStr) for parent in self.parents(node)):
            return True
        try:
            there = ast.parse(f"({self.source(node)})", mode="eval").body
        except (SyntaxError, ValueError, IndexError):
            return False
        return ast.dump(there) == ast.dump(node)

    def _column(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))


def first_line(statement: ast.stmt) -> int:
    """Return the line that a statement begins on, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)])


def argument(code: Code, node: ast.expr) -> str:
    """Return the text of an expression as one argument or element: a bare tuple in parentheses."""
    text = code.source(node)
    is_bare = isinstance(node, ast.Tuple) and (
        not text.startswith("(")
        or (node.elts and code.span(node)[:2] == code.span(node.elts[0])[:2])
    )
    return f"({text})" if is_bare else text


def flat(text: str) -> str:
    """Return the source of an expression on one line."""
    return " ".join(text.split())


def may_continue_text(lines: Sequence[str]) -> bool:
    """Whether a text may go over the end of a line: with more indent it would be another one."""
    return any('"""' in line or "'''" in line or line.endswith("\\") for line in lines)


def is_postfix(node: ast.expr) -> bool:
    """Whether `.name` can be written behind the text of an expression."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List))


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` of a chain of names, or ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def same(left: ast.AST, right: ast.AST) -> bool:
    """Whether two pieces of code read the same, stores and loads alike."""
    return type(left) is type(right) and written(left) == written(right)


@kept(OF_STATEMENTS)
def written(node: ast.AST) -> str:
    """Return a text that two pieces of code share if they read the same, stores and loads alike."""
    if isinstance(node, ast.Name):
        return f"Name({node.id!r})"
    return re.sub(r"ctx=\w+\(\)", "", ast.dump(node))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
