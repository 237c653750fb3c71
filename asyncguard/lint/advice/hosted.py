"""Predicates about values that the host has had before: uploaded, or read, and asked for again."""

from __future__ import annotations

import ast
from bisect import bisect_left

from asyncguard.lint.advice.making import handed, parameters, sources_of
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.uploads import makes_of_list
from asyncguard.lint.advice.values import last_name, loads
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, Scope, dotted, written
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.source import parsed

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
    return _of(scene.spot, scene.read, frozenset()) == UPLOADED


def _of(spot: Spot, node: ast.AST, names: Path) -> int:
    """Return what a value is made of; `names` are those that lead there, a few at most."""
    if len(names) > MOST_NAMES:
        return UNKNOWN
    if isinstance(node, ast.Constant | ast.Slice):
        return NUMBER
    if isinstance(node, ast.Name):
        return _of_name(spot, node.id, names)
    if isinstance(node, ast.Attribute):
        return NUMBER if node.attr in _KNOWN or dotted(node.value) in spot.code.imports else UNKNOWN
    if isinstance(node, ast.Call):
        return _of_call(spot, node, names)
    if isinstance(node, _PASSING):
        return _joined(spot, parsed.children(node), names)
    return UNKNOWN


_CALCULATES = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)
_PASSING = (*_CALCULATES, ast.IfExp, ast.Subscript, ast.Tuple, ast.List)


def _joined(spot: Spot, parts: object, names: Path) -> int:
    kinds = [_of(spot, part, names) for part in parts if isinstance(part, ast.expr)]  # type: ignore[attr-defined]
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


def _reaches(spot: Spot, value: ast.expr) -> bool:
    """Whether what a name is assigned there may be what it holds at the finding."""
    return value.lineno < spot.node.lineno or bool(flow.loops_around(spot.code, spot.node))


def _of_call(spot: Spot, call: ast.Call, names: Path) -> int:
    if makes_of_list(call):
        return UPLOADED if call.args and _is_of_python(spot, call) else UNKNOWN
    name = dotted(call.func)
    if name == "len":
        return NUMBER
    if name == "sum" and call.args and isinstance(call.args[0], ast.GeneratorExp):
        return _of(spot, call.args[0].elt, names)
    if name in _NUMBERS or spot.code.meaning(call.func).startswith("torch."):
        return _joined(spot, call.args, names)
    if isinstance(call.func, ast.Attribute) and not name.startswith("self."):
        return _joined(spot, [call.func.value, *call.args], names)
    return UNKNOWN


def _is_of_python(spot: Spot, call: ast.Call) -> bool:
    """Whether a tensor is made of what is not one itself: `as_tensor` and `asarray` may get one."""
    given = call.args[0]
    written_down = isinstance(given, ast.List | ast.Tuple | ast.ListComp | ast.Constant)
    holds_tensors = any(_reduces(part) for part in parsed.walk(given))
    return not holds_tensors and (written_down or last_name(call.func) == "tensor")


def _reduces(node: ast.AST) -> bool:
    """Whether this is `x.max()`: a list of such is one of tensors."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args


@predicate
def is_made_of_what_was_read(scene: Scene) -> bool:
    """It is calculated of an array that the function has read as a whole: `ids.tolist()`."""
    arrays, found = _arrays(scene.read), set[str]()
    while arrays and len(found) <= MOST_ARRAYS:
        name = arrays.pop()
        if name in found or _was_read(scene.spot, name):
            found.add(name)
            continue
        found.add(name)
        values = _values(scene.spot, name)
        if not 0 < len(values) <= MOST_VALUES:
            return False  # something else is in it
        arrays |= {array for value in values for array in _arrays(value)}
    return not arrays and any(_was_read(scene.spot, name) for name in found)


def _values(spot: Spot, name: str) -> list[ast.expr]:
    values = [*flow.assignments(spot.scope, name)]
    made = [value for value in values if value is not None]
    return made + (sources_of(spot.scope, name) if None in values else [])


def _arrays(node: ast.AST) -> set[str]:
    """Return the names of the arrays that a value is calculated of: `x` of `(x[i] == n).sum()`."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Call) and last_name(node.func) == "tolist":
        return set()  # a list from here on
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and not dotted(node.func).startswith("torch.")
        parts: list[ast.expr] = [node.func.value] if method else node.args  # type: ignore[attr-defined]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Compare):
        parts = [node.left]
    elif isinstance(node, ast.Subscript):
        parts = [node.value]
    elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Tuple):
        parts = [part for part in parsed.children(node) if isinstance(part, ast.expr)]
    else:
        return set()
    return {name for part in parts for name in _arrays(part)}


def _was_read(spot: Spot, name: str) -> bool:
    """Whether an earlier line holds `name.tolist()`."""
    return _first_reads(spot.code, spot.scope).get(name, spot.node.lineno) < spot.node.lineno


@kept(OF_SCOPES)
def _first_reads(code: Code, scope: Scope) -> dict[str, int]:
    """Return the first line that reads a name as a whole, by name."""
    found: dict[str, int] = {}
    for name, each in loads(scope).items():
        for load in each:
            method = code.parent(load)
            if isinstance(method, ast.Attribute) and method.attr == "tolist":
                found[name] = min(method.lineno, found.get(name, method.lineno))
    return found


@predicate
def is_read_again(scene: Scene) -> bool:
    """Another line of its block reads the same value, and nothing changes it in between."""
    spot, company = scene.spot, scene.company
    alike = company.noted(spot, lambda each: _asked(each, Scene(each, company).read))
    return any(
        not _changes_between(spot, other)
        for value in _asked(spot, scene.read)
        for other in _beside(spot, alike[value])
    )


def _beside(spot: Spot, alike: list[Spot]) -> list[Spot]:
    """Return those that ask for a value just before and after a spot."""
    at = bisect_left(alike, spot.at, key=lambda each: each.at)
    return [other for other in alike[max(0, at - 1) : at + 3] if other.node is not spot.node]


def _asked(spot: Spot, read: ast.expr) -> set[str]:
    """Return the values that are read, by their text: names of tensors, or what is computed."""
    parts = read.elts if isinstance(read, ast.Tuple) else [read]
    inner = [x for part in parts for x in (part.elts if isinstance(part, ast.Tuple) else [part])]
    if not isinstance(read, ast.Tuple):
        return {written(part) for part in inner if isinstance(part, ast.Call)}
    names = (part.id for part in inner if isinstance(part, ast.Name))
    return {name for name in names if _is_computed(spot, name)}


def _is_computed(spot: Spot, name: str) -> bool:
    made = flow.assignments(spot.scope, name)
    return len(made) == 1 and isinstance(made[0], ast.Call) and dotted(made[0].func) not in _NUMBERS


def _changes_between(spot: Spot, other: Spot) -> bool:
    first, last = sorted((spot.at, other.at))
    names = flow.names(spot.node) & flow.names(other.node)
    return bool(names & flow.changed(spot.body[first:last]))
