"""Predicates about what is uploaded: what made it, and whether it stays the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from asyncguard.lint.advice.making import made_of, parameters, sources_of
from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import last_name, loads
from asyncguard.lint.advice.where_from import loop_targets
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope, dotted
from asyncguard.lint.fixes.families.uploads import pinned_loader
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import table, words
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

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
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    moved = node.func.value
    parts = sources_of(scene.spot.scope, flow.root(moved))
    return any(pinned_loader(scene.spot, value) for value in (moved, *parts))


@predicate
def is_moved_by_a_loop(scene: Scene) -> bool:
    """A loop over batches moves each of them."""
    return bool(flow.loops_around(scene.spot.code, scene.spot.node)) and bool(
        flow.names(scene.read) & loop_targets(scene.spot)
    )


@predicate
def is_in_a_model(scene: Scene) -> bool:
    """It stands in a class that runs a model or a part of one."""
    inside = scene.spot.code.around(scene.spot.node, ast.ClassDef)
    methods = inside.body if inside is not None else []
    return any(isinstance(part, FUNCTIONS) and _FORWARD(part.name) for part in methods)


@predicate
def is_made_by_a_factory(scene: Scene) -> bool:
    """A factory has just made it in host memory: `torch.arange(n).to(device)`.

    Not of a list, which is uploaded wherever the tensor is made.
    """
    return _factory(scene) is not None and _listed(scene) is None and not _is_filled(scene)


def _is_filled(scene: Scene) -> bool:
    """Whether a loop writes what it computes into it before it is moved: row by row."""
    spot = scene.spot
    line, depth = _filled(spot.code, spot.scope).get(flow.root(scene.read), (0, 0))
    here = len(flow.loops_around(spot.code, spot.node))
    return 0 < line < spot.node.lineno and depth > here


@kept(OF_SCOPES)
def _filled(code: Code, scope: Scope) -> dict[str, tuple[int, int]]:
    """Return the first line that writes parts of a name, and how many loops are around it."""
    found: dict[str, tuple[int, int]] = {}
    for node in flow.walk_own(scope):
        if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Constant):
            continue
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                place = node.lineno, len(flow.loops_around(code, node))
                name = flow.root(target)
                found[name] = min(found.get(name, place), place)
    return found


@predicate
def is_made_of_an_array(scene: Scene) -> bool:
    """It was a NumPy array: `torch.from_numpy(x)`."""
    made = _factory(scene)
    return (made is not None and _OF_ARRAY(last_name(made.func))) or _is_of_numpy(scene)


def _is_of_numpy(scene: Scene) -> bool:
    """Whether a name that NumPy made is uploaded: `torch.as_tensor(x, device=d)`."""
    read, code = scene.read, scene.spot.code
    if isinstance(read, ast.Name) and _is_asked_for_an_array(scene.spot, read.id):
        return True
    made = _latest(scene.spot, read.id) if isinstance(read, ast.Name) else read
    return isinstance(made, ast.Call) and code.meaning(made.func).startswith("numpy.")


def _is_asked_for_an_array(spot: Spot, name: str) -> bool:
    """Whether the branch around asks for it: `if isinstance(x, np.ndarray)`."""
    child: ast.AST = spot.node
    for parent in spot.code.parents(spot.node):
        if isinstance(parent, ast.If) and child in parent.body:
            asked = parent.test
            is_question = isinstance(asked, ast.Call) and dotted(asked.func) == "isinstance"
            if is_question and spot.code.meaning(asked.args[-1]) == "numpy.ndarray":  # type: ignore[attr-defined]
                return flow.root(asked.args[0]) == name  # type: ignore[attr-defined]
        child = parent
    return False


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
    return _listed(scene) is not None


def _listed(scene: Scene) -> ast.expr | None:
    """Return `x` of `torch.tensor(x)` that is uploaded there, or by a move of the tensor."""
    value: ast.expr | None = scene.spot.node
    if not makes_of_list(value):
        value = scene.read
        if isinstance(value, ast.Name):
            value = _latest(scene.spot, value.id)
        while isinstance(value, ast.Call | ast.Subscript) and not makes_of_list(value):
            value = _handed_on(value)
    return value.args[0] if isinstance(value, ast.Call) and value.args else None


def makes_of_list(node: ast.expr | None) -> bool:
    """Whether this is `torch.tensor(x)` or the like."""
    return isinstance(node, ast.Call) and bool(_OF_LIST(last_name(node.func)))


def _handed_on(node: ast.Call | ast.Subscript) -> ast.expr | None:
    """Return `x` of `x.reshape(3)` and `x[None]`."""
    if isinstance(node, ast.Subscript):
        return node.value
    method = node.func
    return method.value if isinstance(method, ast.Attribute) and _CONVERTS(method.attr) else None


@predicate
def is_a_constant(scene: Scene) -> bool:
    """It is made of literals, and of names in capitals that the module has."""
    given, spot = _listed(scene), scene.spot
    return all(
        isinstance(part, _LITERAL) or (isinstance(part, ast.Name) and _is_of_module(spot, part.id))
        for part in parsed.walk(scene.read if given is None else given)
    )


def _is_of_module(spot: Spot, name: str) -> bool:
    """Whether a name in capitals is one that the module has, and not of the function."""
    own = name in parameters(spot.scope) or name in flow.bound(spot.scope)
    return name.isupper() and len(name) > 1 and not own


_LITERAL = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.expr_context, ast.unaryop)


@predicate
def is_a_list_of_a_range(scene: Scene) -> bool:
    """It uploads `list(range(n))`."""
    given = _listed(scene)
    inner = given.args[0] if isinstance(given, ast.Call) and given.args else None
    calls = [part.func for part in (given, inner) if isinstance(part, ast.Call)]
    return bool(calls) and dotted(calls[-1]) == "range"


@predicate
def is_a_list_of_device_values(scene: Scene) -> bool:
    """The list that it makes a tensor of holds tensors: `torch.tensor([x.sum(), y.sum()])`."""
    given = _listed(scene)
    found = islice(_elements(scene.spot, given), MOST_ELEMENTS)
    return any(_is_scalar(scene.spot, part) for part in found)


def _elements(spot: Spot, given: ast.expr | None) -> Iterator[ast.expr]:
    """Yield what a list holds: as it is written, or as a name collects it."""
    if isinstance(given, ast.List | ast.Tuple):
        yield from given.elts
    elif isinstance(given, ast.ListComp):
        yield given.elt
    elif isinstance(given, ast.Name):
        for value in flow.assignments(spot.scope, given.id):
            if not isinstance(value, ast.Name):
                yield from _elements(spot, value)
        yield from _appended(spot.code, spot.scope).get(given.id, ())


@kept(OF_SCOPES)
def _appended(code: Code, scope: Scope) -> dict[str, list[ast.expr]]:
    """Return what is appended to each name."""
    found: dict[str, list[ast.expr]] = {}
    for name, each in loads(scope).items():
        for load in each:
            call = code.parent(code.parent(load) or load)
            if isinstance(call, ast.Call) and last_name(call.func) == "append":
                found.setdefault(name, []).extend(call.args)
    return found


def _is_scalar(spot: Spot, node: ast.expr) -> bool:
    """Whether an element is evidently a tensor: a reduction, or all or a part of what one gave."""
    if isinstance(node, ast.BinOp):
        return _is_scalar(spot, node.left) or _is_scalar(spot, node.right)
    whole = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(whole, ast.Name):
        return any(
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and _TENSOR_ONLY(value.func.attr)
            for value in flow.assignments(spot.scope, whole.id)
        )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return False
    return node.func.attr in _REDUCING and not _is_of(spot, node.func.value, "numpy.")


def _is_of(spot: Spot, node: ast.expr, library: str) -> bool:
    """Whether a name is made by a function of a library."""
    made = flow.assignments(spot.scope, flow.root(node))
    return any(
        isinstance(value, ast.Call) and spot.code.meaning(value.func).startswith(library)
        for value in made
    )


@predicate
def is_a_number_for_an_operation(scene: Scene) -> bool:
    """A tensor of one number is given to an operation that takes the number: `where(m, x, t)`."""
    given = _listed(scene)
    if not isinstance(given, ast.BinOp | ast.Constant | ast.Attribute | ast.UnaryOp):
        return False
    node = scene.spot.node
    call = scene.spot.code.parent(node)
    return isinstance(call, ast.Call) and node in call.args and _TAKES_NUMBERS(last_name(call.func))


@predicate
def is_moved_for_a_stack(scene: Scene) -> bool:
    """Each element is moved, and they are stacked then: `stack([x.to(d) for x in xs])`."""
    comprehension = scene.spot.code.parent(scene.spot.node)
    if not isinstance(comprehension, ast.ListComp | ast.GeneratorExp):
        return False
    call = scene.spot.code.parent(comprehension)
    return isinstance(call, ast.Call) and last_name(call.func) in _STACKS


@predicate
def is_used_as_an_index(scene: Scene) -> bool:
    """It is an index that is uploaded: `x[[0, 2]]`."""
    return isinstance(scene.spot.node, ast.Subscript)


@predicate
def is_an_argument(scene: Scene) -> bool:
    """It is moved to the device, and made of arguments of its function."""
    made = made_of(scene.spot, scene.read)
    return made.inputs or made.others


@predicate
def is_computed_here(scene: Scene) -> bool:
    """Its function has made it: by a call on the spot, or before, under a name."""
    code, read = scene.spot.code, scene.read
    while isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute):
        if dotted(read.func).partition(".")[0] in {"self", *code.may_import}:
            return True
        read = read.func.value
    if isinstance(read, ast.BinOp | ast.Compare | ast.UnaryOp):
        return True
    if not isinstance(read, ast.Name):
        return isinstance(read, ast.Call)
    made = flow.assignments(scene.spot.scope, read.id)
    if read.id in parameters(scene.spot.scope):
        latest = _latest(scene.spot, read.id)
        return isinstance(latest, ast.Call) and flow.root(latest) != read.id
    sources = sources_of(scene.spot.scope, read.id)
    taken = (x for x in sources if isinstance(x, ast.Call) and dotted(x.func) not in _TAKES)
    return any(True for _ in taken) or any(value is not None for value in made)
