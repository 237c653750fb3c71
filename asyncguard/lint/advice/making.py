"""The parts that a value is made of within a function: parameters, attributes, calls.

Purely syntactic: names are followed through plain assignments. The parts of each name of a function
are found once; names that are made of each other share theirs.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import family
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Scope,
    attribute,
    body,
    elements,
    indices,
    is_for,
    method,
    name_of,
    positional,
    root,
    targets,
    walk,
)
from asyncguard.lint.syntax.tree import dotted, expressions


class Made(NamedTuple):
    """The parts of an expression, beside constants."""

    inputs: bool = False  # parameters that hold what a program prepares on the host
    others: bool = False  # parameters that do not
    fixed: bool = False  # attributes of `self` that are set up, and stay as they are
    changing: bool = False  # attributes that steps set
    computed: bool = False  # a call that may do more than look at its arguments
    looped: bool = False  # something that a loop or an unpacking takes apart
    deep: bool = False  # attributes of attributes, which others may set
    shaped: bool = False  # shapes of arrays, which may differ from step to step

    def __or__(self, other: object) -> Made:
        return Made(*(one or another for one, another in zip(self, other, strict=True)))  # type: ignore[call-overload]


NOTHING = Made()
_LIBRARY = words("library.looks")
_BUILTINS = frozenset(dir(builtins))
_INPUT, _SETS_UP = family("advice.input"), family("advice.sets_up")
_OPTIONS, _LENGTHS = family("value.options"), family("advice.computes_lengths")
_CONVERTS = family("advice.converts")
_HOST_KNOWS = frozenset({"shape", "device", "dtype", "ndim"})  # of any array, without asking it
_COLLECTS = frozenset({"append", "extend", "insert", "update", "add", "pop", "clear"})
_TAKES = frozenset({"pop", "get"})  # an entry of a mapping, by its name


def made_of(spot: Spot, parts: Iterable[cst.CSTNode]) -> Made:
    """Return what expressions are made of, as far as plain assignments tell."""
    return _making(spot.code, spot.scope).of(parts)


def computes(spot: Spot, parts: Iterable[cst.CSTNode]) -> bool:
    """Whether expressions call by themselves what may do more than look at its arguments."""
    return _making(spot.code, spot.scope).computes(parts)


def is_named(argument: cst.Arg) -> bool:
    """Whether an argument is given by keyword, or unpacked into some."""
    return argument.keyword is not None or argument.star == "**"


@kept(OF_SCOPES)
def _making(code: Code, scope: Scope) -> _Making:
    return _Making(code, scope)


@kept(OF_SCOPES)
def handed(scope: Scope) -> frozenset[str]:
    """Return the names that are handed to calls whose result is dropped: these may change them."""
    found: set[str] = set()
    for part in walk(scope):
        call = part.value if isinstance(part, cst.Expr) else None
        if isinstance(call, cst.Call) and dotted(call.func) not in _BUILTINS:
            found.update(map(name_of, positional(call)))
    return frozenset(found - {""})


class _Making:
    """The parts of the names of one function."""

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code, self.scope = code, scope
        self._params = parameters(scope)
        self._known: dict[str, Made] = {}
        inside = scope if isinstance(scope, cst.ClassDef) else code.around(scope, cst.ClassDef)
        self._changing = _set_by_steps(code, inside) if inside is not None else frozenset()
        self._handed = handed(scope)

    def of(self, parts: Iterable[cst.CSTNode]) -> Made:
        """Return what expressions are made of."""
        made, names = self._directly(parts)
        for name in names:
            if name not in self._known:
                self._follow(name)
            made |= self._known[name] | Made(computed=name in self._handed)
        return made

    def computes(self, parts: Iterable[cst.CSTNode]) -> bool:
        """Whether expressions compute something, whatever their names are made of."""
        return self._directly(parts)[0].computed

    def _directly(self, parts: Iterable[cst.CSTNode]) -> tuple[Made, set[str]]:
        """Return what expressions are made of beside names, and those names."""
        made, names = NOTHING, set()
        pending = [*parts]
        while pending:
            part = pending.pop()
            if isinstance(part, cst.Slice):
                pending += (x for x in expressions(part) if not _asks_for_a_shape(x))
                continue  # a part as long as another array, of what it is a part of
            if attribute(part) in _HOST_KNOWS:
                made |= Made(shaped=attribute(part) == "shape")
                continue  # whatever it is of
            if self._is_named_input(part):
                made |= Made(inputs=True)
                continue
            if isinstance(part, cst.Call):
                made |= self._of_call(part)
            if isinstance(part, cst.Attribute) and self._is_own_or_imported(part):
                made |= self._of_attribute(dotted(part))
            elif name := name_of(part):
                names.add(name)
            else:
                pending += expressions(part)
        return made, names

    def _of_attribute(self, path: str) -> Made:
        if not path.startswith("self."):
            return NOTHING
        owner = path.removeprefix("self.").rpartition(".")[0]
        changes = path.split(".")[1] in self._changing
        return Made(fixed=not changes, changing=changes, deep=bool(owner) and not _OPTIONS(owner))

    def _of_call(self, call: cst.Call) -> Made:
        """Return what a call adds: `getattr` finds what others set, helpers compute something."""
        if dotted(call.func) == "getattr":
            return Made(deep=True)
        return Made(computed=self._computes(call))

    def _computes(self, call: cst.Call) -> bool:
        """Whether a call may do more than look at its arguments: a method of `self`, a helper.

        A helper that is named for lengths tells them from those that it is given; `self.x.to(d)`
        is a method of what `self` holds, and hands that on.
        """
        function, name = call.func, dotted(call.func)
        if self.code.meaning(function).partition(".")[0] in _LIBRARY or name in _BUILTINS:
            return False
        last = name.rpartition(".")[2]
        if (positional(call) and _LENGTHS(last)) or (name.count(".") > 1 and _CONVERTS(last)):
            return False
        return not isinstance(function, cst.Attribute) or name.startswith("self.")

    def _is_named_input(self, node: cst.CSTNode) -> bool:
        """Whether an entry of a parameter is named as an input: `batch["lengths"]`."""
        owner, key = _entry(node)
        if owner not in self._params:
            return False
        name = nodes.constant(key)
        return isinstance(name, str) and bool(_INPUT(f"{owner}_{name}"))

    def _is_own_or_imported(self, node: cst.Attribute) -> bool:
        head = dotted(node).partition(".")[0]
        own = head == "self" and isinstance(node.value, cst.Name)
        return own or head in self.code.imports

    def _of_name(self, name: str) -> tuple[Made, set[str]]:
        """Return what a name is made of by itself and its assignments, and what names they hold."""
        values = flow.assignments(self.scope, name)
        given = name in self._params
        is_input = given and _INPUT(name)
        own = Made(inputs=is_input, others=given and not is_input, looped=None in values)
        if name in self.code.imports or name in _BUILTINS:
            return own, set()
        bound = [value for value in values if value is not None]
        bound += _sources(self.scope).get(name, []) if None in values else []
        bound += _stored(self.scope).get(name, [])
        made, names = self._directly(bound)
        return own | made, names

    def _follow(self, start: str) -> None:
        """Find what a name is made of, and all the names that it is made of (Tarjan's search)."""
        search = _Search()
        pending = [(start, self._open(search, start))]
        while pending:
            name, parts = pending[-1]
            part = next(parts, None)
            if part is None:
                pending.pop()
                search.leave(name, self._known, pending[-1][0] if pending else None)
            elif part in self._known:
                search.made[name] |= self._known[part]
            elif part in search.order:
                search.least[name] = min(search.least[name], search.order[part])
            else:
                pending.append((part, self._open(search, part)))

    def _open(self, search: _Search, name: str) -> Iterator[str]:
        made, names = self._of_name(name)
        search.enter(name, made)
        return iter(sorted(names))


class _Search:
    """The names that one search has open: where each was met, and the earliest it leads back to."""

    def __init__(self) -> None:
        self.order: dict[str, int] = {}
        self.least: dict[str, int] = {}
        self.made: dict[str, Made] = {}
        self._open: list[str] = []

    def enter(self, name: str, made: Made) -> None:
        """Open a name that is met for the first time."""
        self.order[name] = self.least[name] = len(self.order)
        self.made[name] = made
        self._open.append(name)

    def leave(self, name: str, known: dict[str, Made], above: str | None) -> None:
        """Close a name: one that leads back to none before it is known, with those after it."""
        if above is not None:
            self.least[above] = min(self.least[above], self.least[name])
            self.made[above] |= self.made[name]
        if self.least[name] == self.order[name]:
            closed = ""
            while closed != name:
                closed = self._open.pop()
                known[closed] = self.made[name]


@kept(OF_SCOPES)
def _set_by_steps(code: Code, inside: cst.ClassDef) -> frozenset[str]:
    """Return the attributes that the methods of a class set, but for those that set it up."""
    methods = [part for part in body(inside) if isinstance(part, cst.FunctionDef)]
    return frozenset(
        attribute(part)
        for each in methods
        if not _SETS_UP(each.name.value)
        for part in walk(each)
        if isinstance(part, cst.Attribute) and (code.is_stored(part) or _is_changed(code, part))
    )


def _is_changed(code: Code, node: cst.Attribute) -> bool:
    """Whether it is changed in place: `self.total.add_(1)`, `self.rows[i] = x`."""
    around = code.parent(node)
    if isinstance(around, cst.Subscript):
        return code.is_stored(around)
    return attribute(around).endswith("_") or attribute(around) in _COLLECTS


@kept(OF_SCOPES)
def _sources(scope: Scope) -> dict[str, list[Any]]:
    """Return what loops and unpacking bind names to, and what is added to them in place."""
    found: dict[str, list[Any]] = {}
    for node in flow.walk_own(scope):
        for target, value in _bound_otherwise(node):
            for part, source in paired(target, value):
                for name in flow.named_in(part):
                    found.setdefault(name, []).append(source)
    return found


def _bound_otherwise(node: cst.CSTNode) -> list[tuple[Any, Any]]:
    """Return the targets of a node that are no plain assignment, with what they take."""
    if is_for(node) or isinstance(node, cst.CompFor):
        return [(node.target, node.iter)]
    if isinstance(node, cst.AugAssign):
        return [(node.target, node.value)]
    if isinstance(node, cst.Assign):
        return [(each, node.value) for each in targets(node) if not isinstance(each, cst.Name)]
    return []


def _asks_for_a_shape(node: cst.CSTNode) -> bool:
    return any(attribute(part) in _HOST_KNOWS for part in walk(node))


@kept(OF_SCOPES)
def collected_in(loop: cst.CSTNode) -> frozenset[str]:
    """Return the names of the lists that a loop adds to, or takes from."""
    return frozenset(root(part.func) for part in walk(loop) if method(part) in _COLLECTS)


@kept(OF_SCOPES)
def _stored(scope: Scope) -> dict[str, list[Any]]:
    """Return what is written into what names hold, and where: `x[mask] = y`, `x.append(y)`."""
    found: dict[str, list[Any]] = {}
    for node in flow.walk_own(scope):
        if method(node) in _COLLECTS:
            found.setdefault(root(node.func), []).extend(positional(node))
        for target in targets(node) if isinstance(node, cst.Assign) else ():
            if isinstance(target, cst.Subscript) and (name := name_of(target.value)):
                found.setdefault(name, []).extend([node.value, *indices(target)])
    return found


def _entry(node: Any) -> tuple[str, cst.CSTNode | None]:
    """Return the name of the owner of `x["key"]`, `x.pop("key")` or `x.get("key")`, and the key."""
    if isinstance(node, cst.Subscript):
        return name_of(node.value), nodes.index(node)
    if method(node) in _TAKES and (given := positional(node)):
        return name_of(node.func.value), given[0]
    return "", None


def paired(target: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a target with what each takes: of `zip(a, b)`, the second takes `b`."""
    sources: Sequence[Any] = ()
    if isinstance(value, cst.Tuple):
        sources = elements(value)
    elif nodes.function(value) == "zip":
        sources = positional(value)
    elif nodes.function(value) == "enumerate" and len(given := positional(value)) == 1:
        sources = (None, given[0])
    parts = elements(target)
    if not isinstance(target, cst.Tuple) or len(parts) != len(sources):
        yield target, value
        return
    for part, source in zip(parts, sources, strict=True):
        if source is not None:  # a counter is made of nothing
            yield from paired(part, source)


def sources_of(scope: Scope, name: str) -> list[Any]:
    """Return what loops and unpacking bind a name to."""
    return _sources(scope).get(name, [])


def parameters(scope: Scope) -> frozenset[str]:
    """Return the names of a function's parameters, `self` aside."""
    return flow.parameters(scope) - {"self", "cls"}
