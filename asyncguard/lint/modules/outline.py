"""The outline of a file: its functions and classes, before any of it is run.

It says where they stand, which attributes of `self` they assign, and what usage tells of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.domain.hints import note_hint, tells_owner
from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.importable import unbound
from asyncguard.lint.names import family
from asyncguard.lint.source.imports import absolute
from asyncguard.lint.syntax.tree import (
    dotted,
    expressions,
    named_in,
    stored,
    suite,
    text_of,
    walk_expressions,
)
from asyncguard.lint.syntax.unit import Unit

_LOSS = family("function.loss")
_MANY = family("parameter.many")
_DEVICE = family("device.named")
_LOOPS = (cst.For, cst.While)
_STORES = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)


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
    unit: Unit,
    knowledge: Knowledge,
    frameworks: tuple[str, ...],
    package: str,
    known: Callable[[str], bool],
) -> Outline:
    """Outline a parsed file of `package`; `known` says whether an import names a checked module."""
    tree = unit.tree
    look = _Look(unit, knowledge, frameworks)
    functions = tuple(look.function(node, owner) for node, owner in outer_functions(tree))
    binds = frozenset(_bound(tree))
    stars = tuple(_stars(tree, package, known))
    foreign = tuple(_foreign_bases(tree, package))
    missing = unbound(tree, binds)
    place = unit.place(missing) if missing is not None else None
    where = (missing.value, place[0]) if missing is not None and place is not None else None
    return Outline(path, functions, binds, stars, own_classes(tree), foreign, where)


class _Look:
    """One look at the functions of a file that uses certain frameworks."""

    def __init__(self, unit: Unit, knowledge: Knowledge, frameworks: tuple[str, ...]) -> None:
        self.lines = unit.lines
        self.knowledge = knowledge
        self.frameworks = frameworks
        registers = (knowledge.registers[framework] for framework in frameworks)
        self.registers = frozenset[str]().union(*registers)

    def function(self, node: cst.FunctionDef, class_name: str) -> Outlined:
        """Outline one function."""
        line, last = self.lines.starts[id(node)], self.lines.ends[id(node)]
        first = self.lines.starts[id(node.decorators[0])] if node.decorators else line
        taken = tuple(parameters(node.params))
        found = Outlined(node.name.value, first, line, last, class_name, taken)
        seen = _Seen()
        dropped: set[int] = set()  # calls whose result is
        for statement in suite(node.body):
            for part in walk_expressions(statement):
                kind = type(part)
                if kind is cst.Call:
                    self._call(part, found, seen, is_dropped=id(part) in dropped)
                elif kind is cst.Expr:
                    dropped.add(id(part.value))
                elif kind in _STORES:
                    targets = (
                        [t.target for t in part.targets] if kind is cst.Assign else [part.target]
                    )
                    seen.attributes.update(_assigned(targets))
                elif kind in _LOOPS:
                    found.loops = True
        found.attributes, found.called = frozenset(seen.attributes), frozenset(seen.called)
        found.collected = frozenset(seen.collected)
        found.hints = {path: hint for path, hint in found.hints.items() if path not in seen.tested}
        return found

    def _call(self, node: cst.Call, found: Outlined, seen: _Seen, *, is_dropped: bool) -> None:
        """Note the attributes that a call registers, and what it tells of what it is called on."""
        name = last_name(node.func)
        given = _positional(node)
        if type(node.func) is cst.Attribute:
            is_move = name in load().moves
            if is_dropped and is_move:
                return  # which tells of a model, if of anything: no array is moved in place
            found.uploads |= is_move and _names_device(given, name)
            self._method(node.func, bool(given), found, seen)
        elif name == "self":
            found.calls_self = True
        elif name == "isinstance" and len(given) == 2:
            seen.tested.add(_self_path(given[0]))
        if name in self.registers:
            named = (a.value for a in node.args if a.keyword and a.keyword.value == "name")
            seen.attributes.update(text_of(value) or "" for value in (*given[:1], *named))

    def _method(self, func: cst.Attribute, given: bool, found: Outlined, seen: _Seen) -> None:
        """Note the call of a method of `self`, or of one of its attributes."""
        path = _self_path(func)
        if not path:
            return
        seen.called.add(path)
        method = func.attr.value
        owner = path[: -len(method) - 1]
        if owner == "self":
            return
        if method == "append":
            seen.collected.add(owner.removeprefix("self."))
        if tells_owner(method, given):
            hint = self.knowledge.by_usage(method, self.frameworks)
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


def parameters(given: cst.Parameters) -> Iterator[str]:
    """Yield the names of what a function takes: `*args` and `**kwargs` last."""
    named = (*given.posonly_params, *given.params, *given.kwonly_params)
    yield from (parameter.name.value for parameter in named)
    starred = (given.star_arg, given.star_kwarg)
    yield from (part.name.value for part in starred if isinstance(part, cst.Param))


def _positional(call: cst.Call) -> list[cst.BaseExpression]:
    """Return the arguments of a call that have no names."""
    return [a.value for a in call.args if a.keyword is None and a.star != "**"]


def _names_device(given: Sequence[cst.BaseExpression], method: str) -> bool:
    """Whether a call of a method that moves arrays names a device: `x.to(self.device)`."""
    if not given:
        return _DEVICE(method)
    return _DEVICE(text_of(given[0]) or last_name(given[0]))


def _assigned(targets: Iterable[cst.CSTNode]) -> Iterator[str]:
    """Yield the attributes of `self` in targets of assignments, also those changed in place."""
    pending: list[cst.CSTNode] = [*targets]
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is cst.Attribute:
            if last_name(part.value) == "self":  # type: ignore[attr-defined]
                yield part.attr.value  # type: ignore[attr-defined]
            pending.append(part.value)  # type: ignore[attr-defined]
        elif kind is not cst.Name:
            pending += expressions(part)


def last_name(func: cst.CSTNode) -> str:
    """Return the name that is called, without its owner."""
    if type(func) is cst.Attribute:
        return func.attr.value
    return func.value if type(func) is cst.Name else ""


def _self_path(node: cst.CSTNode) -> str:
    """Return `self.a.b`; "" of anything else."""
    path = dotted(node)
    return path if path.startswith("self.") else ""


def blocks(node: Any) -> Iterator[Any]:
    """Yield the statements, handlers and cases directly within a statement."""
    kind = type(node)
    if kind is cst.Module:
        yield from suite(node)
    elif kind is cst.Match:
        yield from node.cases
    elif isinstance(node, _HOLDERS):
        yield from suite(node.body)
        following = getattr(node, "orelse", None)
        yield from (
            (following,)
            if type(following) is cst.If
            else suite(following.body)
            if following
            else ()
        )
        last = getattr(node, "finalbody", None)
        yield from suite(last.body) if last is not None else ()
        yield from getattr(node, "handlers", ())


_HOLDERS = (cst.BaseCompoundStatement, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase)


def outer_functions(tree: cst.Module) -> Iterator[tuple[cst.FunctionDef, str]]:
    """Yield the functions that are not within others, in order, with the name of their class."""
    stack: list[tuple[Any, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        if type(node) is cst.FunctionDef:
            yield node, class_name
        else:
            inner = node.name.value if type(node) is cst.ClassDef else class_name
            stack += [(child, inner) for child in reversed([*blocks(node)])]


def _outside_functions(tree: cst.Module) -> Iterator[Any]:
    """Yield the statements that run when the file is imported, those in class bodies too."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        yield node
        if type(node) is not cst.FunctionDef:
            stack.extend(blocks(node))


