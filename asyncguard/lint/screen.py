"""A cheap look with Python's own parser: which functions need a tree at all?

`outline` lists a file's functions (not those nested in others) and what a walk over their `ast`
says: where they stand, whether anything in them could be a sync point, whether they could run once
a step, what usage tells about attributes of `self`. `skeleton` is the file without these functions,
which become trees only when they are run. An outline is small, and kept
for other files to ask what their calls lead to. This decides where to look, never what is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from asyncguard.lint.suspicion import (
    BLOCKS,
    DEFINITIONS,
    HARMLESS,
    Function,
    Words,
    parameters,
)


@dataclass(eq=False)
class Outlined:
    """One function, as its `ast` shows it; lines count from 1."""

    name: str
    first: int = 0  # line of the first decorator, or of `def`
    line: int = 0  # of `def`
    body: int = 0  # line of the first statement
    last: int = 0
    indent: int = 0
    class_name: str = ""
    suspicious: bool = False  # something in it may be a sync point
    loops: bool = False
    steps: bool = False  # runs a backward pass or the like
    attributes: frozenset[str] = frozenset()  # of `self` that it gives values
    clocks: int = 0  # how often it reads a clock
    calls: frozenset[str] = frozenset()  # names it calls, without owners but checked modules
    hints: dict[str, tuple[str, str]] = field(default_factory=dict)  # of `self.x` paths
    binds: frozenset[str] = frozenset()  # variables
    takes: bool = False  # has parameters

    def may_be_hot(self, reaching: set[str], *, hook: bool) -> bool:
        """Whether a sync point in it may be hot, by its loops or because its framework enters it.

        Or whether it measures a time: what it measures is asked wherever it runs.
        """
        if self.clocks > 1:
            return True
        hot = self.loops or self.steps or hook
        return hot and (self.suspicious or not reaching.isdisjoint(self.calls))


_LOSS = re.compile(r"loss(es)?$")
_LOSS_OF = re.compile(r"(^|_)loss(es)?(_(by|for|from|single|per|of)(_|$)|$)")  # a module's own
_ABOUT_LOSSES = re.compile(
    r"^_*(add|avg|best|display|estimate|eval(uate)?|get_(avg|best|mean)|load|log|mean|plot|print|record"
    r"|reduce|report|reset|save|set|show|sum|test|total|track|train|update|val(idate)?|write)_"
)


Abroad = Callable[[str], bool]  # whether a function of another file leads to something suspicious


@dataclass(eq=False)
class Outline:
    """A file's functions in order, and what stands outside them, `module`.

    `imports` gives the full names of what is imported from checked modules, by local name; `stars`
    are the modules of which all is imported. `binds` are the names that others may import from
    here, and more. `modules` are those that are checked.
    """

    path: str
    functions: tuple[Outlined, ...]
    module: Outlined
    imports: Mapping[str, str]
    stars: tuple[str, ...]
    binds: frozenset[str]
    modules: Container[str]
    abroad: Abroad

    @property
    def module_suspicious(self) -> bool:
        """Whether what stands outside functions may lead to a hot sync point."""
        return self.module.may_be_hot(self._reaching, hook=False)

    def roots(self, hot_names: frozenset[str]) -> set[int]:
        """Return the functions from which a sync point in a hot context may be reached."""
        return {
            index
            for index, f in enumerate(self.functions)
            if f.may_be_hot(self._reaching, hook=f.name in hot_names or self._hooks(f))
        }

    def dormant(self, hot_names: frozenset[str]) -> frozenset[str]:
        """Return the names of functions with sync points that only a hot caller elsewhere heats."""
        awake = self.roots(hot_names)
        return frozenset(
            f.name for i, f in enumerate(self.functions) if i not in awake and self._leads(f)
        )

    def innocent(self, hot_names: frozenset[str]) -> dict[str, frozenset[str]]:
        """Return what functions call that may be hot, but lead to nothing in sight, by name."""
        awake = self.roots(hot_names)
        return {
            f.name: frozenset(f.calls)
            for i, f in enumerate(self.functions)
            if i not in awake and f.calls and (f.loops or f.steps or f.name in hot_names)
        }

    def called(self, names: frozenset[str]) -> set[int]:
        """Return the functions of these names."""
        return {i for i, f in enumerate(self.functions) if f.name in names}

    def _leads(self, function: Outlined) -> bool:
        return function.suspicious or not self._reaching.isdisjoint(function.calls)

    def _hooks(self, function: Outlined) -> bool:
        return self.trains(function) or self.computes_loss(function)

    def computes_loss(self, function: Outlined) -> bool:
        """Whether a function computes the loss of one step, by its name; one with a loop: of many.

        A module's own method may loop over what it compares, levels or images.
        """
        if _ABOUT_LOSSES.search(function.name):
            return False
        if function.class_name and "forward" in self.methods[function.class_name]:
            return _LOSS_OF.search(function.name) is not None
        return not function.loops and _LOSS.search(function.name) is not None

    def trains(self, function: Outlined) -> bool:
        """Whether a function calls one that runs a training step, and so may be one itself."""
        return not self._training.isdisjoint(function.calls)

    @cached_property
    def by_name(self) -> Mapping[str, list[Outlined]]:
        """The functions, and methods of all classes, of each name."""
        found: dict[str, list[Outlined]] = {}
        for function in self.functions:
            found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def methods(self) -> Mapping[str, frozenset[str]]:
        """The methods that the classes of each name define."""
        found: dict[str, set[str]] = {}
        for function in self.functions:
            found.setdefault(function.class_name, set()).add(function.name)
        return {name: frozenset(methods) for name, methods in found.items()}

    def full_name(self, called: str) -> str:
        """Return the full name of what a call means in other checked files; "" if nothing."""
        first, dot, rest = called.partition(".")
        full = self.imports.get(first, "") + dot + rest
        if dot and full.rpartition(".")[0] not in self.modules:
            return ""  # a method of something imported
        return full if first in self.imports else ""

    @cached_property
    def _reaching(self) -> set[str]:
        """The names of functions that lead to something suspicious, here or in other files."""
        names = {f.name for f in self.functions if f.suspicious}
        called = self.module.calls.union(*(f.calls for f in self.functions))
        names |= {c for c in called if (full := self.full_name(c)) and self.abroad(full)}
        if self.stars:
            known = self.by_name.keys() | self.imports.keys()
            names |= {c for c in called - known if any(self.abroad(f"{s}.{c}") for s in self.stars)}
        return self._callers(names)

    @cached_property
    def _training(self) -> set[str]:
        """The names of functions that lead to a training step."""
        return self._callers({f.name for f in self.functions if f.steps})

    def _callers(self, names: set[str]) -> set[str]:
        """Return these functions' names, and those of all that call them, themselves or not."""
        grown = True
        while grown:
            more = {
                f.name
                for f in self.functions
                if f.name not in names and not names.isdisjoint(f.calls)
            }
            names |= more
            grown = bool(more)
        return names


