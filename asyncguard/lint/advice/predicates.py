"""What a pattern of advice can ask about the code around a finding.

Each predicate answers one question about a `Scene`; patterns name them in `when`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.advice.values import (
    Made,
    Use,
    condition_of,
    is_repeated,
    last_name,
    made_of,
    uses,
)
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, dotted
from asyncguard.lint.fixes.families.uploads import pinned_loader
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.labels import labels
from asyncguard.lint.names import family
from asyncguard.model import Finding


class Scene(NamedTuple):
    """A finding among its code, and all findings of its file."""

    spot: Spot
    spots: Sequence[Spot] = ()

    @property
    def read(self) -> ast.expr:
        """What the site reads: `x` of `x.item()`, `int(x)`, `x[mask]` (the mask) and `f"{x}"`."""
        node = self.spot.node
        if isinstance(node, ast.Subscript):
            return node.slice
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_function = self.spot.code.imports.get(dotted(node.func).partition(".")[0])
            return node.args[0] if is_function and node.args else node.func.value
        if isinstance(node, ast.Call) and node.args:
            return node.args[0]
        return node


Predicate = Callable[[Scene], bool]
PREDICATES: dict[str, Predicate] = {}


def predicate(function: Predicate) -> Predicate:
    """Let patterns name a predicate by the name of its function, with spaces for underscores."""
    PREDICATES[function.__name__.replace("_", " ")] = function
    return function


# ---- where the value goes

_SIZES, _REDUCES = family("advice.takes_sizes"), family("advice.reduces")
_CHECKS, _UPDATES = family("advice.checks"), family("advice.updates_metric")


def _goes(scene: Scene, test: Callable[[Use], bool]) -> bool:
    return any(map(test, uses(scene.spot)))


@predicate
def gives_a_size(scene: Scene) -> bool:
    """It becomes a size, a bound of a slice or of `range`, or a list of lengths to split by."""
    return _goes(scene, _is_size)


def _is_size(use: Use) -> bool:
    if isinstance(use.parent, ast.Slice):
        return True
    return isinstance(use.parent, ast.Call) and _SIZES(use.called)


@predicate
def is_looped_over(scene: Scene) -> bool:
    """Python loops over what is read, or as often as it says."""
    return _goes(scene, lambda use: getattr(use.parent, "iter", None) is use.child)


@predicate
def is_reduced(scene: Scene) -> bool:
    """A sum, a mean or a loss takes what results, nothing else does."""
    ends = [u for u in uses(scene.spot) if not isinstance(u.parent, ast.stmt | ast.expr_context)]
    return any(_REDUCES(use.called) for use in ends)


@predicate
def is_added_to_an_attribute(scene: Scene) -> bool:
    """It is added to an attribute: `self.total += x.item()`."""
    statement = scene.spot.statement
    return isinstance(statement, ast.AugAssign) and dotted(statement.target).startswith("self.")


@predicate
def is_taken_by_a_host_library(scene: Scene) -> bool:
    """A function of an imported library that knows no device takes it."""
    code = scene.spot.code
    return _goes(
        scene, lambda use: isinstance(use.parent, ast.Call) and _is_host(code, use.parent.func)
    )


def _is_host(code: Code, function: ast.expr) -> bool:
    top = code.meaning(function).partition(".")[0]
    return dotted(function).partition(".")[0] in code.imports and _HOST_LIBRARY(top)


@predicate
def is_returned(scene: Scene) -> bool:
    """The function returns it."""
    return _goes(scene, lambda use: isinstance(use.parent, ast.Return | ast.Yield))


@predicate
def updates_a_metric(scene: Scene) -> bool:
    """A metric or an evaluator is given it."""
    return _goes(scene, lambda use: isinstance(use.parent, ast.Call) and _UPDATES(use.called))


@predicate
def is_compared(scene: Scene) -> bool:
    """Python compares it or decides by it."""
    tests = (ast.Compare, ast.If, ast.While, ast.IfExp)
    return condition_of(scene.spot) is not None or _goes(
        scene, lambda use: isinstance(use.parent, tests)
    )


@predicate
def is_in_a_check(scene: Scene) -> bool:
    """It is the condition of an assertion, a check, or an `if` that only raises."""
    return isinstance(_condition(scene), ast.Assert) or _is_checked(scene) or _raises(scene)


@predicate
def is_in_the_message_of_a_check(scene: Scene) -> bool:
    """It is formatted into the message that a call of a check is given, needed or not."""
    code, node = scene.spot.code, scene.spot.node
    for parent in code.parents(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.Lambda):
            return False
        if isinstance(parent, ast.Call) and _CHECKS(last_name(parent.func)):
            return not any(node is part for part in ast.walk(parent.args[0]))
    return False


def _condition(scene: Scene) -> ast.If | ast.Assert | ast.While | None:
    return condition_of(scene.spot)


def _is_checked(scene: Scene) -> bool:
    return _goes(scene, lambda use: isinstance(use.parent, ast.Call) and _CHECKS(use.called))


def _raises(scene: Scene) -> bool:
    statement = _condition(scene)
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and any(isinstance(last, ast.Raise) for last in statement.body[-1:])
    )


@predicate
def leaves_the_loop(scene: Scene) -> bool:
    """A loop goes on, ends or returns by it."""
    statement = _condition(scene)
    if isinstance(statement, ast.While):
        return True
    ends = (ast.Break, ast.Continue, ast.Return)
    bodies = statement.body if isinstance(statement, ast.If) else []
    loops = flow.loops_around(scene.spot.code, scene.spot.node)
    return bool(loops and bodies) and isinstance(bodies[-1], ends)


@predicate
def asks_whether_there_is_any(scene: Scene) -> bool:
    """The condition asks whether a mask has a true element, or counts them."""
    statement = _condition(scene)
    return isinstance(statement, ast.If) and any(
        isinstance(part, ast.Call) and _ANY(last_name(part.func))
        for part in ast.walk(statement.test)
    )


@predicate
def assigns_in_its_branch(scene: Scene) -> bool:
    """The branch that it decides on only assigns tensors, which a `where` could choose."""
    statement = _condition(scene)
    if not isinstance(statement, ast.If):
        return isinstance(scene.spot.code.parent(scene.spot.node), ast.IfExp)
    kinds = (ast.Assign, ast.AugAssign)
    return all(isinstance(part, kinds) for part in (*statement.body, *statement.orelse))


@predicate
def is_stored_by_mask(scene: Scene) -> bool:
    """It is the target of an assignment: `x[mask] = y`."""
    return isinstance(getattr(scene.spot.node, "ctx", None), ast.Store)


# ---- where the value comes from

_INPUT, _EXPERT, _NAN = family("advice.input"), family("advice.expert"), family("advice.nan")
_ANY, _HOST_LIBRARY = family("advice.asks_for_any"), family("advice.host_library")
_SETS_UP = family("advice.sets_up")


def _made(scene: Scene) -> Made:
    return made_of(scene.spot, scene.read)


@predicate
def is_made_of_inputs(scene: Scene) -> bool:
    """It is made of a function's parameters alone that hold what a program prepares on the host."""
    made = _made(scene)
    return bool(made.params) and not made.computed and all(map(_INPUT, made.params))


