"""A cheap look with Python's own parser: which functions need a tree at all?

`outline` lists a file's functions (not those nested in others) and what a walk over their `ast`
says: where they stand, whether anything in them could be a sync point, whether they could run once
a step, what usage tells about attributes of `self`. Functions become trees only when they are run.
An outline is small, and kept for other files to ask what their calls lead to. This decides where
to look, never what is found.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.modules.suspicion import (
    BLOCKS_OF,
    DEFINITIONS,
    Function,
    Words,
    blocks,
    last_name,
)
from asyncguard.lint.names import family
from asyncguard.lint.syntax.signatures import parameters

_LOSS = family("function.loss")
_LOSS_OF = family("function.own_loss")  # a module's own
_MANY = family("parameter.many")
_ABOUT_LOSSES = family("function.about_losses")


Abroad = Callable[[str], bool]  # whether a function of another file leads to something suspicious


@dataclass(eq=False)
class Outline:
    """A file's functions in order, and what stands outside them, `module`.

    `imports` gives the full names of what is imported from checked modules, by local name; `stars`
    are the modules of which all is imported. `binds` are the names that others may import from
    here, and more. `modules` are those that are checked. `hot_names` are those of functions that
    frameworks enter in every step.
    """

    path: str
    functions: tuple[Outlined, ...]
    module: Outlined
    imports: Mapping[str, str]
    stars: tuple[str, ...]
    binds: frozenset[str]
    modules: Container[str]
    abroad: Abroad
    bases: Mapping[str, frozenset[str]]  # of the classes, by name: the last words of their bases'
    hot_names: frozenset[str]

    @property
    def module_suspicious(self) -> bool:
        """Whether what stands outside functions may lead to a hot sync point."""
        return self.module.may_be_hot(self._reaching, hook=False)

    @cached_property
    def roots(self) -> set[int]:
        """The functions from which a sync point in a hot context may be reached."""
        return {
            index
            for index, f in enumerate(self.functions)
            if f.may_be_hot(self._reaching, hook=f.name in self.hot_names or self._hooks(f))
        }

    @property
    def dormant(self) -> frozenset[str]:
        """The names of functions with sync points that only a hot caller elsewhere heats."""
        return frozenset(
            f.name for i, f in enumerate(self.functions) if i not in self.roots and self._leads(f)
        )

    @property
    def innocent(self) -> dict[str, frozenset[str]]:
        """What functions call that may be hot, but lead to nothing in sight.

        By their names within their classes.
        """
        found: dict[str, frozenset[str]] = {}
        for i, f in enumerate(self.functions):
            if i not in self.roots and f.calls and self._may_be_entered(f):
                found[f.qualname] = found.get(f.qualname, frozenset()) | f.calls
        return found

    def called(self, names: frozenset[str]) -> set[int]:
        """Return the dormant functions of these names, and the innocent ones."""
        return {
            i
            for i, f in enumerate(self.functions)
            if f.qualname in names or (f.name in names and self._leads(f))
        }

    def _may_be_entered(self, function: Outlined) -> bool:
        return function.over_steps or function.steps or function.name in self.hot_names

    def _leads(self, function: Outlined) -> bool:
        return function.suspicious or not self._reaching.isdisjoint(function.calls)

    def _hooks(self, function: Outlined) -> bool:
        return self.is_step(function) or self.trains(function)

    def is_step(self, function: Outlined) -> bool:
        """Whether a function is one step, by its name or by what it runs."""
        return self.computes_loss(function) or self.runs_itself(function)

    def runs_itself(self, function: Outlined) -> bool:
        """Whether a module's method runs the module on what it is handed: once for each batch."""
        own = function.class_name and "forward" in self.methods[function.class_name]
        many = function.loops or function.takes_many or not function.takes
        return bool(own) and "self" in function.calls and not many

    def computes_loss(self, function: Outlined) -> bool:
        """Whether a function computes the loss of one step, by its name; one with a loop: of many.

        A module's own method may loop over what it compares, levels or images; so may a function
        that is handed that alone, and no model or data.
        """
        if _ABOUT_LOSSES(function.name):
            return False
        if function.class_name and "forward" in self.methods[function.class_name]:
            return _LOSS_OF(function.name)
        many = function.loops and (function.takes_many or bool(function.class_name))
        return not many and _LOSS(function.name)

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

    def defines(self, method: str) -> bool:
        """Whether a class here defines a method of this name."""
        return any(function.class_name for function in self.by_name.get(method, ()))

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
    tree: ast.Module,
    words: Words,
    package: str,
    modules: Container[str],
    abroad: Abroad,
) -> Outline:
    """Outline a parsed text of a module of `package`."""
    module = Outlined("")
    bodies: list[Function] = []
    for node, class_name in outer_functions(tree):
        bodies.append(
            (node.body, node.args, _outlined(node, class_name, words.knowledge.signatures))
        )
    words.look_into([*bodies, (_outside_functions(tree), None, module)])
    imports, stars = _imported(tree, package, words.names.known)
    functions = tuple(found for _, _, found in bodies)
    binds = frozenset({*_bound(tree), *module.binds})
    bases = dict(_bases(tree))
    hot = words.knowledge.hot_names
    return Outline(path, functions, module, imports, stars, binds, modules, abroad, bases, hot)


