"""Predicates about what Python does with a value: it picks, loops, collects or decides by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from asyncguard.lint.advice.making import paired
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import Use, condition_of, last_name, loads, uses
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, dotted
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

_REDUCES, _CONVERSION = family("advice.reduces"), family("advice.is_a_conversion")
_COLLECTS = frozenset({"append", "extend", "insert", "add"})
MOST_VALUES, MOST_STATEMENTS = 6, 12  # of a name, and of a round, that are looked at
_KEEPS = frozenset({*_COLLECTS, "pop", "remove", "setdefault"})


@predicate
def picks_on_the_host(scene: Scene) -> bool:
    """Python needs the number itself: an index of a list, a key, a seed, how often to repeat."""
    return any(_picks(scene.spot, use) for use in uses(scene.spot))


def _picks(spot: Spot, use: Use) -> bool:
    if isinstance(use.parent, ast.Call):
        return use.called in ("manual_seed", "seed", "get")
    if isinstance(use.parent, ast.BinOp) and isinstance(use.parent.op, ast.Mult):
        return any(isinstance(side, ast.List) for side in (use.parent.left, use.parent.right))
    is_index = isinstance(use.parent, ast.Subscript) and use.parent.slice is use.child
    return is_index and _is_list(spot, use.parent.value)  # type: ignore[attr-defined]


def _is_list(spot: Spot, node: ast.expr) -> bool:
    """Whether every value of a name is a list or a dict that the function writes down."""
    made = flow.assignments(spot.scope, node.id) if isinstance(node, ast.Name) else []
    made = made[:MOST_VALUES]
    kinds = (ast.List, ast.ListComp, ast.Dict, ast.DictComp)
    return bool(made) and all(isinstance(value, kinds) for value in made)


@predicate
def is_a_fill_value(scene: Scene) -> bool:
    """It is what an array is filled with, as a number: `masked_fill(mask, x)`, `fill_value=x`."""
    node = scene.spot.node
    if isinstance(node, ast.Call) and last_name(node.func) in ("masked_fill", "masked_fill_"):
        return True
    return any(_fills(use) for use in uses(scene.spot))


def _fills(use: Use) -> bool:
    keyword = use.parent if isinstance(use.parent, ast.keyword) else use.child
    return isinstance(keyword, ast.keyword) and keyword.arg == "fill_value"


@predicate
def is_combined_with_an_array(scene: Scene) -> bool:
    """It is calculated with another array at once, which has as many elements."""
    return isinstance(scene.spot.code.parent(scene.spot.node), ast.BinOp)


@predicate
def is_collected(scene: Scene) -> bool:
    """It is added to a list, and the step does nothing else with it."""
    found = [use for use in uses(scene.spot) if isinstance(use.parent, ast.Call)]
    ends = [use for use in found if use.called and use.called not in _PLAIN]
    return bool(ends) and all(use.called in _COLLECTS for use in ends)


_PLAIN = frozenset({"list", "tuple", "float", "int", "str", "sum"})


@predicate
def is_used_at_once(scene: Scene) -> bool:
    """The step itself uses it on the host: it is handed to a function, or indexes something."""
    found = [*uses(scene.spot)]
    indexes = any(isinstance(u.parent, ast.Subscript) and u.parent.slice is u.child for u in found)
    return indexes or any(
        isinstance(use.parent, ast.Call) and use.called not in (_COLLECTS | _PLAIN | {""})
        for use in found
    )


@predicate
def is_given_back_to_the_framework(scene: Scene) -> bool:
    """A function of the framework takes the copy, which it could compute on the device."""
    spot, parent = scene.spot, scene.spot.code.parent(scene.spot.node)
    if not isinstance(parent, ast.Call) or spot.node not in parent.args:
        return False
    name = spot.code.meaning(parent.func)
    return name.startswith("torch.") and last_name(parent.func) not in _KEPT_ON_THE_HOST


_KEPT_ON_THE_HOST = frozenset({"save", "tensor", "as_tensor", "from_numpy", "is_tensor", "device"})


@predicate
def is_a_conversion(scene: Scene) -> bool:
    """Its function is there to bring values to the host, as its name says."""
    scope = scene.spot.scope
    return isinstance(scope, FUNCTIONS) and bool(_CONVERSION(scope.name))


@predicate
def is_asked_by_the_loop(scene: Scene) -> bool:
    """The condition of the loop around has asked for it, and nothing has changed it since."""
    spot, read = scene.spot, scene.spot.node
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    if not isinstance(read, ast.Name) or not isinstance(loop, ast.While):
        return False
    if read.id not in flow.names(loop.test) or read in flow.parts(loop.test):
        return False
    return not any(
        isinstance(part, ast.Name)
        and part.id == read.id
        and not isinstance(part.ctx, ast.Load)
        and part.lineno < read.lineno
        for part in flow.walk_own(loop)
    )


@predicate
def decides_on_host_work(scene: Scene) -> bool:
    """What it decides on is more than arithmetic: lists that grow, sizes, a part of a model."""
    decided = [*_decided(scene.spot)]
    is_loss = any(isinstance(x, ast.Call) and _REDUCES(last_name(x.func)) for x in decided)
    return any(
        _collects_on_the_host(scene.spot, part) or (not is_loss and _runs_a_part(part))
        for part in decided
    )


def _decided(spot: Spot) -> Iterator[ast.AST]:
    """Yield the code that runs by the condition: its branches, or the round that it leaves out.

    Nothing where it only returns something else.
    """
    statement = condition_of(spot)
    if not isinstance(statement, ast.If) or isinstance(statement.body[0], ast.Return):
        return
    decided = [*statement.body, *statement.orelse]
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    if isinstance(statement.body[-1], ast.Continue) and loop is not None:
        later = [part for part in loop.body if (part.end_lineno or 0) > statement.lineno]
        decided += later[:MOST_STATEMENTS]
    for part in decided:
        yield from parsed.walk(part)


def _collects_on_the_host(spot: Spot, node: ast.AST) -> bool:
    """Whether a list or a dict of Python changes, that is not stacked on the device in the end."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.value, ast.List | ast.ListComp)
    if not isinstance(node, ast.Call) or last_name(node.func) not in _KEEPS:
        return False
    return not _is_stacked(spot, flow.root(node.func))