def outline(
    path: str,
    text: str,
    tree: ast.Module,
    words: Words,
    package: str,
    modules: Container[str],
    abroad: Abroad,
) -> Outline:
    """Outline a parsed text of a module of `package`."""
    lines = text.split("\n")
    module = Outlined("")
    bodies: list[Function] = []
    for node, class_name in _outer_functions(tree):
        found = _outlined(node, class_name, lines)
        if found is not None:
            bodies.append((node.body, node.args, found))
    words.look_into([*bodies, (_outside_functions(tree), None, module)])
    imports, stars = _imported(tree, package, words.names.known)
    functions = tuple(found for _, _, found in bodies)
    binds = frozenset({*_bound(tree), *module.binds})
    return Outline(path, functions, module, imports, stars, binds, modules, abroad)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that definitions and imports bind, outside functions."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (*DEFINITIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        else:
            stack.extend(c for c in ast.iter_child_nodes(node) if isinstance(c, BLOCKS))


def _outer_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions that are not within others, in order, with their class."""
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, DEFINITIONS):
            yield node, class_name  # type: ignore[misc]
            continue
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, BLOCKS)]
        stack.extend((child, inner) for child in reversed(children))


def _outside_functions(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that run when the file is imported, those in class bodies too."""
    found: list[ast.stmt] = []
    stack: list[ast.stmt] = list(tree.body)
    while stack:
        statement = stack.pop()
        if isinstance(statement, ast.ClassDef):
            stack.extend(statement.body)
        elif not isinstance(statement, (*DEFINITIONS, ast.Import, ast.ImportFrom)):
            found.append(statement)
    return found


def _outlined(node: ast.FunctionDef, class_name: str, lines: Sequence[str]) -> Outlined | None:
    """Return where a function stands; None for one that stands on one line."""
    first = min([d.lineno for d in node.decorator_list], default=node.lineno)
    start = node.body[0]
    body = min([d.lineno for d in getattr(start, "decorator_list", [])], default=start.lineno)
    end = node.end_lineno or body
    header_end = _header_end(node)
    if body <= header_end:
        return None
    text = lines[body - 1]
    if text[: start.col_offset].strip() and not getattr(start, "decorator_list", []):
        return None  # `def f(): ...` continued, or a semicolon: leave it whole
    tail = lines[end - 1]
    if node.end_col_offset is not None and _after(tail, node.end_col_offset):
        return None
    takes = any(True for _ in parameters(node.args))
    place = first, node.lineno, body, end, node.col_offset
    return Outlined(node.name, *place, class_name, takes=takes)


