"""A cheap look with Python's own parser: which functions need a tree at all?

`outline` lists a file's functions (not those nested in others) and what a walk over their `ast`
says: where they stand, whether anything in them could be a sync point, whether they could run once
a step, what usage tells about attributes of `self`. `skeleton` is the file without the bodies of
these functions; a body becomes a tree only when its function is run. This decides where to look,
never what is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from asyncguard.lint.knowledge import Knowledge

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
# Methods that are as common on other objects as on arrays: no sign by themselves.
COMMON = frozenset({"get", "update", "step", "wait", "type", "save", "append", "extend", "write"})
HARMLESS = frozenset(
    {"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type", "id", "range"}
)
HOST_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "device", "training", "config"})


@dataclass(eq=False)
class Outlined:
    """One function, as its `ast` shows it; lines count from 1."""

    name: str
    first: int  # line of the first decorator, or of `def`
    body: int  # line of the first statement
    last: int
    indent: int
    class_name: str = ""
    suspicious: bool = False  # something in it may be a sync point
    loops: bool = False
    steps: bool = False  # runs a backward pass or the like
    sets_attributes: bool = False
    clocks: int = 0  # how often it reads a clock
    calls: set[str] = field(default_factory=set)  # names it calls, without their owners
    hints: dict[str, tuple[str, str]] = field(default_factory=dict)  # of `self.x` paths


@dataclass(frozen=True)
class Outline:
    """A file's functions in order, and its text without their bodies."""

    functions: tuple[Outlined, ...]
    skeleton: str
    lines: tuple[int, ...]  # of the file, one for each line of the skeleton
    module_suspicious: bool
    imported: frozenset[str] = frozenset()

    def roots(self, hot_names: frozenset[str]) -> set[int]:
        """Return the functions from which a sync point in a hot context may be reached.

        And those that measure a time: what they measure is asked wherever they run.
        """
        reaching = self._reaching()
        return {
            index
            for index, f in enumerate(self.functions)
            if f.clocks > 1
            or (
                (f.loops or f.steps or f.name in hot_names)
                and (f.suspicious or not reaching.isdisjoint(f.calls))
            )
        }

    def _reaching(self) -> set[str]:
        """Return the names of functions that lead to something suspicious, or out of the file."""
        names = {f.name for f in self.functions if f.suspicious} | self.imported
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
    text: str,
    tree: ast.Module,
    knowledge: Knowledge,
    frameworks: tuple[str, ...],
    known: Callable[[str], bool],
) -> Outline:
    """Outline a parsed text. `known` tells whether an import names a checked module."""
    words = _Words(knowledge, frameworks)
    lines = text.split("\n")
    functions: list[Outlined] = []
    suspicious = False
    for node, class_name in _outer_functions(tree):
        found = _outlined(node, class_name, lines)
        if found is not None:
            words.look_into(node, found)
            functions.append(found)
    for statement in tree.body:
        if not isinstance(statement, (*DEFINITIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
            suspicious = suspicious or isinstance(statement, (*LOOPS, ast.If, ast.With))
    skeleton, kept = _skeleton(lines, functions, tree)
    return Outline(tuple(functions), skeleton, tuple(kept), suspicious, _imported(tree, known))


_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _outer_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions that are not within others, in order, with their class."""
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, DEFINITIONS):
            yield node, class_name  # type: ignore[misc]
            continue
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, _BLOCKS)]
        stack.extend((child, inner) for child in reversed(children))


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
    return Outlined(node.name, first, body, end, node.col_offset, class_name)


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


def _skeleton(
    lines: Sequence[str], functions: Sequence[Outlined], tree: ast.Module
) -> tuple[str, list[int]]:
    """Replace each body by the function's number; return the text and its lines' real numbers.

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
        text.extend(lines[function.first - 1 : function.body - 1])
        kept.extend(range(function.first, function.body))
        header = lines[function.first - 1]
        text.append(header[: len(header) - len(header.lstrip())] + " " + str(index))
        kept.append(function.body)
        position = function.last + 1
    keep(position, len(lines) + 1)
    return "\n".join(text) + "\n", kept or [1]


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
        inner = (c for c in ast.iter_child_nodes(node) if isinstance(c, _BLOCKS))
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


def _imported(tree: ast.Module, known: Callable[[str], bool]) -> frozenset[str]:
    """Return the names that the file imports from other checked modules."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.level or known(node.module or "")):
            names.update(a.asname or a.name for a in node.names if not a.name[0].isupper())
    return frozenset(names)


class _Words:
    """What to look for, for the frameworks of one file."""

    def __init__(self, knowledge: Knowledge, frameworks: tuple[str, ...]) -> None:
        active = set(frameworks)
        self.knowledge = knowledge
        self.frameworks = frameworks
        self.methods = {
            method
            for (_, method), points in knowledge.sync_methods.items()
            if any(p.framework in active for p in points)
        } - COMMON
        self.methods |= {m for m in knowledge.trigger_methods if m not in COMMON}
        self.functions = {
            name.rpartition(".")[2]
            for name, points in knowledge.sync_functions.items()
            if any(p.framework in active for p in points)
        }
        self.triggers = {name.rpartition(".")[2] for name in knowledge.trigger_functions} - {"log"}
        self.clocks = {name.rpartition(".")[2] for name in knowledge.clocks}
        self.steps = {m for m, owners in knowledge.step_methods.items() if owners & active}

    def look_into(self, node: ast.FunctionDef, found: Outlined) -> None:
        """Walk a function's body once, noting what it may hold."""
        computed: set[str] = set()  # names that hold results of calls or comparisons
        stack: list[ast.AST] = list(node.body)
        tests: list[ast.expr] = []
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is ast.Raise:
                continue
            if kind is ast.Call:
                self._call(item, found)  # type: ignore[arg-type]
            elif kind in (ast.If, ast.While, ast.IfExp):
                tests.append(item.test)  # type: ignore[attr-defined]
                found.loops |= kind is ast.While
            elif kind is ast.Assert:
                tests.append(item.test)  # type: ignore[attr-defined]
                stack.append(item.test)  # type: ignore[attr-defined]
                continue
            elif kind in (ast.For, ast.AsyncFor):
                found.loops = True
            elif kind in (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
                self._assignment(item, found, computed)
            elif kind is ast.FormattedValue and not found.suspicious:
                found.suspicious = _interesting(item.value)  # type: ignore[attr-defined]
            elif kind is ast.Subscript and not found.suspicious:
                found.suspicious = _mask_like(item.slice, computed)  # type: ignore[attr-defined]
            stack.extend(ast.iter_child_nodes(item))
        if not found.suspicious:
            training = found.steps  # it may keep graphs, or never wait at all
            found.suspicious = training or any(_tests_data(test, computed) for test in tests)

    def _call(self, node: ast.Call, found: Outlined) -> None:
        func = node.func
        if isinstance(func, ast.Attribute):
            name = func.attr
            found.calls.add(name)
            found.clocks += name in self.clocks
            if name in self.methods and (name != "to" or _moves(node)):
                found.suspicious = True
            elif name in self.functions and node.args:
                lone = len(node.args) + len(node.keywords) == 1
                found.suspicious |= lone or any(k.arg == "device" for k in node.keywords)
            elif name in self.functions or (
                name in self.triggers and any(map(_interesting, node.args))
            ):
                found.suspicious = True
            found.steps |= name in self.steps
            if hint := self.knowledge.by_usage(name, self.frameworks):
                path = _self_path(func.value)
                if path:
                    found.hints[path] = hint
        elif isinstance(func, ast.Name):
            found.calls.add(func.id)
            found.clocks += func.id in self.clocks
            if func.id in self.triggers or func.id in self.functions:
                found.suspicious = found.suspicious or any(map(_interesting, node.args))

    def _assignment(self, node: ast.AST, found: Outlined, computed: set[str]) -> None:
        targets = getattr(node, "targets", None) or [node.target]  # type: ignore[attr-defined]
        value = getattr(node, "value", None)
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    found.sets_attributes |= part.value.id == "self"
                elif isinstance(part, ast.Name) and _computes(value):
                    computed.add(part.id)


def _self_path(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id == "self" and parts:
        return ".".join(["self", *reversed(parts)])
    return ""


_DEVICE_NAME = re.compile(r"dev|ctx|gpu|cuda|rank|cpu", re.IGNORECASE)


def _moves(node: ast.Call) -> bool:
    """Whether `.to(...)` seems to move to another device."""
    for argument in (*node.args, *(k.value for k in node.keywords if k.arg == "device")):
        for part in ast.walk(argument):
            name = getattr(part, "id", None) or getattr(part, "attr", None)
            text = part.value if isinstance(part, ast.Constant) else name
            if isinstance(text, str) and _DEVICE_NAME.search(text):
                return True
    return False


def _interesting(node: ast.expr) -> bool:
    """Whether an expression may hold a device value: not a constant, a length or a shape."""
    if isinstance(node, ast.Constant):
        return False
    if isinstance(node, ast.Attribute):
        return node.attr not in HOST_ATTRIBUTES
    if isinstance(node, ast.Subscript):
        return _interesting(node.value)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
        return name not in HARMLESS and name not in ("size", "dim", "format", "join")
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(v, ast.FormattedValue) and _interesting(v.value) for v in node.values)
    return True


def _computes(value: ast.expr | None) -> bool:
    """Whether an assigned expression may be a device value."""
    if isinstance(value, (ast.Compare, ast.BoolOp)):
        return any(isinstance(n, ast.Call) for n in ast.walk(value)) or isinstance(
            value, ast.Compare
        )
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        return True
    return isinstance(value, ast.Call) and _interesting(value)


def _tests_data(test: ast.expr, computed: set[str]) -> bool:
    """Whether a condition may test a device value."""
    if isinstance(test, ast.BoolOp):
        return any(_tests_data(value, computed) for value in test.values)
    if isinstance(test, ast.UnaryOp):
        return _tests_data(test.operand, computed)
    if isinstance(test, ast.Name):
        return test.id in computed
    if isinstance(test, ast.Call):
        return _interesting(test)
    if isinstance(test, ast.Compare):
        return _compares_data(test, computed)
    return isinstance(test, ast.NamedExpr) and _computes(test.value)


_NO_NUMBER = (str, bytes, type(None))


def _compares_data(test: ast.Compare, computed: set[str]) -> bool:
    sides = [test.left, *test.comparators]
    if any(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
        return False
    if any(isinstance(side, ast.Constant) and isinstance(side.value, _NO_NUMBER) for side in sides):
        return False
    return any(_holds_data(side, computed) for side in sides)


def _holds_data(side: ast.expr, computed: set[str]) -> bool:
    if isinstance(side, ast.Name):
        return side.id in computed
    if isinstance(side, (ast.BinOp, ast.UnaryOp)):
        return any(isinstance(n, ast.Name) and n.id in computed for n in ast.walk(side))
    called = isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute)
    return called and _interesting(side)


def _mask_like(index: ast.expr, computed: set[str]) -> bool:
    if isinstance(index, (ast.Compare, ast.List)):
        return True
    if isinstance(index, ast.UnaryOp):
        return isinstance(index.op, ast.Invert)
    if isinstance(index, ast.Tuple):
        return any(_mask_like(part, computed) for part in index.elts)
    return isinstance(index, ast.Name) and (index.id in computed or "mask" in index.id)
