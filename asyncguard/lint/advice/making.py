"""The parts that a value is made of within a function: parameters, attributes, calls.

Purely syntactic: names are followed through plain assignments. The parts of each name of a function
are found once; names that are made of each other share theirs.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed


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


def made_of(spot: Spot, node: ast.AST) -> Made:
    """Return what an expression is made of, as far as plain assignments tell."""
    return _making(spot.code, spot.scope).of(node)


def computes(spot: Spot, node: ast.AST) -> bool:
    """Whether an expression calls by itself what may do more than look at its arguments."""
    return _making(spot.code, spot.scope).computes(node)


@kept(OF_SCOPES)
def _making(code: Code, scope: Scope) -> _Making:
    return _Making(code, scope)


@kept(OF_SCOPES)
def handed(scope: Scope) -> frozenset[str]:
    """Return the names that are handed to calls whose result is dropped: these may change them."""
    found: set[str] = set()
    for part in parsed.walk(scope):
        call = part.value if isinstance(part, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted(call.func) not in _BUILTINS:
            found |= {given.id for given in call.args if isinstance(given, ast.Name)}
    return frozenset(found)


class _Making:
    """The parts of the names of one function."""

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code, self.scope = code, scope
        self._params = parameters(scope)
        self._known: dict[str, Made] = {}
        inside = scope if isinstance(scope, ast.ClassDef) else code.around(scope, ast.ClassDef)
        self._changing = _set_by_steps(code, inside) if inside is not None else frozenset()
        self._handed = handed(scope)

    def of(self, node: ast.AST) -> Made:
        """Return what an expression is made of."""
        made, names = self._directly([node])
        for name in names:
            if name not in self._known:
                self._follow(name)
            made |= self._known[name] | Made(computed=name in self._handed)
        return made

    def computes(self, node: ast.AST) -> bool:
        """Whether an expression computes something, whatever its names are made of."""
        return self._directly([node])[0].computed

    def _directly(self, nodes: Iterable[ast.AST]) -> tuple[Made, set[str]]:
        """Return what expressions are made of beside names, and those names."""
        made, names = NOTHING, set()
        pending = [*nodes]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Slice):
                pending += (x for x in parsed.children(part) if not _asks_for_a_shape(x))
                continue  # a part as long as another array, of what it is a part of
            if isinstance(part, ast.Attribute) and part.attr in _HOST_KNOWS:
                made |= Made(shaped=part.attr == "shape")
                continue  # whatever it is of
            if self._is_named_input(part):
                made |= Made(inputs=True)
                continue
            if isinstance(part, ast.Call):
                made |= self._of_call(part)
            if isinstance(part, ast.Attribute) and self._is_own_or_imported(part):
                made |= self._of_attribute(dotted(part))
            elif isinstance(part, ast.Name):
                names.add(part.id)
            else:
                pending += parsed.children(part)
        return made, names

    def _of_attribute(self, path: str) -> Made:
        if not path.startswith("self."):
            return NOTHING
        owner = path.removeprefix("self.").rpartition(".")[0]
        changes = path.split(".")[1] in self._changing
        return Made(fixed=not changes, changing=changes, deep=bool(owner) and not _OPTIONS(owner))

    def _of_call(self, call: ast.Call) -> Made:
        """Return what a call adds: `getattr` finds what others set, helpers compute something."""
        if dotted(call.func) == "getattr":
            return Made(deep=True)
        return Made(computed=self._computes(call))

    def _computes(self, call: ast.Call) -> bool:
        """Whether a call may do more than look at its arguments: a method of `self`, a helper.

        A helper that is named for lengths tells them from those that it is given; `self.x.to(d)`
        is a method of what `self` holds, and hands that on.
        """
        function, name = call.func, dotted(call.func)
        if self.code.meaning(function).partition(".")[0] in _LIBRARY or name in _BUILTINS:
            return False
        last = name.rpartition(".")[2]
        if (call.args and _LENGTHS(last)) or (name.count(".") > 1 and _CONVERTS(last)):
            return False
        return not isinstance(function, ast.Attribute) or name.startswith("self.")

    def _is_named_input(self, node: ast.AST) -> bool:
        """Whether an entry of a parameter is named as an input: `batch["lengths"]`."""
        owner, key = _entry(node)
        if not isinstance(owner, ast.Name) or owner.id not in self._params:
            return False
        name = key.value if isinstance(key, ast.Constant) else None
        return isinstance(name, str) and bool(_INPUT(f"{owner.id}_{name}"))

    def _is_own_or_imported(self, node: ast.Attribute) -> bool:
        head = dotted(node).partition(".")[0]
        own = head == "self" and isinstance(node.value, ast.Name)
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
def _set_by_steps(code: Code, inside: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that the methods of a class set, but for those that set it up."""
    methods = [part for part in inside.body if isinstance(part, FUNCTIONS)]
    return frozenset(
        part.attr
        for method in methods
        if not _SETS_UP(method.name)
        for part in parsed.walk(method)
        if isinstance(part, ast.Attribute)
        and (not isinstance(part.ctx, ast.Load) or _is_changed(code, part))
    )


