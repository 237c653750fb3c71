"""Predicates about what the value is made of that a finding reads or uploads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from asyncguard.lint.advice.making import Made, made_of, parameters, sources_of
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import condition_of, last_name
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, dotted
from asyncguard.lint.fixes.families.uploads import pinned_loader
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
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
def is_a_constant(scene: Scene) -> bool:
    """It is made of literals."""
    node = scene.read
    parts = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.expr_context, ast.unaryop)
    return all(isinstance(part, parts) for part in parsed.walk(node))


@predicate
def is_invariant_in_its_loop(scene: Scene) -> bool:
    """Nothing that it is made of changes in the innermost loop around it."""
    spot = scene.spot
    around = flow.loops_around(spot.code, spot.node)
    inside = (x for x in around if not isinstance(x, ast.For) or not _is_part(spot.node, x.iter))
    loop = next(inside, None)
    if loop is None or not isinstance(loop, ast.For) or _is_in_comprehension(spot):
        return False
    needed = flow.names(spot.node) - set(spot.code.imports)
    return bool(needed) and not needed & flow.changed_in(loop) and not _made(scene).computed


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
    changed = flow.changed_in(loops[0]) | _loop_targets(scene.spot)
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
    asked = statement.test if statement is not None else scene.spot.node
    return any(
        isinstance(part, ast.Call) and _NAN(last_name(part.func)) for part in parsed.walk(asked)
    )


@predicate
def is_of_experts(scene: Scene) -> bool:
    """It stands in code that hands tokens to experts."""
    names = flow.names(scene.spot.statement)
    for parent in scene.spot.code.parents(scene.spot.node):
        if isinstance(parent, ast.For):
            names |= flow.names(parent.target) | flow.names(parent.iter)
    return any(map(_EXPERT, names))


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


# ---- uploads

_TRAINS = family("advice.trains")
_HOST_MADE, _OF_ARRAY = family("advice.made_on_host"), family("advice.made_of_array")
_OF_LIST = family("advice.made_of_list")


@predicate
def has_a_pinned_loader(scene: Scene) -> bool:
    """Its batches come from a loader in view that pins them."""
    node = scene.spot.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    moved = node.func.value
    parts = sources_of(scene.spot.scope, flow.root(moved))
    return any(pinned_loader(scene.spot, value) for value in (moved, *parts))


@predicate
def is_moved_by_a_loop(scene: Scene) -> bool:
    """A loop over batches moves each of them."""
    return bool(flow.loops_around(scene.spot.code, scene.spot.node)) and bool(
        flow.names(scene.read) & _loop_targets(scene.spot)
    )


def _loop_targets(spot: Spot) -> set[str]:
    loops = flow.loops_around(spot.code, spot.node)
    return {name for loop in loops if isinstance(loop, ast.For) for name in flow.bound(loop.target)}


@predicate
def is_in_a_model(scene: Scene) -> bool:
    """It stands in a class that runs a model or a part of one."""
    inside = scene.spot.code.around(scene.spot.node, ast.ClassDef)
    methods = inside.body if inside is not None else []
    return any(isinstance(part, FUNCTIONS) and _FORWARD(part.name) for part in methods)


@predicate
def is_made_by_a_factory(scene: Scene) -> bool:
    """A factory has just made it in host memory: `torch.arange(n).to(device)`."""
    return _factory(scene) is not None


@predicate
def is_made_of_an_array(scene: Scene) -> bool:
    """It was a NumPy array: `torch.from_numpy(x)`."""
    made = _factory(scene)
    return (made is not None and _OF_ARRAY(last_name(made.func))) or _is_of_numpy(scene)


def _is_of_numpy(scene: Scene) -> bool:
    """Whether a name that NumPy made is uploaded: `torch.as_tensor(x, device=d)`."""
    read, code = scene.read, scene.spot.code
    made = _latest(scene.spot, read.id) if isinstance(read, ast.Name) else read
    return isinstance(made, ast.Call) and code.meaning(made.func).startswith("numpy.")


def _factory(scene: Scene) -> ast.Call | None:
    read = scene.read
    for part in read.elts if isinstance(read, ast.Tuple) else [read]:
        if (found := _made_by(scene, part)) is not None:
            return found
    return None


def _made_by(scene: Scene, value: ast.expr) -> ast.Call | None:
    code = scene.spot.code
    seen: set[str] = set()
    while isinstance(value, _FOLLOWED):
        if isinstance(value, ast.Call):
            is_torch = code.meaning(value.func).startswith("torch.")
            placed = any(option.arg == "device" for option in value.keywords)
            if placed or last_name(value.func) in _MOVES:
                return None
            if is_torch and _HOST_MADE(last_name(value.func)):
                return value
            value = value.args[0] if is_torch and value.args else value.func
        elif isinstance(value, ast.Name):
            made = _latest(scene.spot, value.id)
            if made is None or value.id in seen:
                return None
            seen.add(value.id)
            value = made
        elif isinstance(value, ast.BinOp | ast.Compare):
            value = value.left
        elif isinstance(value, ast.UnaryOp):
            value = value.operand
        else:
            value = value.value
    return None


_MOVES = words("advice.moves_to_host")
_FOLLOWED = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.BinOp, ast.Compare, ast.UnaryOp)


def _latest(spot: Spot, name: str) -> ast.expr | None:
    """Return what a name was assigned last before the finding, in its block; or the one thing."""
    for statement in reversed(spot.body[: spot.at]):
        if isinstance(statement, ast.Assign) and name in {
            n for target in statement.targets for n in flow.bound(target)
        }:
            return statement.value if isinstance(statement.targets[0], ast.Name) else None
    made = flow.assignments(spot.scope, name)
    return made[0] if len(made) == 1 else None


@predicate
def is_a_list_made_in_place(scene: Scene) -> bool:
    """It uploads a list or a number that Python has just made."""
    node = scene.spot.node
    return isinstance(node, ast.Call) and _OF_LIST(last_name(node.func))


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


@predicate
def is_an_argument(scene: Scene) -> bool:
    """It is moved to the device, and made of arguments of its function."""
    made = _made(scene)
    return made.inputs or made.others


@predicate
def is_computed_here(scene: Scene) -> bool:
    """Its function has made it: by a call on the spot, or before, under a name."""
    code, read = scene.spot.code, scene.read
    while isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute):
        if dotted(read.func).partition(".")[0] in {"self", *code.imports}:
            return True
        read = read.func.value
    if not isinstance(read, ast.Name):
        return isinstance(read, ast.Call)
    made = flow.assignments(scene.spot.scope, read.id)
    given = read.id in parameters(scene.spot.scope)
    return not given and any(value is not None for value in made)
