"""The outline of a file: its functions and classes, as Python's own syntax tree shows them.

Functions become trees of libcst when they are run. The outline says where they stand, which
attributes of `self` they assign, and what usage tells of these, without running anything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from asyncguard.catalogue import load
from asyncguard.lint.domain.hints import note_hint, tells_owner
from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.importable import unbound
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed
from asyncguard.lint.source.imports import Imported
from asyncguard.lint.syntax.signatures import parameters

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOSS = family("function.loss")
_MANY = family("parameter.many")
_DEVICE = family("device.named")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)


class OwnClass(NamedTuple):
    """A class by what it inherits from (the last words of the names) and the methods it defines."""

    bases: frozenset[str]
    methods: frozenset[str]


@dataclass(eq=False)
class Outline:
    """A file's functions in order, those within other functions left out.

    `binds` are the names that others may import from here, `stars` the checked modules of which
    all is imported. `classes` are those outside functions, by name; `foreign_bases` say what they
    inherit from imports: the modules, and the names in them. `unbound` is a name for want of which
    the file cannot be imported, with its line.
    """

    path: str
    functions: tuple[Outlined, ...]
    binds: frozenset[str]
    stars: tuple[str, ...]
    classes: Mapping[str, OwnClass]
    foreign_bases: tuple[tuple[str, str], ...]
    unbound: tuple[str, int] | None = None

    @cached_property
    def methods(self) -> Mapping[str, frozenset[str]]:
        """The methods that the classes of each name define."""
        found: dict[str, set[str]] = {}
        for function in self.functions:
            found.setdefault(function.class_name, set()).add(function.name)
        return {name: frozenset(methods) for name, methods in found.items()}

    def defines(self, method: str) -> bool:
        """Whether a class here defines a method of this name."""
        return any(method in methods for name, methods in self.methods.items() if name)

    def is_step(self, function: Outlined, *, of_model: bool = False) -> bool:
        """Whether a function is one step: it computes a loss, or runs its module on a batch.

        `of_model`: it is a method of a model, though its class may inherit `forward`.
        """
        own = function.class_name and "forward" in self.methods[function.class_name]
        return self._computes_loss(function, bool(own) or of_model) or self._runs_itself(function)

    def _runs_itself(self, function: Outlined) -> bool:
        """Whether a module's method runs the module on what it is handed: once for each batch."""
        own = function.class_name and "forward" in self.methods[function.class_name]
        many = function.loops or _takes_many(function) or not function.parameters
        return bool(own) and function.calls_self and not many

    def _computes_loss(self, function: Outlined, of_model: bool) -> bool:
        """Whether a function computes the loss of one step, by its name; one with a loop: of many.

        A module's own method may loop over what it compares, levels or images; so may a function
        that is handed that alone, and no model or data.
        """
        many = function.loops and (_takes_many(function) or bool(function.class_name))
        return (of_model or not many) and _LOSS(function.name)


def _takes_many(function: Outlined) -> bool:
    """Whether a parameter is what many batches come from, or a model, by its name."""
    return any(map(_MANY, function.parameters))


def outline(
    path: str,
    tree: ast.Module,
    knowledge: Knowledge,
    frameworks: tuple[str, ...],
    package: str,
    known: Callable[[str], bool],
) -> Outline:
    """Outline a parsed file of `package`; `known` says whether an import names a checked module."""
    look = _Look(knowledge, frameworks)
    functions = tuple(look.function(node, owner) for node, owner in outer_functions(tree))
    binds = frozenset(_bound(tree))
    stars = tuple(_stars(tree, package, known))
    foreign = tuple(_foreign_bases(tree, package))
    missing = unbound(tree, binds)
    where = (missing.id, missing.lineno) if missing is not None else None
    return Outline(path, functions, binds, stars, own_classes(tree), foreign, where)