def _bases(tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each class outside functions, with the last words of what it inherits from."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if type(node) is ast.ClassDef:
            bases = (base.value if type(base) is ast.Subscript else base for base in node.bases)
            yield node.name, frozenset(map(last_name, bases))
        if type(node) not in DEFINITIONS:
            stack.extend(blocks(node))


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that definitions and imports bind, outside functions."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if type(node) in (*DEFINITIONS, ast.ClassDef):
            yield node.name
        elif type(node) in (ast.Import, ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        else:
            stack.extend(blocks(node))


def outer_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions that are not within others, in order, with their class."""
    stack: list[tuple[Any, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        kind = type(node)
        if kind in DEFINITIONS:
            yield node, class_name
        elif BLOCKS_OF[kind]:
            inner = node.name if kind is ast.ClassDef else class_name
            stack += [(child, inner) for child in reversed(blocks(node))]


def _outside_functions(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that run when the file is imported, those in class bodies too."""
    found: list[ast.stmt] = []
    stack: list[ast.stmt] = list(tree.body)
    while stack:
        statement = stack.pop()
        if type(statement) is ast.ClassDef:
            stack.extend(statement.body)
        elif type(statement) not in (*DEFINITIONS, ast.Import, ast.ImportFrom):
            found.append(statement)
    return found


def _outlined(
    node: ast.FunctionDef, class_name: str, signatures: Container[tuple[str, ...]]
) -> Outlined:
    """Return where a function stands."""
    first = min([d.lineno for d in node.decorator_list], default=node.lineno)
    taken = [parameter.arg for parameter in parameters(node.args)]
    end = node.end_lineno or node.lineno
    found = Outlined(node.name, first, node.lineno, end, node.col_offset, class_name)
    found.takes, found.takes_many = bool(taken), any(map(_MANY, taken))
    found.of_engine = tuple(taken) in signatures
    return found


def _imported(
    tree: ast.Module, package: str, known: Callable[[str], bool]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what the file imports from other checked modules, and of which it imports all."""
    names: dict[str, str] = {}
    stars: list[str] = []
    for node in tree.body:
        if type(node) is ast.ImportFrom:
            module = absolute(node.level, node.module or "", package)
            if not (node.level or known(module)):
                continue
            for alias in node.names:
                if alias.name == "*":
                    stars.append(module)
                elif not alias.name[0].isupper():
                    names[alias.asname or alias.name] = f"{module}.{alias.name}".lstrip(".")
        elif type(node) is ast.Import:
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