def own_classes(tree: cst.Module) -> dict[str, OwnClass]:
    """Return the classes outside functions, by name."""
    return {
        node.name.value: OwnClass(
            frozenset(_base_names(node)),
            frozenset(
                part.name.value for part in suite(node.body) if type(part) is cst.FunctionDef
            ),
        )
        for node in _outside_functions(tree)
        if type(node) is cst.ClassDef
    }


def _base_names(node: cst.ClassDef) -> Iterator[str]:
    for base in node.bases:
        yield last_name(base.value.value if type(base.value) is cst.Subscript else base.value)


def _foreign_bases(tree: cst.Module, package: str) -> Iterator[tuple[str, str]]:
    """Yield what the classes of a file of `package` inherit from imports: modules, and names."""
    body = suite(tree)
    origins = {name: origin for node in body for name, origin in _imported(node, package)}
    classes = (node for node in body if type(node) is cst.ClassDef)
    parts = (part for cls in classes for base in cls.bases for part in walk_expressions(base))
    yield from (origins[p.value] for p in parts if type(p) is cst.Name and p.value in origins)


def _imported(node: cst.CSTNode, package: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names that an import binds, with the module and the name that each stands for."""
    if type(node) is cst.ImportFrom and not isinstance(node.names, cst.ImportStar):
        module = _module_of(node, package)
        for alias in node.names:
            yield _bound_by(alias), (module, dotted(alias.name))
    elif type(node) is cst.Import:
        yield from ((_bound_by(alias), (dotted(alias.name), "")) for alias in node.names)


def _bound_by(alias: cst.ImportAlias) -> str:
    """Return the name that an import binds."""
    if alias.asname is not None:
        return dotted(alias.asname.name)
    return dotted(alias.name).partition(".")[0]


def _module_of(node: cst.ImportFrom, package: str) -> str:
    return absolute(len(node.relative), dotted(node.module) if node.module else "", package)


def _bound(tree: cst.Module) -> Iterator[str]:
    """Yield the names that definitions, imports and assignments bind outside functions."""
    for node in _outside_functions(tree):
        kind = type(node)
        if kind is cst.FunctionDef or kind is cst.ClassDef:
            yield node.name.value
        elif kind is cst.Import or kind is cst.ImportFrom:
            if isinstance(node.names, cst.ImportStar):
                yield "*"
            else:
                yield from map(_bound_by, node.names)
        elif kind is not cst.Module:
            yield from named_in(node.target) if kind is cst.For else ()
            yield from (name for part in _heads(node) for name in stored(part))


def _heads(node: Any) -> Iterator[Any]:
    """Yield the parts of a statement that are no statements, or a simple statement itself."""
    if not isinstance(node, _HOLDERS):
        yield node
        return
    kinds = (cst.BaseSuite, cst.BaseCompoundStatement, cst.Else, cst.Finally, *_HOLDERS)
    yield from (part for part in expressions(node) if not isinstance(part, kinds))


def _stars(tree: cst.Module, package: str, known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the checked modules of which the file imports all."""
    for node in suite(tree):
        if type(node) is cst.ImportFrom and isinstance(node.names, cst.ImportStar):
            module = _module_of(node, package)
            if node.relative or known(module):
                yield module
