"""Predicates about what is uploaded: what made it, and whether it stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import libcst as cst

from asyncguard.lint.advice.making import made_of, parameters, sources_of
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import last_name, loads, place
from asyncguard.lint.advice.where_from import loop_targets
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.families.uploads import pinned_loader
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.refills import is_refilled
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import table, words
from asyncguard.lint.names import family, is_in_place
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Scope,
    body,
    elements,
    is_constant,
    keyword,
    method,
    name_of,
    positional,
    root,
    targets,
    walk,
)
from asyncguard.lint.syntax.tree import dotted

_FORWARD = family("advice.runs_a_model")
_HOST_MADE, _OF_ARRAY = family("advice.made_on_host"), family("advice.made_of_array")
_OF_LIST, _TENSOR_ONLY = family("advice.made_of_list"), family("advice.gives_tensors")
_TAKES_NUMBERS = family("advice.takes_numbers")
_CONVERTS = family("advice.converts")
_REDUCING = table("kind.reducing")
_TAKES = frozenset({"next", "iter", "zip", "enumerate"})  # they give what was made elsewhere
MOST_ELEMENTS = 8  # of a list that are looked at
_STACKS = frozenset({"stack", "cat", "concat", "concatenate", "vstack", "hstack"})


@predicate
def has_a_pinned_loader(scene: Scene) -> bool:
    """Its batches come from a loader in view that pins them."""
    node = scene.spot.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    moved = node.func.value
    parts = sources_of(scene.spot.scope, root(moved))
    return any(pinned_loader(scene.spot, value) for value in (moved, *parts))


@predicate
def is_filled_anew(scene: Scene) -> bool:
    """It is moved from memory that is written to before a copy that does not wait is over."""
    node = scene.spot.node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    into = is_in_place(method(node))  # `y.copy_(x)`
    values = positional(node)[:1] if into else [node.func.value, node]
    return any(is_refilled(scene.spot, value) for value in values)


@predicate
def is_moved_by_a_loop(scene: Scene) -> bool:
    """A loop over batches moves each of them."""
    moved = loop_targets(scene.spot)
    return any(flow.names(part) & moved for part in scene.reads)


@predicate
def is_in_a_model(scene: Scene) -> bool:
    """It stands in a class that runs a model or a part of one."""
    inside = scene.spot.code.around(scene.spot.node, cst.ClassDef)
    methods = body(inside) if inside is not None else []
    return any(isinstance(x, cst.FunctionDef) and _FORWARD(x.name.value) for x in methods)


@predicate
def is_made_by_a_factory(scene: Scene) -> bool:
    """A factory has just made it in host memory: `torch.arange(n).to(device)`.

    Not of a list, which is uploaded wherever the tensor is made.
    """
    return _factory(scene) is not None and _listed(scene) is None and not _is_filled(scene)


def _is_filled(scene: Scene) -> bool:
    """Whether a loop writes what it computes into it before it is moved: row by row."""
    spot, code = scene.spot, scene.spot.code
    line, depth = _filled(code, spot.scope).get(root(scene.read), (0, 0))
    here = len(flow.loops_around(code, spot.node))
    return 0 < line < code.line(spot.node) and depth > here


@kept(OF_SCOPES)
def _filled(code: Code, scope: Scope) -> dict[str, tuple[int, int]]:
    """Return the first line that writes parts of a name, and how many loops are around it."""
    found: dict[str, tuple[int, int]] = {}
    for node in flow.walk_own(scope):
        if not isinstance(node, cst.Assign) or is_constant(node.value):
            continue
        for target in targets(node):
            if isinstance(target, cst.Subscript):
                written = code.line(node), len(flow.loops_around(code, node))
                name = root(target)
                found[name] = min(found.get(name, written), written)
    return found


@predicate
def is_made_of_an_array(scene: Scene) -> bool:
    """It was a NumPy array: `torch.from_numpy(x)`."""
    made = _factory(scene)
    return (made is not None and _OF_ARRAY(last_name(made.func))) or _is_of_numpy(scene)


def _is_of_numpy(scene: Scene) -> bool:
    """Whether a name that NumPy made is uploaded: `torch.as_tensor(x, device=d)`."""
    read, code = scene.read, scene.spot.code
    name = name_of(read)
    if name and _is_asked_for_an_array(scene.spot, name):
        return True
    made = _latest(scene.spot, name) if name else read
    return isinstance(made, cst.Call) and code.meaning(made.func).startswith("numpy.")


def _is_asked_for_an_array(spot: Spot, name: str) -> bool:
    """Whether the branch around asks for it: `if isinstance(x, np.ndarray)`."""
    child: cst.CSTNode = spot.node
    for parent in spot.code.outers(spot.node):
        if isinstance(parent, cst.If) and child in body(parent):
            asked = parent.test
            given = positional(asked) if isinstance(asked, cst.Call) else []
            is_question = bool(given) and dotted(asked.func) == "isinstance"  # type: ignore[attr-defined]
            if is_question and spot.code.meaning(given[-1]) == "numpy.ndarray":
                return root(given[0]) == name
        child = parent
    return False


def _factory(scene: Scene) -> cst.Call | None:
    made = (_made_by(scene, part) for part in scene.reads)
    return next((found for found in made if found is not None), None)


def _made_by(scene: Scene, value: Any) -> cst.Call | None:
    code = scene.spot.code
    seen: set[str] = set()
    while isinstance(value, _FOLLOWED):
        match value:
            case cst.Call(func=function):
                given, is_torch = positional(value), code.meaning(function).startswith("torch.")
                if keyword(value, "device") is not None or last_name(function) in _MOVES:
                    return None
                if is_torch and _HOST_MADE(last_name(function)):
                    return value
                value = given[0] if is_torch and given else function
            case cst.Name(value=name):
                made = _latest(scene.spot, name)
                if made is None or name in seen:
                    return None
                seen.add(name)
                value = made
            case cst.BinaryOperation(left=left) | cst.Comparison(left=left):
                value = left
            case cst.UnaryOperation(expression=operand):
                value = operand
            case _:
                value = value.value
    return None


_MOVES = words("advice.moves_to_host")
_FOLLOWED = (cst.Call, cst.Attribute, cst.Subscript, cst.Name, cst.BinaryOperation,
             cst.Comparison, cst.UnaryOperation)  # fmt: skip


def _latest(spot: Spot, name: str) -> cst.CSTNode | None:
    """Return what a name was assigned last before the finding, in its block; or the one thing."""
    for statement in reversed(spot.body[: spot.at]):
        bound = targets(statement) if isinstance(statement, cst.Assign) else []
        if any(name in flow.named_in(target) for target in bound):
            return statement.value if isinstance(bound[0], cst.Name) else None
    made = flow.assignments(spot.scope, name)
    return made[0] if len(made) == 1 else None


@predicate
def is_a_list_made_in_place(scene: Scene) -> bool:
    """It uploads a list or a number that Python has just made."""
    return _listed(scene) is not None


def _listed(scene: Scene) -> cst.CSTNode | None:
    """Return `x` of `torch.tensor(x)` that is uploaded there, or by a move of the tensor."""
    value: cst.CSTNode | None = scene.spot.node
    if not makes_of_list(value):
        value = scene.read
        if name := name_of(value):
            value = _latest(scene.spot, name)
        while isinstance(value, (cst.Call, cst.Subscript)) and not makes_of_list(value):
            value = _handed_on(value)
    return next(iter(positional(value)), None) if isinstance(value, cst.Call) else None


def makes_of_list(node: cst.CSTNode | None) -> bool:
    """Whether this is `torch.tensor(x)` or the like."""
    return isinstance(node, cst.Call) and _OF_LIST(last_name(node.func))


def _handed_on(node: cst.Call | cst.Subscript) -> cst.CSTNode | None:
    """Return `x` of `x.reshape(3)` and `x[None]`."""
    if isinstance(node, cst.Subscript):
        return node.value
    moved = node.func
    return moved.value if isinstance(moved, cst.Attribute) and _CONVERTS(method(node)) else None


@predicate
def is_a_constant(scene: Scene) -> bool:
    """It is made of literals, and of names in capitals that the module has."""
    given, spot = _listed(scene), scene.spot
    return all(
        isinstance(part, _LITERAL) or is_constant(part) or _is_of_module(spot, name_of(part))
        for each in (scene.reads if given is None else [given])
        for part in walk(each)
    )


def _is_of_module(spot: Spot, name: str) -> bool:
    """Whether a name in capitals is one that the module has, and not of the function."""
    own = name in parameters(spot.scope) or name in flow.bound(spot.scope)
    return name.isupper() and len(name) > 1 and not own


_LITERAL = (cst.List, cst.Tuple, cst.Element, cst.UnaryOperation, cst.BaseUnaryOp)


@predicate
def is_a_list_of_a_range(scene: Scene) -> bool:
    """It uploads `list(range(n))`."""
    given = _listed(scene)
    inner = positional(given)[:1] if isinstance(given, cst.Call) else []
    calls = [part.func for part in (given, *inner) if isinstance(part, cst.Call)]
    return bool(calls) and dotted(calls[-1]) == "range"


@predicate
def is_a_list_of_device_values(scene: Scene) -> bool:
    """The list that it makes a tensor of holds tensors: `torch.tensor([x.sum(), y.sum()])`."""
    given = _listed(scene)
    found = islice(_elements(scene.spot, given), MOST_ELEMENTS)
    return any(_is_scalar(scene.spot, part) for part in found)


def _elements(spot: Spot, given: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Yield what a list holds: as it is written, or as a name collects it."""
    if isinstance(given, LISTS):
        yield from elements(given)
    elif isinstance(given, cst.ListComp):
        yield given.elt
    elif name := name_of(given):
        for value in flow.assignments(spot.scope, name):
            if not name_of(value):
                yield from _elements(spot, value)
        yield from _appended(spot.code, spot.scope).get(name, ())