@predicate
def is_made_of_attributes(scene: Scene) -> bool:
    """It is made of attributes of `self` alone, and of constants."""
    made = _made(scene)
    plain = bool(made.own) and not made.params and not made.computed
    return plain and not made.own & _set_by_steps(scene)


def _set_by_steps(scene: Scene) -> set[str]:
    """Return the attributes that the methods of its class set, but for those that set it up."""
    inside = scene.spot.code.around(scene.spot.node, ast.ClassDef)
    methods = [part for part in inside.body if isinstance(part, FUNCTIONS)] if inside else []
    return {
        part.attr
        for method in methods
        if not _SETS_UP(method.name)
        for part in ast.walk(method)
        if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load)
    }


@predicate
def is_a_constant(scene: Scene) -> bool:
    """It is made of literals."""
    node = scene.read
    parts = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.expr_context, ast.unaryop)
    return all(isinstance(part, parts) for part in ast.walk(node))


@predicate
def is_invariant_in_its_loop(scene: Scene) -> bool:
    """Nothing that it is made of changes in the innermost loop around it."""
    spot = scene.spot
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    if loop is None or not isinstance(loop, ast.For) or _is_in_comprehension(spot):
        return False
    changing = flow.changed([*loop.body, loop.target])
    needed = flow.names(spot.node) - {name for name in spot.code.imports}
    return bool(needed) and not needed & changing and not _made(scene).computed


def _is_in_comprehension(spot: Spot) -> bool:
    return any(isinstance(p, flow.COMPREHENSIONS) for p in _within_statement(spot))


def _within_statement(spot: Spot) -> Iterator[ast.AST]:
    for parent in spot.code.parents(spot.node):
        if isinstance(parent, ast.stmt):
            return
        yield parent


