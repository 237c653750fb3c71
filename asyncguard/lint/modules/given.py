"""What the calls in a file hand its own functions and classes, as far as it is made in sight.

`main` builds a `Lattice` and a `History(lattice)`: the history's parameter is a lattice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import libcst as cst

from asyncguard.lint.syntax.tree import named_in, suite, walk_expressions

MOVED = "moved"  # something unknown that was moved to the device: `net.to(device)`
EACH = "each "  # before what a list or tuple holds
_UNKNOWN = ""
Given = Mapping[tuple[str, int | str], frozenset[str]]
_Known = Mapping[str, set[str]]
_KEEPING = frozenset({"to", "cuda", "eval", "train", "half", "float", "bfloat16", "double"})
_MOVING = frozenset({"to", "cuda"})


def given(tree: cst.Module) -> Given:
    """Return, by callee and position or keyword, the classes whose instances all calls hand.

    A parameter that any call in the file hands anything else is left out.
    """
    scopes = [node for node in suite(tree) if type(node) in (cst.FunctionDef, cst.ClassDef)]
    names = {scope.name.value for scope in scopes}
    classes = {scope.name.value for scope in scopes if type(scope) is cst.ClassDef}
    outside = [node for node in suite(tree) if type(node) not in (cst.FunctionDef, cst.ClassDef)]
    of_module = _bound(outside, classes, {})
    found: dict[tuple[str, int | str], set[str]] = {}
    for scope, nodes in [(None, outside), *((scope, [scope]) for scope in _functions(scopes))]:
        known = of_module if scope is None else {**of_module, **_bound(nodes, classes, of_module)}
        for call in _calls(nodes, names):
            for key, value in _arguments(call):
                told = found.setdefault((call.func.value, key), set())
                told |= _described(value, classes, known)
    return {key: frozenset(told) for key, told in found.items() if _UNKNOWN not in told}


def _functions(scopes: Iterable[Any]) -> Iterator[cst.FunctionDef]:
    for scope in scopes:
        if type(scope) is cst.FunctionDef:
            yield scope
        elif type(scope) is cst.ClassDef:
            yield from _functions(suite(scope.body))


def _calls(nodes: Iterable[Any], names: Collection[str]) -> Iterator[Any]:
    for node in nodes:
        for part in walk_expressions(node):
            if type(part) is cst.Call and type(part.func) is cst.Name and part.func.value in names:
                yield part


def _arguments(call: cst.Call) -> Iterator[tuple[int | str, Any]]:
    for index, argument in enumerate(call.args):
        if argument.star:
            return
        key = index if argument.keyword is None else argument.keyword.value
        yield key, argument.value


def _bound(nodes: Iterable[Any], classes: Collection[str], outer: _Known) -> dict[str, set[str]]:
    """Return what the assignments of a scope bind names to; its parameters may be anything."""
    found: dict[str, set[str]] = {}
    for part in (part for node in nodes for part in walk_expressions(node)):
        kind = type(part)
        if kind is cst.Param:
            found.setdefault(part.name.value, set()).add(_UNKNOWN)
        elif kind is cst.Assign:
            for target in part.targets:
                for name, value in _pairs(target.target, part.value):
                    told = {_UNKNOWN} if value is None else _described(value, classes, outer)
                    found.setdefault(name, set()).update(told)
        elif kind in _BINDING:
            for name in named_in(part.target if kind is not cst.AsName else part.name):
                found.setdefault(name, set()).add(_UNKNOWN)
    return found


_BINDING = frozenset(
    {cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.AsName}
)


def _pairs(target: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and what each is assigned; None where that does not stand there."""
    if type(target) is cst.Name:
        yield target.value, value
    elif type(target) in _SEQUENCES:
        parts = value.elements if type(value) in _SEQUENCES else ()
        known = len(parts) == len(target.elements)
        for index, element in enumerate(target.elements):
            yield from _pairs(element.value, parts[index].value if known else None)


_SEQUENCES = (cst.Tuple, cst.List)


def _described(value: Any, classes: Collection[str], known: _Known) -> set[str]:
    """Return the classes that an expression makes or names an instance of, `MOVED`, or unknown."""
    if type(value) is cst.Name:
        return known.get(value.value, {_UNKNOWN})
    if type(value) in _SEQUENCES and value.elements:
        parts = [_described(element.value, classes, known) for element in value.elements]
        told = set[str]().union(*parts)
        return {_UNKNOWN} if told & {_UNKNOWN, MOVED} else {f"{EACH}{name}" for name in told}
    if type(value) is not cst.Call:
        return {_UNKNOWN}
    func = value.func
    if type(func) is cst.Name:
        return {func.value if func.value in classes else _UNKNOWN}
    if type(func) is cst.Attribute and func.attr.value in _KEEPING:
        told = _described(func.value, classes, known)
        moved = _UNKNOWN in told and func.attr.value in _MOVING
        return {MOVED} if moved else told
    return {_UNKNOWN}
