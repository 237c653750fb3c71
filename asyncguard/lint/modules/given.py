"""The arguments that the calls in a file hand to its own functions and classes, made in sight.

`main` builds a `Lattice` and a `History(lattice)`: the history's parameter is a lattice. Classes
may be imported, or come from a table: `LOSSES[name]()`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.domain.values import HOST_ARRAY, MODEL
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.syntax.tree import named_in, suite, walk_expressions

MOVED = "moved"  # something unknown that was moved to the device: `net.to(device)`
EACH = "each "  # before what a list or tuple holds
CHOSEN = "[]"  # after a table of classes, from which one is chosen
_UNKNOWN = ""
Given = Mapping[tuple[str, int | str], frozenset[str]]
_Known = Mapping[str, set[str]]


class _Making(NamedTuple):
    """The classes in sight, and methods that give their owner back, or take it to the device."""

    classes: frozenset[str]
    keeping: frozenset[str]
    moving: frozenset[str]


def _methods(knowledge: Knowledge, frameworks: Iterable[str]) -> tuple[frozenset[str], ...]:
    """Return the methods by which models are kept and moved, as the catalogue has them."""
    kept = {
        (framework, method)
        for framework in frameworks
        for method, kind in knowledge.model_methods.get(framework, {}).items()
        if kind == MODEL
    }
    there = {m for f, m in kept if knowledge.methods.get(f, {}).get(m) != HOST_ARRAY}
    return frozenset(method for _, method in kept), frozenset(there & load().moves)


def given(tree: cst.Module, knowledge: Knowledge, frameworks: Iterable[str]) -> Given:
    """Return, by callee and position or keyword, the classes whose instances all calls hand.

    A parameter that any call in the file hands anything else is left out.
    """
    scopes = [node for node in suite(tree) if type(node) in (cst.FunctionDef, cst.ClassDef)]
    names = {scope.name.value for scope in scopes}
    classes = {scope.name.value for scope in scopes if type(scope) is cst.ClassDef}
    outside = [node for node in suite(tree) if type(node) not in (cst.FunctionDef, cst.ClassDef)]
    making = _Making(frozenset({*classes, *_imported(outside)}), *_methods(knowledge, frameworks))
    of_outside = [part for node in outside for part in walk_expressions(node)]
    of_module = _bound(of_outside, making, {})
    found: dict[tuple[str, int | str], set[str]] = {}
    for parts in (of_outside, *map(walk_expressions, _functions(scopes))):
        calls = _calls(parts, names)
        own = _bound(parts, making, of_module) if calls and parts is not of_outside else {}
        known = {**of_module, **own}
        for call in calls:
            for key, value in _arguments(call):
                described = _described(value, making, known)
                found.setdefault((call.func.value, key), set()).update(described)
    return {key: frozenset(told) for key, told in found.items() if _UNKNOWN not in told}


def _imported(nodes: Iterable[Any]) -> Iterator[str]:
    """Yield the names that are imported and written like those of classes."""
    for node in nodes:
        if type(node) is cst.ImportFrom and not isinstance(node.names, cst.ImportStar):
            names = (each.evaluated_alias or each.evaluated_name for each in node.names)
            yield from (name for name in names if name[:1].isupper() and not name.isupper())


def _functions(scopes: Iterable[Any]) -> Iterator[cst.FunctionDef]:
    for scope in scopes:
        if type(scope) is cst.FunctionDef:
            yield scope
        elif type(scope) is cst.ClassDef:
            yield from _functions(suite(scope.body))


def _calls(parts: Iterable[Any], names: Collection[str]) -> list[Any]:
    calls = (part for part in parts if type(part) is cst.Call)
    return [call for call in calls if type(call.func) is cst.Name and call.func.value in names]


def _arguments(call: cst.Call) -> Iterator[tuple[int | str, Any]]:
    for index, argument in enumerate(call.args):
        if argument.star:
            return
        key = index if argument.keyword is None else argument.keyword.value
        yield key, argument.value


def _bound(parts: Iterable[Any], making: _Making, outer: _Known) -> dict[str, set[str]]:
    """Return what the assignments of a scope bind names to; its parameters may be anything."""
    found: dict[str, set[str]] = {}
    for part in parts:
        kind = type(part)
        if kind is cst.Param:
            found.setdefault(part.name.value, set()).add(_UNKNOWN)
        elif kind is cst.Assign:
            for target in part.targets:
                for name, value in _pairs(target.target, part.value):
                    told = {_UNKNOWN} if value is None else _described(value, making, outer)
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


def _described(value: Any, making: _Making, known: _Known) -> set[str]:
    """Return the classes that an expression makes or names an instance of, `MOVED`, or unknown."""
    if type(value) is cst.Name:
        return known.get(value.value, {_UNKNOWN})
    if type(value) in _SEQUENCES and value.elements:
        parts = [_described(element.value, making, known) for element in value.elements]
        told = set[str]().union(*parts)
        return {_UNKNOWN} if told & {_UNKNOWN, MOVED} else {f"{EACH}{name}" for name in told}
    return _made(value.func, making, known) if type(value) is cst.Call else {_UNKNOWN}


def _made(func: Any, making: _Making, known: _Known) -> set[str]:
    """Return the same of what a call of this makes."""
    if type(func) is cst.Name:
        return {func.value if func.value in making.classes else _UNKNOWN}
    if type(func) is cst.Subscript and type(func.value) is cst.Name:
        table = func.value.value
        return {f"{table}{CHOSEN}" if table.isupper() else _UNKNOWN}
    if type(func) is cst.Attribute and func.attr.value in making.keeping:
        told = _described(func.value, making, known)
        moved = _UNKNOWN in told and func.attr.value in making.moving
        return {MOVED} if moved else told
    return {_UNKNOWN}