def _after(line: str, byte_column: int) -> bool:
    """Whether code follows on the line that a function ends on."""
    rest = line.encode("utf-8", "surrogatepass")[byte_column:].decode("utf-8", "replace").strip()
    return bool(rest) and not rest.startswith("#")


def _header_end(node: ast.FunctionDef) -> int:
    arguments = node.args
    parts = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *arguments.defaults]
    parts += [d for d in arguments.kw_defaults if d is not None]
    parts += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    ends = [getattr(part, "end_lineno", 0) for part in parts]
    if node.returns is not None:
        ends.append(node.returns.end_lineno or 0)
    return max([node.lineno, *ends])


def skeleton(
    lines: Sequence[str], functions: Sequence[Outlined], tree: ast.Module
) -> tuple[str, tuple[int, ...]]:
    """Leave of each function its decorators, its name and its number, as its body.

    Returns the text and, for each line of it, that of the file.

    Comments, blank lines, docstrings and long literals outside functions are left out as well.
    """
    covered, dropped = _lines_of_statements(lines, tree)
    text: list[str] = []
    kept: list[int] = []

    def keep(start: int, end: int) -> None:
        for number in range(start, end):
            line = lines[number - 1]
            bare = line.lstrip()
            if number not in dropped and (number in covered or (bare and bare[0] != "#")):
                text.append(line)
                kept.append(number)

    position = 1
    for index, function in enumerate(functions):
        keep(position, function.first)
        text.extend(lines[function.first - 1 : function.line - 1])
        kept.extend(range(function.first, function.line + 1))
        header = lines[function.line - 1]
        indent = header[: len(header) - len(header.lstrip())]
        text.append(f"{indent}def {function.name}(): {index}")
        position = function.last + 1
    keep(position, len(lines) + 1)
    return "\n".join(text) + "\n", tuple(kept) or (1,)


LONG = 4  # lines of a literal that is not worth a tree


def _lines_of_statements(lines: Sequence[str], tree: ast.Module) -> tuple[set[int], set[int]]:
    """Return the lines that statements outside functions stand on, and those to leave out."""
    covered: set[int] = set()
    dropped: set[int] = set()
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for block in _blocks(node):
            dull = [s for s in block if _is_dull(s, lines)]
            if len(dull) == len(block) and dull:
                dull.pop()  # a block cannot be empty
            for statement in block:
                first, last = _header_or_whole(statement)
                (dropped if statement in dull else covered).update(range(first, last + 1))
        inner = (c for c in ast.iter_child_nodes(node) if isinstance(c, BLOCKS))
        stack.extend(c for c in inner if not isinstance(c, DEFINITIONS))
    return covered, dropped - covered


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    named = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return [block for block in named if isinstance(block, list) and block]


def _header_or_whole(statement: ast.stmt) -> tuple[int, int]:
    decorators = getattr(statement, "decorator_list", [])
    first = min([d.lineno for d in decorators], default=statement.lineno)
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return first, max(statement.lineno, body[0].lineno - 1)
    return first, statement.end_lineno or first


def _is_dull(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a statement says nothing about values: a docstring, or a long literal."""
    start, end = statement.lineno, statement.end_lineno or statement.lineno
    if isinstance(statement, ast.Expr):
        dull = isinstance(statement.value, ast.Constant)
    else:
        dull = (
            isinstance(statement, ast.Assign)
            and end - start >= LONG
            and isinstance(statement.value, (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Constant))
            and not any(isinstance(n, (ast.Call, ast.Lambda)) for n in ast.walk(statement.value))
        )
    alone = not lines[start - 1].encode()[: statement.col_offset].strip()
    return dull and alone and not _after(lines[end - 1], statement.end_col_offset or 0)


def _imported(
    tree: ast.Module, package: str, known: Callable[[str], bool]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what the file imports from other checked modules, and of which it imports all."""
    names: dict[str, str] = {}
    stars: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            module = absolute(node.level, node.module or "", package)
            if not (node.level or known(module)):
                continue
            for alias in node.names:
                if alias.name == "*":
                    stars.append(module)
                elif not alias.name[0].isupper():
                    names[alias.asname or alias.name] = f"{module}.{alias.name}".lstrip(".")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if known(alias.name):
                    first = alias.name.partition(".")[0]
                    names[alias.asname or first] = alias.name if alias.asname else first
    return names, tuple(stars)


def absolute(level: int, module: str, package: str) -> str:
    """Return the full name of the module that an import in `package` names; `level` counts dots."""
    if not level:
        return module
    parts = package.split(".") if package else []
    parts = parts[: max(0, len(parts) - (level - 1))]
    return ".".join([*parts, module] if module else parts)


__all__ = ["HARMLESS", "Outline", "Outlined", "absolute", "outline", "skeleton"]
