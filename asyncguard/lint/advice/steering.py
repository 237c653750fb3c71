"""Predicates about what Python does with a value: it picks, loops, collects or decides by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.advice.making import paired
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import Use, condition_of, indexes, last_name, loads, place, uses
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.syntax.nodes import (
    body,
    is_for,
    is_slice,
    name_of,
    otherwise,
    positional,
    root,
    walk,
)
from asyncguard.lint.syntax.tree import dotted

_REDUCES, _CONVERSION = family("advice.reduces"), family("advice.is_a_conversion")
_COLLECTS = frozenset({"append", "extend", "insert", "add"})
MOST_VALUES, MOST_STATEMENTS = 6, 12  # of a name, and of a round, that are looked at
_KEEPS = frozenset({*_COLLECTS, "pop", "remove", "setdefault"})


@predicate
def is_a_fill_value(scene: Scene) -> bool:
    """It is what an array is filled with, as a number: `masked_fill(mask, x)`, `fill_value=x`."""
    node = scene.spot.node
    if isinstance(node, cst.Call) and last_name(node.func) in ("masked_fill", "masked_fill_"):
        return True
    return any(_fills(use) for use in uses(scene.spot))


def _fills(use: Use) -> bool:
    return isinstance(use.parent, cst.Arg) and name_of(use.parent.keyword) == "fill_value"


@predicate
def is_collected(scene: Scene) -> bool:
    """It is added to a list, and the step does nothing else with it."""
    found = [use for use in uses(scene.spot) if isinstance(use.parent, cst.Call)]
    ends = [use for use in found if use.called and use.called not in _PLAIN]
    return bool(ends) and all(use.called in _COLLECTS for use in ends)


_PLAIN = frozenset({"list", "tuple", "float", "int", "str", "sum"})


@predicate
def is_used_at_once(scene: Scene) -> bool:
    """The step itself uses it on the host: it is handed to a function, or indexes something."""
    return any(
        indexes(use)
        or (isinstance(use.parent, cst.Call) and use.called not in (_COLLECTS | _PLAIN | {""}))
        for use in uses(scene.spot)
    )


@predicate
def is_given_back_to_the_framework(scene: Scene) -> bool:
    """A function of the framework takes the copy, which it could compute on the device."""
    spot, parent = scene.spot, scene.spot.code.outer(scene.spot.node)
    if not isinstance(parent, cst.Call) or spot.node not in positional(parent):
        return False
    name = spot.code.meaning(parent.func)
    return name.startswith("torch.") and last_name(parent.func) not in _KEPT_ON_THE_HOST


_KEPT_ON_THE_HOST = frozenset({"save", "tensor", "as_tensor", "from_numpy", "is_tensor", "device"})


@predicate
def is_a_conversion(scene: Scene) -> bool:
    """Its function is there to bring values to the host, as its name says."""
    scope = scene.spot.scope
    return isinstance(scope, cst.FunctionDef) and _CONVERSION(scope.name.value)


@predicate
def decides_on_host_work(scene: Scene) -> bool:
    """What it decides on is more than arithmetic: lists that grow, sizes, a part of a model."""
    decided = [*_decided(scene.spot)]
    is_loss = any(isinstance(x, cst.Call) and _REDUCES(last_name(x.func)) for x in decided)
    return any(
        _collects_on_the_host(scene.spot, part) or (not is_loss and _runs_a_part(part))
        for part in decided
    )


def _decided(spot: Spot) -> Iterator[Any]:
    """Yield the code that runs by the condition: its branches, or the round that it leaves out.

    Nothing where it only returns something else.
    """
    statement, code = condition_of(spot), spot.code
    if not isinstance(statement, cst.If) or isinstance(body(statement)[0], cst.Return):
        return
    decided = [*body(statement), *otherwise(statement)]
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    if isinstance(body(statement)[-1], cst.Continue) and loop is not None:
        line = code.line(statement)
        later = [part for part in body(loop) if code.last_line(part) > line]
        decided += later[:MOST_STATEMENTS]
    for part in decided:
        yield from walk(part)


def _collects_on_the_host(spot: Spot, node: cst.CSTNode) -> bool:
    """Whether a list or a dict of Python changes, that is not stacked on the device in the end."""
    if isinstance(node, cst.AugAssign):
        return isinstance(node.value, (cst.List, cst.ListComp))
    if not isinstance(node, cst.Call) or last_name(node.func) not in _KEEPS:
        return False
    return not _is_stacked(spot, root(node.func))


def _runs_a_part(node: cst.CSTNode) -> bool:
    """Whether a method of `self` is called: a part of a model, or what runs one."""
    name = dotted(node.func) if isinstance(node, cst.Call) else ""
    return name.startswith("self.") and name.count(".") == 1


def _is_stacked(spot: Spot, name: str) -> bool:
    """Whether a list of tensors is put together on the device in the end."""
    calls = (place(spot.code, load) for load in loads(spot.scope).get(name, ()))
    return any(isinstance(x, cst.Call) and last_name(x.func) in ("stack", "cat") for x in calls)


@predicate
def is_taken_from_an_array(scene: Scene) -> bool:
    """A loop goes over an array, and Python reads its elements one after the other."""
    spot = scene.spot
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    reads = [scene.read.left] if isinstance(scene.read, cst.Comparison) else scene.reads
    if not is_for(loop) or not all(map(_is_plain, reads)):
        return False
    made = _made_in(spot, loop, set().union(*map(flow.names, reads)))
    return any(
        name_of(target) in made and _is_array(source)
        for target, source in paired(loop.target, _iterated(spot, loop.iter))
    )


def _iterated(spot: Spot, node: cst.CSTNode) -> Any:
    """Return what a loop goes over: `zip(a, b)` of `steps = list(zip(a, b))`."""
    made = flow.assignments(spot.scope, name_of(node))
    call = made[0] if len(made) == 1 else None
    if isinstance(call, cst.Call) and dotted(call.func) in ("list", "tuple"):
        return next(iter(positional(call)), node)
    return node


def _made_in(spot: Spot, loop: cst.For, names: set[str]) -> set[str]:
    """Return names, and those that they are calculated of in a round of a loop."""
    found: set[str] = set()
    pending = {*names}
    while pending and len(found) <= MOST_VALUES:
        name = pending.pop()
        found.add(name)
        for value in flow.assignments(spot.scope, name)[:MOST_VALUES]:
            if value is not None and value in flow.parts(loop):
                pending |= _calculated_of(value) - found
    return found


@kept(OF_STATEMENTS)
def _calculated_of(value: cst.CSTNode) -> frozenset[str]:
    """Return the names of a calculation with numbers; none of anything else."""
    is_calculated = isinstance(value, _CALCULATIONS) and _is_plain(value)
    return frozenset(flow.names(value)) if is_calculated else frozenset()


_CALCULATIONS = (cst.BinaryOperation, cst.UnaryOperation, cst.Name, cst.Call, cst.Subscript)


def _is_plain(node: cst.CSTNode) -> bool:
    """Whether an expression only calculates with numbers: no call but `min`, `int` and the like."""
    calls = (part for part in walk(node) if isinstance(part, cst.Call))
    return all(dotted(call.func) in ("int", "float", "min", "max", "abs") for call in calls)


def _is_array(source: cst.CSTNode) -> bool:
    """Whether a loop goes over a name that holds lengths, ids or the like, or a slice of one."""
    if isinstance(source, cst.Subscript) and is_slice(source):
        return bool(name_of(source.value))
    return bool(name_of(source)) and _ARRAYS(name_of(source))


_ARRAYS = family("advice.holds_numbers")