@kept(OF_SCOPES)
def _appended(code: Code, scope: Scope) -> dict[str, list[cst.CSTNode]]:
    """Return what is appended to each name."""
    found: dict[str, list[cst.CSTNode]] = {}
    for name, each in loads(scope).items():
        for load in each:
            call = place(code, place(code, load) or load)
            if isinstance(call, cst.Call) and last_name(call.func) == "append":
                found.setdefault(name, []).extend(positional(call))
    return found


def _is_scalar(spot: Spot, node: cst.CSTNode) -> bool:
    """Whether an element is evidently a tensor: a reduction, or all or a part of what one gave."""
    if isinstance(node, cst.BinaryOperation):
        return _is_scalar(spot, node.left) or _is_scalar(spot, node.right)
    if name := name_of(node.value if isinstance(node, cst.Subscript) else node):
        made = map(method, flow.assignments(spot.scope, name))
        return any(bool(called) and _TENSOR_ONLY(called) for called in made)
    if not isinstance(node, cst.Call) or positional(node):
        return False
    return method(node) in _REDUCING and not _is_of(spot, node.func, "numpy.")


def _is_of(spot: Spot, node: cst.CSTNode, library: str) -> bool:
    """Whether a name is made by a function of a library."""
    made = flow.assignments(spot.scope, root(node))
    return any(
        isinstance(value, cst.Call) and spot.code.meaning(value.func).startswith(library)
        for value in made
    )