def _is_changed(code: Code, attribute: ast.Attribute) -> bool:
    """Whether it is changed in place: `self.total.add_(1)`, `self.rows[i] = x`."""
    around = code.parent(attribute)
    if isinstance(around, ast.Subscript):
        return around.value is attribute and not isinstance(around.ctx, ast.Load)
    if not isinstance(around, ast.Attribute):
        return False
    return around.attr.endswith("_") or around.attr in _COLLECTS


@kept(OF_SCOPES)
def _sources(scope: Scope) -> dict[str, list[ast.expr]]:
    """Return what loops and unpacking bind names to, and what is added to them in place."""
    found: dict[str, list[ast.expr]] = {}
    for node in flow.walk_own(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        elif isinstance(node, ast.AugAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            unpacked = [t for t in node.targets if not isinstance(t, ast.Name)]
            targets, value = unpacked, node.value
        for target in targets:
            for part, source in paired(target, value):
                for name in flow.bound(part):
                    found.setdefault(name, []).append(source)
    return found


def _asks_for_a_shape(node: ast.AST) -> bool:
    return any(isinstance(x, ast.Attribute) and x.attr in _HOST_KNOWS for x in parsed.walk(node))


@kept(OF_SCOPES)
def collected_in(loop: ast.AST) -> frozenset[str]:
    """Return the names of the lists that a loop adds to, or takes from."""
    calls = (part.func for part in parsed.walk(loop) if isinstance(part, ast.Call))
    methods = (part for part in calls if isinstance(part, ast.Attribute))
    return frozenset(flow.root(part) for part in methods if part.attr in _COLLECTS)


@kept(OF_SCOPES)
def _stored(scope: Scope) -> dict[str, list[ast.expr]]:
    """Return what is written into what names hold, and where: `x[mask] = y`, `x.append(y)`."""
    found: dict[str, list[ast.expr]] = {}
    for node in flow.walk_own(scope):
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in _COLLECTS:
            found.setdefault(flow.root(method), []).extend(node.args)  # type: ignore[attr-defined]
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                found.setdefault(target.value.id, []).extend([node.value, target.slice])  # type: ignore[attr-defined]
    return found


def _entry(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """Return the owner and the key of `x["key"]`, `x.pop("key")` and `x.get("key")`."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (node.func.value, node.args[0]) if node.func.attr in _TAKES else (None, None)
    return None, None


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the parts of a target with what each takes: of `zip(a, b)`, the second takes `b`."""
    sources: Sequence[ast.expr | None] = ()
    if isinstance(value, ast.Tuple):
        sources = value.elts
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        if value.func.id == "zip":
            sources = value.args
        elif value.func.id == "enumerate":
            sources = (None, value.args[0]) if len(value.args) == 1 else ()
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(sources):
        yield target, value
        return
    for part, source in zip(target.elts, sources, strict=True):
        if source is not None:  # a counter is made of nothing
            yield from paired(part, source)


def sources_of(scope: Scope, name: str) -> list[ast.expr]:
    """Return what loops and unpacking bind a name to."""
    return _sources(scope).get(name, [])


def parameters(scope: Scope) -> frozenset[str]:
    """Return the names of a function's parameters, `self` aside."""
    if not isinstance(scope, (*FUNCTIONS, ast.Lambda)):
        return frozenset()
    taken = scope.args
    every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
    return frozenset(a.arg for a in every if a is not None) - {"self", "cls"}