def _runs_a_part(node: ast.AST) -> bool:
    """Whether a method of `self` is called: a part of a model, or what runs one."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    return name.startswith("self.") and name.count(".") == 1


def _is_stacked(spot: Spot, name: str) -> bool:
    """Whether a list of tensors is put together on the device in the end."""
    calls = (spot.code.parent(load) for load in loads(spot.scope).get(name, ()))
    return any(isinstance(x, ast.Call) and last_name(x.func) in ("stack", "cat") for x in calls)


@predicate
def is_taken_from_an_array(scene: Scene) -> bool:
    """A loop goes over an array, and Python reads its elements one after the other."""
    spot = scene.spot
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    read = scene.read.left if isinstance(scene.read, ast.Compare) else scene.read
    if not isinstance(loop, ast.For) or not _is_plain(read):
        return False
    made = _made_in(spot, loop, flow.names(read))
    return any(
        isinstance(target, ast.Name) and target.id in made and _is_array(source)
        for target, source in paired(loop.target, _iterated(spot, loop.iter))
    )


def _iterated(spot: Spot, node: ast.expr) -> ast.expr:
    """Return what a loop goes over: `zip(a, b)` of `steps = list(zip(a, b))`."""
    made = flow.assignments(spot.scope, node.id) if isinstance(node, ast.Name) else []
    call = made[0] if len(made) == 1 else None
    if isinstance(call, ast.Call) and dotted(call.func) in ("list", "tuple") and call.args:
        return call.args[0]
    return node


def _made_in(spot: Spot, loop: ast.For, names: set[str]) -> set[str]:
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
def _calculated_of(value: ast.expr) -> frozenset[str]:
    """Return the names of a calculation with numbers; none of anything else."""
    is_calculated = isinstance(value, ast.BinOp | ast.UnaryOp | ast.Name | ast.Call | ast.Subscript)
    return frozenset(flow.names(value)) if is_calculated and _is_plain(value) else frozenset()


def _is_plain(node: ast.AST) -> bool:
    """Whether an expression only calculates with numbers: no call but `min`, `int` and the like."""
    calls = (part for part in parsed.walk(node) if isinstance(part, ast.Call))
    return all(dotted(call.func) in ("int", "float", "min", "max", "abs") for call in calls)


def _is_array(source: ast.expr) -> bool:
    """Whether a loop goes over a name that holds lengths, ids or the like, or a slice of one."""
    sliced = isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Slice)
    name = source.value if sliced else source  # type: ignore[attr-defined]
    return isinstance(name, ast.Name) and (sliced or bool(_ARRAYS(name.id)))


_ARRAYS = family("advice.holds_numbers")
