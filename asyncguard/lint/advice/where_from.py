"""Predicates about what the value is made of that a finding reads or uploads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from asyncguard.lint.advice.making import Made, collected_in, computes, handed, made_of, parameters
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import condition_of, last_name
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

# ---- where the value comes from

_EXPERT, _NAN = family("advice.expert"), family("advice.nan")
_FORWARD, _GENERATES = family("advice.runs_a_model"), family("advice.generates")


def _made(scene: Scene) -> Made:
    return made_of(scene.spot, scene.read)


@predicate
def is_made_of_inputs(scene: Scene) -> bool:
    """It is made of a function's parameters alone that hold what a program prepares on the host."""
    made = _made(scene)
    return made.inputs and not (made.others or made.computed) and not _is_generated(scene.spot)


def _is_generated(spot: Spot) -> bool:
    """Whether the ids that a function is given are what a model has generated so far."""
    around = [spot.scope, spot.code.around(spot.scope, ast.ClassDef)]
    names = [part.name for part in around if isinstance(part, (*FUNCTIONS, ast.ClassDef))]
    return any(map(_GENERATES, [*names, *parameters(spot.scope)]))


@predicate
def is_made_of_attributes(scene: Scene) -> bool:
    """It is made of attributes of `self` alone, and of constants."""
    made = _made(scene)
    return made.fixed and not any(made._replace(fixed=False))


@predicate
def is_an_element_of_an_attribute(scene: Scene) -> bool:
    """It is an element, compared maybe, of an array that `self` holds and no step changes."""
    read = scene.read.left if isinstance(scene.read, ast.Compare) else scene.read
    if not isinstance(read, ast.Subscript) or not isinstance(read.value, ast.Attribute):
        return False
    if any(isinstance(part, ast.Slice) for part in parsed.walk(read.slice)):
        return False
    made = made_of(scene.spot, read.value)
    return made.fixed and not any(made._replace(fixed=False))


@predicate
def is_invariant_in_its_loop(scene: Scene) -> bool:
    """Nothing that it is made of changes in the innermost loop around it."""
    spot = scene.spot
    around = flow.loops_around(spot.code, spot.node)
    inside = (x for x in around if not isinstance(x, ast.For) or not _is_part(spot.node, x.iter))
    loop = next(inside, None)
    if loop is None or not isinstance(loop, ast.For) or _is_in_comprehension(spot):
        return False
    needed = flow.names(_needed(scene)) - set(spot.code.imports)
    changed = flow.changed_in(loop) | collected_in(loop) | handed(spot.scope)
    if not needed or needed & changed or computes(spot, scene.read):
        return False
    return not _asks_for_state(scene) or not _made(scene).computed


def _asks_for_state(scene: Scene) -> bool:
    """Whether it is an attribute of something, which its methods may change: `network.state`."""
    code = scene.spot.code
    parts = (part for part in parsed.walk(_needed(scene)) if isinstance(part, ast.Attribute))
    return any(getattr(code.parent(part), "func", None) is not part for part in parts)


def _needed(scene: Scene) -> ast.AST:
    """Return what the values depend on: of several arguments, those that are no shapes."""
    read = scene.read
    if not isinstance(read, ast.Tuple):
        return scene.spot.node
    values = [part for part in read.elts if not _asks_for_a_shape(part)]
    return ast.Tuple(values, ast.Load())


def _asks_for_a_shape(node: ast.AST) -> bool:
    return any(getattr(part, "attr", "") == "shape" for part in parsed.walk(node))


def _is_part(node: ast.AST, of: ast.AST) -> bool:
    return any(part is node for part in parsed.walk(of))


def _is_in_comprehension(spot: Spot) -> bool:
    return any(isinstance(p, flow.COMPREHENSIONS) for p in _within_statement(spot))


def _within_statement(spot: Spot) -> Iterator[ast.AST]:
    for parent in spot.code.parents(spot.node):
        if isinstance(parent, ast.stmt):
            return
        yield parent


@predicate
def is_read_one_by_one(scene: Scene) -> bool:
    """It is an element, by a counter, of an array that the loop does not change."""
    loops = flow.loops_around(scene.spot.code, scene.spot.node)
    statement = condition_of(scene.spot)
    if isinstance(statement, ast.While):
        loops = [statement, *loops]
    if not loops:
        return False
    changed = flow.changed_in(loops[0]) | loop_targets(scene.spot)
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.value, ast.Name)
        and part.value.id not in changed
        and not isinstance(part.slice, ast.Slice | ast.Tuple)
        and bool(flow.names(part.slice) & changed)
        for part in parsed.walk(scene.read)
    )


@predicate
def is_asked_for_nan(scene: Scene) -> bool:
    """The condition asks for NaN or infinity."""
    statement = condition_of(scene.spot)
    return _asks_for_nan(statement.test if statement is not None else scene.spot.node)


@kept(OF_STATEMENTS)
def _asks_for_nan(asked: ast.AST) -> bool:
    calls = (part for part in parsed.walk(asked) if isinstance(part, ast.Call))
    return any(_NAN(last_name(call.func)) for call in calls)


@predicate
def is_of_experts(scene: Scene) -> bool:
    """It stands in code that hands tokens to experts."""
    around: list[ast.AST] = [scene.spot.statement]
    for parent in scene.spot.code.parents(scene.spot.node):
        if isinstance(parent, ast.For):
            around += (parent.target, parent.iter)
    return any(map(_names_experts, around))


@kept(OF_STATEMENTS)
def _names_experts(node: ast.AST) -> bool:
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
    return bool(loops) and not isinstance(loops[0], ast.While) and not _trains(loops[0])


@kept(OF_SCOPES)
def _trains(loop: ast.AST) -> bool:
    calls = (part for part in parsed.walk(loop) if isinstance(part, ast.Call))
    return any(_TRAINS(last_name(call.func)) for call in calls)


_TRAINS = family("advice.trains")


def loop_targets(spot: Spot) -> set[str]:
    loops = flow.loops_around(spot.code, spot.node)
    return {name for loop in loops if isinstance(loop, ast.For) for name in flow.bound(loop.target)}


@predicate
def is_an_argument_alone(scene: Scene) -> bool:
    """An argument of its function is copied as it came."""
    read: ast.AST = scene.read
    while isinstance(read, ast.Call | ast.Attribute):
        read = read.func if isinstance(read, ast.Call) else read.value
    if not isinstance(read, ast.Name) or read.id not in parameters(scene.spot.scope):
        return False
    before = scene.spot.body[: scene.spot.at]
    stores = (part for statement in before for part in parsed.walk(statement))
    return not any(
        isinstance(part, ast.Name) and part.id == read.id and isinstance(part.ctx, ast.Store)
        for part in stores
    )