@predicate
def is_a_number_for_an_operation(scene: Scene) -> bool:
    """A tensor of one number is given to an operation that takes the number: `where(m, x, t)`."""
    given, node = _listed(scene), scene.spot.node
    if not isinstance(given, _NUMBERS) and not is_constant(given):
        return False
    call = scene.spot.code.outer(node)
    if not isinstance(call, cst.Call) or node not in positional(call):
        return False
    return _TAKES_NUMBERS(last_name(call.func))


_NUMBERS = (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute)


@predicate
def is_moved_for_a_stack(scene: Scene) -> bool:
    """Each element is moved, and they are stacked then: `stack([x.to(d) for x in xs])`."""
    comprehension = scene.spot.code.parent(scene.spot.node)
    if not isinstance(comprehension, (cst.ListComp, cst.GeneratorExp)):
        return False
    call = place(scene.spot.code, comprehension)
    return isinstance(call, cst.Call) and last_name(call.func) in _STACKS


@predicate
def is_used_as_an_index(scene: Scene) -> bool:
    """It is an index that is uploaded: `x[[0, 2]]`."""
    return isinstance(scene.spot.node, cst.Subscript)


@predicate
def is_an_argument(scene: Scene) -> bool:
    """It is moved to the device, and made of arguments of its function."""
    made = made_of(scene.spot, scene.reads)
    return made.inputs or made.others


@predicate
def is_computed_here(scene: Scene) -> bool:
    """Its function has made it: by a call on the spot, or before, under a name."""
    spot, read = scene.spot, scene.read
    while isinstance(read, cst.Call) and isinstance(read.func, cst.Attribute):
        if dotted(read.func).partition(".")[0] in {"self", *spot.code.may_import}:
            return True
        read = read.func.value
    if isinstance(read, (cst.BinaryOperation, cst.Comparison, cst.UnaryOperation)):
        return True
    name = name_of(read)
    if not name:
        return isinstance(read, cst.Call)
    if name in parameters(spot.scope):
        latest = _latest(spot, name)
        return isinstance(latest, cst.Call) and root(latest) != name
    sources = sources_of(spot.scope, name)
    if any(isinstance(x, cst.Call) and dotted(x.func) not in _TAKES for x in sources):
        return True
    return any(value is not None for value in flow.assignments(spot.scope, name))