@predicate
def is_asked_for_nan(scene: Scene) -> bool:
    """The condition asks for NaN or infinity."""
    statement = _condition(scene)
    asked = statement.test if statement is not None else scene.spot.node
    return any(
        isinstance(part, ast.Call) and _NAN(last_name(part.func)) for part in ast.walk(asked)
    )


@predicate
def is_of_experts(scene: Scene) -> bool:
    """It stands in code that hands tokens to experts."""
    names = flow.names(scene.spot.statement)
    for parent in scene.spot.code.parents(scene.spot.node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            names.add(parent.name)
        elif isinstance(parent, ast.For):
            names |= flow.names(parent.target) | flow.names(parent.iter)
    return any(map(_EXPERT, names))


@predicate
def is_in_a_loop_of_samples(scene: Scene) -> bool:
    """A loop or comprehension within the function repeats it, over images, sequences or layers."""
    return _is_in_comprehension(scene.spot) or bool(
        flow.loops_around(scene.spot.code, scene.spot.node)
    )


# ---- uploads

_HOST_MADE, _OF_ARRAY = family("advice.made_on_host"), family("advice.made_of_array")
_OF_LIST = family("advice.made_of_list")


@predicate
def has_a_pinned_loader(scene: Scene) -> bool:
    """Its batches come from a loader in view that pins them."""
    node = scene.spot.node
    is_move = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_move and pinned_loader(scene.spot, node.func.value)  # type: ignore[attr-defined]


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
def is_made_by_a_factory(scene: Scene) -> bool:
    """A factory has just made it in host memory: `torch.arange(n).to(device)`."""
    return _factory(scene) is not None


@predicate
def is_made_of_an_array(scene: Scene) -> bool:
    """It was a NumPy array: `torch.from_numpy(x)`."""
    made = _factory(scene)
    return made is not None and _OF_ARRAY(last_name(made.func))


def _factory(scene: Scene) -> ast.Call | None:
    read = scene.read
    for part in read.elts if isinstance(read, ast.Tuple) else [read]:
        if (found := _made_by(scene, part)) is not None:
            return found
    return None


def _made_by(scene: Scene, value: ast.expr) -> ast.Call | None:
    code = scene.spot.code
    while isinstance(value, ast.Call | ast.Attribute | ast.Subscript | ast.Name):
        if isinstance(value, ast.Call):
            if code.meaning(value.func).startswith("torch.") and _HOST_MADE(last_name(value.func)):
                return value
            value = value.func
        elif isinstance(value, ast.Name):
            made = flow.assignments(scene.spot.scope, value.id)
            if len(made) != 1 or made[0] is None or made[0] is value:
                return None
            value = made[0]
        else:
            value = value.value
    return None


@predicate
def is_a_list_made_in_place(scene: Scene) -> bool:
    """It uploads a list or a number that Python has just made."""
    node = scene.spot.node
    return isinstance(node, ast.Call) and _OF_LIST(last_name(node.func))


@predicate
def is_an_argument(scene: Scene) -> bool:
    """It is moved to the device, and made of arguments of its function."""
    return bool(_made(scene).params)


# ---- other findings


def better(scene: Scene) -> Finding | None:
    """Return what a rule of advice says of the same place."""
    here = scene.spot.finding
    refining = [rule.code for rule in labels() if here.code in rule.refines]
    for code in reversed(refining):
        for other in scene.spots:
            found = other.finding
            if found.code == code and (found.line, found.column) == (here.line, here.column):
                return found
    return None


def _is_bettered(scene: Scene, code: str) -> bool:
    found = better(scene)
    return found is not None and found.code == code


@predicate
def is_only_added_up(scene: Scene) -> bool:
    """The number is added up or collected on the host, and not used in the loop."""
    return _is_bettered(scene, "ASG302")


@predicate
def is_read_with_others(scene: Scene) -> bool:
    """Several reads wait one after the other, or one for each element."""
    return _is_bettered(scene, "ASG301")


@predicate
def is_followed_by_a_read(scene: Scene) -> bool:
    """The read after a barrier waits for its own value."""
    return _is_bettered(scene, "ASG203")



def others(scene: Scene) -> list[int]:
    """Return the lines of the later reads of its block that could be made together with it."""
    kind = scene.spot.finding.code
    found = {
        other.finding.line
        for other in scene.spots
        if other.finding.code == kind and is_repeated(scene.spot, other)
    }
    return sorted(found - {scene.spot.finding.line})


@predicate
def has_company(scene: Scene) -> bool:
    """Later statements of its block read values that exist already."""
    return bool(others(scene))
