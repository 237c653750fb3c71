"""Predicates about values that the host has had before: uploaded, or read, and asked for again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import libcst as cst

from asyncguard.lint.advice.making import handed, parameters, sources_of
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.uploads import makes_of_list
from asyncguard.lint.advice.values import last_name, loads
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Scope,
    attribute,
    compared,
    elements,
    indices,
    is_constant,
    method,
    name_of,
    positional,
    walk,
    written,
)
from asyncguard.lint.syntax.tree import dotted

_KNOWN = frozenset({"shape", "device", "dtype", "ndim"})
_NUMBERS = frozenset(
    {"int", "float", "bool", "sum", "min", "max", "abs", "len", "range", "next", "iter", "list"}
)
UNKNOWN, NUMBER, UPLOADED = 0, 1, 2  # what a value is made of: of the device, of the host, of both
Path = frozenset[str]
MOST_NAMES, MOST_VALUES = 5, 6  # followed from a value, and looked at of each name
MOST_ARRAYS = 12  # that a value is calculated of


@predicate
def is_made_of_host_values(scene: Scene) -> bool:
    """It was uploaded by the function, of numbers or a list that Python has, and is that alone."""
    return _joined(scene.spot, scene.reads, frozenset()) == UPLOADED


def _of(spot: Spot, node: cst.CSTNode, names: Path) -> int:
    """Return what a value is made of; `names` are those that lead there, a few at most."""
    if len(names) > MOST_NAMES:
        return UNKNOWN
    if isinstance(node, cst.Slice) or is_constant(node):
        return NUMBER
    if isinstance(node, cst.Name):
        return _of_name(spot, node.value, names)
    if isinstance(node, cst.Attribute):
        is_known = attribute(node) in _KNOWN or dotted(node.value) in spot.code.imports
        return NUMBER if is_known else UNKNOWN
    if isinstance(node, cst.Call):
        return _of_call(spot, node, names)
    parts = _parts(node)
    return _joined(spot, parts, names) if parts is not None else UNKNOWN


def _parts(node: cst.CSTNode) -> list[Any] | None:
    """Return the parts of an expression that all its values come from; None of any other."""
    match node:
        case cst.BinaryOperation() | cst.BooleanOperation():
            return [node.left, node.right]
        case cst.UnaryOperation():
            return [node.expression]
        case cst.Comparison():
            return compared(node)
        case cst.IfExp():
            return [node.test, node.body, node.orelse]
        case cst.Subscript():
            return [node.value, *indices(node)]
        case cst.Tuple() | cst.List():
            return elements(node)
    return None


def _joined(spot: Spot, parts: Iterable[cst.CSTNode], names: Path) -> int:
    kinds = [_of(spot, part, names) for part in parts]
    return UNKNOWN if UNKNOWN in kinds else max(kinds, default=NUMBER)


def _of_name(spot: Spot, name: str, names: Path) -> int:
    if name in names:
        return NUMBER  # it is made of itself and of what else it is assigned
    values = flow.assignments(spot.scope, name)
    if (
        not 0 < len(values) <= MOST_VALUES
        or name in parameters(spot.scope)
        or name in handed(spot.scope)
    ):
        return UNKNOWN
    made = [value for value in _values(spot, name) if _reaches(spot, value)]
    return _joined(spot, made, names | {name}) if made else UNKNOWN


def _reaches(spot: Spot, value: cst.CSTNode) -> bool:
    """Whether what a name is assigned there may be what it holds at the finding."""
    is_above = spot.code.line(value) < spot.code.line(spot.node)
    return is_above or bool(flow.loops_around(spot.code, spot.node))


def _of_call(spot: Spot, call: cst.Call, names: Path) -> int:
    given, name = positional(call), dotted(call.func)
    if makes_of_list(call):
        return UPLOADED if given and _is_of_python(spot, call) else UNKNOWN
    if name == "len":
        return NUMBER
    if name == "sum" and given and isinstance(given[0], cst.GeneratorExp):
        return _of(spot, given[0].elt, names)
    if name in _NUMBERS or spot.code.meaning(call.func).startswith("torch."):
        return _joined(spot, given, names)
    if isinstance(call.func, cst.Attribute) and not name.startswith("self."):
        return _joined(spot, [call.func.value, *given], names)
    return UNKNOWN


def _is_of_python(spot: Spot, call: cst.Call) -> bool:
    """Whether a tensor is made of what is not one itself: `as_tensor` and `asarray` may get one."""
    given = positional(call)[0]
    written_down = isinstance(given, (*LISTS, cst.ListComp)) or is_constant(given)
    holds_tensors = any(_reduces(part) for part in walk(given))
    return not holds_tensors and (written_down or last_name(call.func) == "tensor")


def _reduces(node: cst.CSTNode) -> bool:
    """Whether this is `x.max()`: a list of such is one of tensors."""
    return isinstance(node, cst.Call) and bool(method(node)) and not positional(node)


@predicate
def is_made_of_what_was_read(scene: Scene) -> bool:
    """It is calculated of an array that the function has read as a whole: `ids.tolist()`."""
    arrays, found = _arrays(scene.reads), set[str]()
    while arrays and len(found) <= MOST_ARRAYS:
        name = arrays.pop()
        if name in found or _was_read(scene.spot, name):
            found.add(name)
            continue
        found.add(name)
        values = _values(scene.spot, name)
        if not 0 < len(values) <= MOST_VALUES:
            return False  # something else is in it
        arrays |= _arrays(values)
    return not arrays and any(_was_read(scene.spot, name) for name in found)


def _values(spot: Spot, name: str) -> list[cst.CSTNode]:
    values = flow.assignments(spot.scope, name)
    made = [value for value in values if value is not None]
    return [*made, *(sources_of(spot.scope, name) if None in values else [])]


def _arrays(parts: Iterable[cst.CSTNode]) -> set[str]:
    """Return the names of the arrays that values are calculated of: `x` of `(x[i] == n).sum()`."""
    found: set[str] = set()
    pending = [*parts]
    while pending:
        node = pending.pop()
        if name := name_of(node):
            found.add(name)
        else:
            pending += _calculated_of(node)
    return found


def _calculated_of(node: cst.CSTNode) -> list[Any]:
    """Return the parts of an expression that may be arrays."""
    match node:
        case cst.Call(func=function):
            if last_name(function) == "tolist":
                return []  # a list from here on
            is_method = method(node) and not dotted(function).startswith("torch.")
            return [function.value] if is_method else positional(node)  # type: ignore[attr-defined]
        case cst.IfExp():
            return [node.body, node.orelse]
        case cst.Comparison():
            return [node.left]
        case cst.Subscript():
            return [node.value]
        case cst.List():
            return []
    return _parts(node) or []


def _was_read(spot: Spot, name: str) -> bool:
    """Whether an earlier line holds `name.tolist()`."""
    line = spot.code.line(spot.node)
    return _first_reads(spot.code, spot.scope).get(name, line) < line


@kept(OF_SCOPES)
def _first_reads(code: Code, scope: Scope) -> dict[str, int]:
    """Return the first line that reads a name as a whole, by name."""
    found: dict[str, int] = {}
    for name, each in loads(scope).items():
        for load in each:
            if attribute(code.parent(load)) == "tolist":
                found[name] = min(code.line(load), found.get(name, code.line(load)))
    return found


@predicate
def is_read_again(scene: Scene) -> bool:
    """Another line of its block reads the same value, and nothing changes it in between."""
    spot, company = scene.spot, scene.company
    alike = company.noted(spot, lambda each: _asked(Scene(each, company)))
    return any(
        not _changes_between(spot, other)
        for value in _asked(scene)
        for other in _beside(spot, alike[value])
    )


def _beside(spot: Spot, alike: list[Spot]) -> list[Spot]:
    """Return those that ask for a value just before and after a spot."""
    at = bisect_left(alike, spot.at, key=lambda each: each.at)
    return [other for other in alike[max(0, at - 1) : at + 3] if other.node is not spot.node]


def _asked(scene: Scene) -> set[str]:
    """Return the values that are read, by their text: names of tensors, or what is computed."""
    if scene.read is not None:
        return {written(scene.read)} if isinstance(scene.read, cst.Call) else set()
    inner = (elements(x) if isinstance(x, cst.Tuple) else [x] for x in scene.reads)
    names = (name for parts in inner for part in parts if (name := name_of(part)))
    return {name for name in names if _is_computed(scene.spot, name)}


def _is_computed(spot: Spot, name: str) -> bool:
    made = flow.assignments(spot.scope, name)
    return len(made) == 1 and isinstance(made[0], cst.Call) and dotted(made[0].func) not in _NUMBERS


def _changes_between(spot: Spot, other: Spot) -> bool:
    first, last = sorted((spot.at, other.at))
    names = flow.names(spot.node) & flow.names(other.node)
    return bool(names & flow.changed(spot.body[first:last]))