class _Look:
    """One look at the functions of a file that uses certain frameworks."""

    def __init__(self, knowledge: Knowledge, frameworks: tuple[str, ...]) -> None:
        self.knowledge = knowledge
        self.frameworks = frameworks
        registers = (knowledge.registers[framework] for framework in frameworks)
        self.registers = frozenset[str]().union(*registers)

    def function(self, node: ast.FunctionDef, class_name: str) -> Outlined:
        """Outline one function."""
        first = min([d.lineno for d in node.decorator_list], default=node.lineno)
        taken = tuple(parameter.arg for parameter in parameters(node.args))
        end = node.end_lineno or node.lineno
        found = Outlined(node.name, first, node.lineno, end, node.col_offset, class_name, taken)
        seen = _Seen()
        dropped: set[ast.AST] = set()  # calls whose result is
        for statement in node.body:
            for part in parsed.walk_inner(statement):
                kind = type(part)
                if kind is ast.Call:
                    self._call(part, found, seen, is_dropped=part in dropped)
                elif kind is ast.Expr:
                    dropped.add(part.value)
                elif kind in _STORES:
                    targets = part.targets if kind is ast.Assign else [part.target]
                    seen.attributes.update(_assigned(targets))
                elif kind in _LOOPS:
                    found.loops = True
        found.attributes, found.called = frozenset(seen.attributes), frozenset(seen.called)
        found.collected = frozenset(seen.collected)
        found.hints = {path: hint for path, hint in found.hints.items() if path not in seen.tested}
        return found

    def _call(self, node: ast.Call, found: Outlined, seen: _Seen, *, is_dropped: bool) -> None:
        """Note the attributes that a call registers, and what it tells of what it is called on."""
        name = last_name(node.func)
        if type(node.func) is ast.Attribute:
            is_move = name in load().moves
            if is_dropped and is_move:
                return  # which tells of a model, if of anything: no array is moved in place
            found.uploads |= is_move and _names_device(node, name)
            self._method(node, node.func, found, seen)
        elif name == "self":
            found.calls_self = True
        elif name == "isinstance" and len(node.args) == 2:
            seen.tested.add(_self_path(node.args[0]))
        if name in self.registers:
            named = (k.value for k in node.keywords if k.arg == "name")
            seen.attributes.update(str(getattr(n, "value", "")) for n in (*node.args[:1], *named))

    def _method(self, node: ast.Call, func: ast.Attribute, found: Outlined, seen: _Seen) -> None:
        """Note the call of a method of `self`, or of one of its attributes."""
        path = _self_path(func)
        if not path:
            return
        seen.called.add(path)
        owner = path[: -len(func.attr) - 1]
        if owner == "self":
            return
        if func.attr == "append":
            seen.collected.add(owner.removeprefix("self."))
        if tells_owner(func.attr, bool(node.args)):
            hint = self.knowledge.by_usage(func.attr, self.frameworks)
            if hint:
                note_hint(found.hints, owner, hint)


@dataclass(eq=False)
class _Seen:
    """The attributes of `self` that a function uses, by their paths and by the kind of use.

    One whose type is `tested` may be of another type elsewhere:
    `if isinstance(self.length, int): self.length = 0`, else `self.length.zero_()`.
    """

    attributes: set[str] = field(default_factory=set)  # assigned or registered
    called: set[str] = field(default_factory=set)
    collected: set[str] = field(default_factory=set)  # appended to: `self.losses.append(loss)`
    tested: set[str] = field(default_factory=set)


def _names_device(node: ast.Call, method: str) -> bool:
    """Whether a call of a method that moves arrays names a device: `x.to(self.device)`."""
    if not node.args:
        return _DEVICE(method)
    where = node.args[0]
    return _DEVICE(str(where.value) if type(where) is ast.Constant else last_name(where))


