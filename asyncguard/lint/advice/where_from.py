"""Predicates about what the value is made of that a finding reads or uploads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from asyncguard import catalogue
from asyncguard.lint.advice.making import (
    Made,
    collected_in,
    computes,
    handed,
    made_of,
    parameters,
)
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import condition_of, last_name
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.syntax.nodes import (
    COMPREHENSIONS,
    STATEMENTS,
    attribute,
    bound_by,
    index,
    is_for,
    name_of,
    walk,
)

# ---- where the value comes from

_EXPERT, _NAN = family("advice.expert"), family("advice.nan")
_FORWARD, _GENERATES = family("advice.runs_a_model"), family("advice.generates")


def _made(scene: Scene) -> Made:
    return made_of(scene.spot, scene.reads)


@predicate
def is_made_of_inputs(scene: Scene) -> bool:
    """It is made of a function's parameters alone that hold what a program prepares on the host."""
    made = _made(scene)
    return made.inputs and not (made.others or made.computed) and not _is_generated(scene.spot)


def _is_generated(spot: Spot) -> bool:
    """Whether the ids that a function is given are what a model has generated so far."""
    around = [spot.scope, spot.code.around(spot.scope, cst.ClassDef)]
    kinds = (cst.FunctionDef, cst.ClassDef)
    names = [part.name.value for part in around if isinstance(part, kinds)]
    return any(map(_GENERATES, [*names, *parameters(spot.scope)]))


@predicate
def is_made_of_attributes(scene: Scene) -> bool:
    """It is made of attributes of `self` alone, and of constants."""
    made = _made(scene)
    return made.fixed and not any(made._replace(fixed=False))


@predicate
def is_invariant_in_its_loop(scene: Scene) -> bool:
    """Nothing that it is made of changes in the innermost loop around it."""
    spot, needed = scene.spot, _needed(scene)
    around = flow.loops_around(spot.code, spot.node)
    inside = (x for x in around if not is_for(x) or spot.node not in flow.parts(x.iter))
    loop = next(inside, None)
    if not is_for(loop) or _is_in_comprehension(spot):
        return False
    names = set[str]().union(*map(flow.names, needed)) - set(spot.code.imports)
    changed = flow.changed_in(loop) | collected_in(loop) | handed(spot.scope)
    if not names or names & changed or computes(spot, scene.reads):
        return False
    if any(names & given for given in _given_to_kernels(spot, loop)):
        return False
    return not _asks_for_state(spot, needed) or not _made(scene).computed


def _given_to_kernels(spot: Spot, loop: cst.For) -> Iterator[set[str]]:
    """Yield the names that kernels are given in a loop, which write to what they are given."""
    framework = catalogue.load().frameworks.get(spot.finding.framework)
    if framework is None:
        return
    kernels = {name.rpartition(".")[2] for name in framework.kernels}
    launches = any(point.source is not None and point.source.launch for point in framework.sync)
    if not kernels and not launches:
        return
    for call in walk(loop):
        if isinstance(call, cst.Call):
            launched = launches and isinstance(call.func, cst.Subscript)
            if launched or last_name(call.func) in kernels:
                yield flow.names(call)


def _asks_for_state(spot: Spot, needed: Sequence[cst.CSTNode]) -> bool:
    """Whether it is an attribute of something, which its methods may change: `network.state`."""
    parts = (part for each in needed for part in walk(each) if isinstance(part, cst.Attribute))
    return any(getattr(spot.code.parent(part), "func", None) is not part for part in parts)


def _needed(scene: Scene) -> list[Any]:
    """Return what the values depend on: of several arguments, those that are no shapes."""
    if scene.read is not None:
        return [scene.spot.node]
    return [part for part in scene.reads if not _asks_for_a_shape(part)]


def _asks_for_a_shape(node: cst.CSTNode) -> bool:
    return any(attribute(part) == "shape" for part in walk(node))


def _is_in_comprehension(spot: Spot) -> bool:
    return any(isinstance(part, COMPREHENSIONS) for part in _within_statement(spot))


def _within_statement(spot: Spot) -> Iterator[cst.CSTNode]:
    for parent in spot.code.outers(spot.node):
        if isinstance(parent, STATEMENTS):
            return
        yield parent


@predicate
def is_read_one_by_one(scene: Scene) -> bool:
    """It is an element, by a counter, of an array that the loop does not change."""
    loops = flow.loops_around(scene.spot.code, scene.spot.node)
    statement = condition_of(scene.spot)
    if isinstance(statement, cst.While):
        loops = [statement, *loops]
    if not loops:
        return False
    changed = flow.changed_in(loops[0]) | loop_targets(scene.spot)
    return any(
        isinstance(part, cst.Subscript) and _is_by_counter(part, changed)
        for each in scene.reads
        for part in walk(each)
    )


def _is_by_counter(node: cst.Subscript, changed: frozenset[str]) -> bool:
    """Whether it is an element of what does not change, by an index that does."""
    owner, at = name_of(node.value), index(node)
    if not owner or owner in changed or at is None or isinstance(at, cst.Tuple):
        return False
    return bool(flow.names(at) & changed)


@predicate
def is_asked_for_nan(scene: Scene) -> bool:
    """The condition asks for NaN or infinity."""
    statement = condition_of(scene.spot)
    return _asks_for_nan(statement.test if statement is not None else scene.spot.node)


@kept(OF_STATEMENTS)
def _asks_for_nan(asked: cst.CSTNode) -> bool:
    calls = (part for part in walk(asked) if isinstance(part, cst.Call))
    return any(_NAN(last_name(call.func)) for call in calls)


@predicate
def is_of_experts(scene: Scene) -> bool:
    """It stands in code that hands tokens to experts."""
    around = [scene.spot.statement]
    for parent in scene.spot.code.enclosing(scene.spot.node):
        if is_for(parent):
            around += (parent.target, parent.iter)
    return any(map(_names_experts, around))


@kept(OF_STATEMENTS)
def _names_experts(node: cst.CSTNode) -> bool:
    return any(map(_EXPERT, flow.names(node)))


@predicate
def is_in_a_loop_of_samples(scene: Scene) -> bool:
    """A loop or comprehension within the function repeats it, over images, sequences or layers.

    The rounds of a training loop are steps: the next batch is not there yet. Those of a `while`
    loop go on from what the one before left.
    """
    if _is_in_comprehension(scene.spot):
        return True
    loops = flow.loops_around(scene.spot.code, scene.spot.node)
    return bool(loops) and not isinstance(loops[0], cst.While) and not _trains(loops[0])


@kept(OF_SCOPES)
def _trains(loop: cst.CSTNode) -> bool:
    calls = (part for part in walk(loop) if isinstance(part, cst.Call))
    return any(_TRAINS(last_name(call.func)) for call in calls)


_TRAINS = family("advice.trains")


def loop_targets(spot: Spot) -> set[str]:
    loops = flow.loops_around(spot.code, spot.node)
    return {name for loop in loops if is_for(loop) for name in flow.named_in(loop.target)}


@predicate
def is_an_argument_alone(scene: Scene) -> bool:
    """An argument of its function is copied as it came."""
    read = scene.read
    while isinstance(read, (cst.Call, cst.Attribute)):
        read = read.func if isinstance(read, cst.Call) else read.value
    name = name_of(read)
    if name not in parameters(scene.spot.scope):
        return False
    before = scene.spot.body[: scene.spot.at]
    parts = (part for statement in before for part in walk(statement))
    return not any(
        name_of(target) == name
        for part in parts
        if not isinstance(part, cst.Del)
        for target in bound_by(part)
    )