def _assigned(targets: Iterable[ast.expr]) -> Iterator[str]:
    """Yield the attributes of `self` in targets of assignments, also those changed in place."""
    pending: list[ast.AST] = [*targets]
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is ast.Attribute:
            if last_name(part.value) == "self":  # type: ignore[attr-defined]
                yield part.attr  # type: ignore[attr-defined]
            pending.append(part.value)  # type: ignore[attr-defined]
        elif kind is not ast.Name and kind is not ast.Constant:
            pending += parsed.children(part)


def last_name(func: ast.expr) -> str:
    """Return the name that is called, without its owner."""
    if type(func) is ast.Attribute:
        return func.attr
    return func.id if type(func) is ast.Name else ""


def _self_path(node: ast.expr) -> str:
    """Return `self.a.b`; "" of anything else."""
    names: list[str] = []
    while type(node) is ast.Attribute:
        names.append(node.attr)
        node = node.value
    own = names and type(node) is ast.Name and node.id == "self"
    return ".".join(["self", *reversed(names)]) if own else ""


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements, handlers and cases directly within a statement."""
    kind: Any = type(node)
    for name in _block_names(kind):
        yield from getattr(node, name)


@cache
def _block_names(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in _BLOCKS if name in kind._fields)


def outer_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the functions that are not within others, in order, with the name of their class."""
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, DEFINITIONS):
            yield node, class_name  # type: ignore[misc]
        elif not isinstance(node, ast.expr):
            inner = node.name if isinstance(node, ast.ClassDef) else class_name
            stack += [(child, inner) for child in reversed([*blocks(node)])]


def _outside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements that run when the file is imported, those in class bodies too."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, DEFINITIONS):
            stack.extend(blocks(node))


def own_classes(tree: ast.Module) -> dict[str, OwnClass]:
    """Return the classes outside functions, by name."""
    return {
        node.name: OwnClass(
            frozenset(_base_names(node)),
            frozenset(part.name for part in node.body if isinstance(part, DEFINITIONS)),
        )
        for node in _outside_functions(tree)
        if isinstance(node, ast.ClassDef)
    }


def _base_names(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        yield last_name(base.value if type(base) is ast.Subscript else base)


def _foreign_bases(tree: ast.Module, package: str) -> Iterator[tuple[str, str]]:
    """Yield what the classes of a file of `package` inherit from imports: modules, and names."""
    origins = {name: origin for node in tree.body for name, origin in _imported(node, package)}
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    parts = (part for cls in classes for base in cls.bases for part in parsed.walk(base))
    yield from (origins[p.id] for p in parts if isinstance(p, ast.Name) and p.id in origins)


def _imported(node: ast.stmt, package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names that an import binds, with the module and the name that each stands for."""
    if isinstance(node, ast.ImportFrom):
        module = absolute(node.level, node.module or "", package)
        yield from ((a.asname or a.name, (module, a.name)) for a in node.names)
    elif isinstance(node, ast.Import):
        yield from ((a.asname or a.name.partition(".")[0], (a.name, "")) for a in node.names)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that definitions, imports and assignments bind outside functions."""
    for node in _outside_functions(tree):
        if isinstance(node, (*DEFINITIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif node is not tree:
            yield from (
                part.id
                for child in parsed.children(node)
                if not isinstance(child, ast.stmt)
                for part in parsed.walk(child)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )


def _stars(tree: ast.Module, package: str, known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the checked modules of which the file imports all."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            module = absolute(node.level, node.module or "", package)
            if node.level or known(module):
                yield module


def module_of(imported: Imported, package: str) -> str:
    """Return the full name of the module that an import in `package` names."""
    name = imported.module.lstrip(".")
    return absolute(len(imported.module) - len(name), name, package)


def absolute(level: int, module: str, package: str) -> str:
    """Return the full name of the module that an import in `package` names; `level` counts dots."""
    if not level:
        return module
    parts = package.split(".") if package else []
    parts = parts[: max(0, len(parts) - (level - 1))]
    return ".".join([*parts, module] if module else parts)
