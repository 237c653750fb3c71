"""Predicates about where the value goes that a finding reads, and what is decided by it."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import (
    Use,
    condition_of,
    hands_on,
    last_name,
    loads,
    uses,
)
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.syntax.nodes import (
    COMPREHENSIONS,
    LISTS,
    STATEMENTS,
    body,
    constant,
    elements,
    index,
    is_constant,
    is_for,
    is_text,
    keyword,
    method,
    name_of,
    operator,
    otherwise,
    positional,
    targets,
    walk,
)
from asyncguard.lint.syntax.tree import dotted

# ---- where the value goes

_SIZES = family("advice.takes_sizes")
_ANY, _HOST_LIBRARY = family("advice.asks_for_any"), family("advice.host_library")
_COUNTS, _LOOKS = family("advice.counts"), family("advice.looks")
_SENDS, _METERS = family("advice.sends"), family("advice.updates_average")
_STEPS, _LOSS = family("function.steps"), family("function.loss")
_CHECKS, _UPDATES = family("advice.checks"), family("advice.updates_metric")


def _goes(scene: Scene, test: Callable[[Use], bool]) -> bool:
    return any(map(test, uses(scene.spot)))


@predicate
def gives_a_size(scene: Scene) -> bool:
    """It becomes a size, a bound of a slice or of `range`, or a list of lengths to split by."""
    return _goes(scene, _is_size)


def _is_size(use: Use) -> bool:
    if isinstance(use.parent, cst.Slice):
        return True
    return isinstance(use.parent, cst.Call) and _SIZES(use.called)


@predicate
def is_looped_over(scene: Scene) -> bool:
    """Python loops over what is read, or as often as it says."""
    return _goes(scene, lambda use: getattr(use.parent, "iter", None) is use.child)


@predicate
def is_made_into_records(scene: Scene) -> bool:
    """A loop over it keeps a dict of plain values for each element, as for JSON."""
    code = scene.spot.code
    return _goes(
        scene,
        lambda use: (
            (is_for(use.parent) and _keeps_records(code, use.parent))
            or (isinstance(use.parent, cst.CompFor) and _gives_records(code, use.parent))
        ),
    )


def _gives_records(code: Code, clause: cst.CompFor) -> bool:
    """Whether a comprehension makes a dict with named entries of each element."""
    made = getattr(code.around(clause, COMPREHENSIONS), "elt", None)
    return isinstance(made, cst.Dict) and all(
        isinstance(entry, cst.DictElement) and is_constant(entry.key) for entry in made.elements
    )


def _keeps_records(code: Code, loop: cst.For) -> bool:
    return any(
        _appends_a_dict(part) or _fills_in_a_record(code, part)
        for statement in body(loop)
        for part in walk(statement)
    )


def _appends_a_dict(node: cst.CSTNode) -> bool:
    """Whether this is `rows.append({...})`."""
    if not isinstance(node, cst.Call) or method(node) != "append":
        return False
    return any(isinstance(argument, cst.Dict) for argument in positional(node))


def _fills_in_a_record(code: Code, node: cst.CSTNode) -> bool:
    """Whether this is the target of `rows[i]["key"] = ...`."""
    if not isinstance(node, cst.Subscript) or not isinstance(node.value, cst.Subscript):
        return False
    return is_text(index(node)) and code.is_assigned(node)


@predicate
def is_added_to_an_attribute(scene: Scene) -> bool:
    """It is added to an attribute: `self.total += x.item()`."""
    statement = scene.spot.statement
    return isinstance(statement, cst.AugAssign) and dotted(statement.target).startswith("self.")


@predicate
def is_taken_by_a_host_library(scene: Scene) -> bool:
    """A function of an imported library that knows no device takes it."""
    code = scene.spot.code
    return _goes(
        scene, lambda use: isinstance(use.parent, cst.Call) and _is_host(code, use.parent.func)
    )


def _is_host(code: Code, function: cst.CSTNode) -> bool:
    top = code.meaning(function).partition(".")[0]
    return dotted(function).partition(".")[0] in code.may_import and _HOST_LIBRARY(top)


@predicate
def is_fed_back(scene: Scene) -> bool:
    """It is appended to a list, of which the last element is what comes next: `outputs[-1]`."""
    return _goes(scene, lambda use: _is_taken_next(scene.spot, use))


def _is_taken_next(spot: Spot, use: Use) -> bool:
    call = use.parent
    if use.called != "append" or not isinstance(call, cst.Call):
        return False
    kept = dotted(call.func).rpartition(".")[0]
    return any(_is_last(spot.code.parent(load), load) for load in loads(spot.scope).get(kept, ()))


def _is_last(node: cst.CSTNode | None, of: cst.CSTNode) -> bool:
    """Whether this is `x[-1]`."""
    last = index(node) if isinstance(node, cst.Subscript) and node.value is of else None
    return isinstance(last, cst.UnaryOperation) and constant(last.expression) == 1


@predicate
def asks_for_counts_alone(scene: Scene) -> bool:
    """The first of several results is dropped: `_, counts = ids.unique(return_counts=True)`."""
    statement = scene.spot.statement
    target = targets(statement)[0] if isinstance(statement, cst.Assign) else None
    first = name_of(elements(target)[0]) if isinstance(target, cst.Tuple) else ""
    return bool(first) and not loads(scene.spot.scope).get(first)


@predicate
def is_an_action_for_an_environment(scene: Scene) -> bool:
    """An environment takes a step with it, which gives a tuple: `obs, reward = env.step(x)`."""
    return _goes(scene, lambda use: _STEPS(use.called) and _gives_a_tuple(scene.spot.code, use))


def _gives_a_tuple(code: Code, use: Use) -> bool:
    statement = code.outer(use.parent)
    return isinstance(statement, cst.Assign) and isinstance(targets(statement)[0], cst.Tuple)


@predicate
def is_returned(scene: Scene) -> bool:
    """The function returns it."""
    return _goes(scene, lambda use: _is_given_out(use.parent))


def _is_given_out(node: cst.CSTNode) -> bool:
    """Whether this is `return x` or `yield x`."""
    is_yield = isinstance(node, cst.Yield) and not isinstance(node.value, cst.From)
    return is_yield or isinstance(node, cst.Return)


@predicate
def updates_a_metric(scene: Scene) -> bool:
    """A metric or an evaluator is given it."""
    return _goes(scene, lambda use: isinstance(use.parent, cst.Call) and _UPDATES(use.called))


@predicate
def is_compared(scene: Scene) -> bool:
    """Python compares it or decides by it."""
    return condition_of(scene.spot) is not None or _goes(scene, _is_decided)


def _is_decided(use: Use) -> bool:
    if isinstance(use.parent, _CONDITIONAL):
        return use.parent.test is use.child
    if not isinstance(use.parent, cst.Comparison):
        return False
    return operator(use.parent) not in (cst.Is, cst.IsNot)


_CONDITIONAL = (cst.If, cst.While, cst.IfExp)


@predicate
def chooses_a_branch(scene: Scene) -> bool:
    """The condition of an `if` or `while` compares it, or a number calculated from it."""
    code = scene.spot.code
    return _goes(scene, lambda use: _is_decided(use) and _is_in_a_test(code, use.child))


def _is_in_a_test(code: Code, node: cst.CSTNode) -> bool:
    """Whether an expression is a part of a condition."""
    for parent in code.outers(node):
        if isinstance(parent, _CONDITIONAL):
            return parent.test is node
        if isinstance(parent, STATEMENTS):
            return False
        node = parent
    return False


@predicate
def is_compared_by_a_builtin(scene: Scene) -> bool:
    """Python's own `max` or `min` compares device values."""
    node = scene.spot.node
    return isinstance(node, cst.Call) and dotted(node.func) in ("max", "min")


@predicate
def is_in_a_check(scene: Scene) -> bool:
    """It is the condition of an assertion, a check, or an `if` that only raises."""
    return isinstance(condition_of(scene.spot), cst.Assert) or _is_checked(scene) or _raises(scene)


@predicate
def is_in_the_message_of_a_check(scene: Scene) -> bool:
    """It is formatted into the message that a call of a check is given, needed or not."""
    code, node = scene.spot.code, scene.spot.node
    for parent in code.outers(node):
        if isinstance(parent, (*STATEMENTS, cst.Lambda)):
            return False
        if isinstance(parent, cst.Call) and _CHECKS(last_name(parent.func)):
            return not any(node in flow.parts(asked) for asked in positional(parent)[:1])
    return False


def _is_checked(scene: Scene) -> bool:
    return _goes(scene, lambda use: isinstance(use.parent, cst.Call) and _CHECKS(use.called))


def _raises(scene: Scene) -> bool:
    """Whether it is the condition of an `if` that only raises, and may prepare the message."""
    statement = condition_of(scene.spot)
    if not isinstance(statement, cst.If) or otherwise(statement):
        return False
    *before, last = body(statement)
    is_message = all(isinstance(part, (cst.Assign, cst.Expr)) for part in before)
    return is_message and isinstance(last, cst.Raise)


@predicate
def leaves_the_loop(scene: Scene) -> bool:
    """A loop goes on, or is left, by it."""
    statement = condition_of(scene.spot)
    if isinstance(statement, cst.While):
        return True
    loops = flow.loops_around(scene.spot.code, scene.spot.node)
    if not isinstance(statement, cst.If) or not loops or _is_written_down(loops[0]):
        return False
    return isinstance(body(statement)[-1], (cst.Break, cst.Return))


def _is_written_down(loop: cst.CSTNode) -> bool:
    """Whether a loop goes over a few things that the program names: `for f in [first, second]`."""
    return isinstance(loop, cst.For) and isinstance(loop.iter, LISTS)


@predicate
def asks_whether_there_is_any(scene: Scene) -> bool:
    """The condition asks whether a mask has a true element, or counts them."""
    statement = condition_of(scene.spot)
    return isinstance(statement, cst.If) and any(
        isinstance(part, cst.Call) and _ANY(last_name(part.func)) for part in walk(statement.test)
    )


@predicate
def assigns_in_its_branch(scene: Scene) -> bool:
    """The branch that it decides on only assigns tensors, which a `where` could choose."""
    statement = condition_of(scene.spot)
    if not isinstance(statement, cst.If):
        return isinstance(scene.spot.code.parent(scene.spot.node), cst.IfExp)
    kinds = (cst.Assign, cst.AugAssign)
    return all(isinstance(part, kinds) for part in (*body(statement), *otherwise(statement)))


@predicate
def is_sent(scene: Scene) -> bool:
    """Someone else is handed it as it comes: a streamer, a callback, a queue."""
    return _goes(scene, lambda use: isinstance(use.parent, cst.Call) and _SENDS(use.called))


@predicate
def updates_an_average(scene: Scene) -> bool:
    """A meter is given it, with a weight maybe: `losses.update(loss.item(), n)`."""
    return _goes(scene, lambda use: bool(method(use.parent)) and _METERS(use.called))


@predicate
def scales_a_loss(scene: Scene) -> bool:
    """It is a number that is calculated with at once, or that a name holds for that alone.

    Or that a function of a loss is given, to scale it.
    """
    nearest = [use for use in uses(scene.spot) if not isinstance(use.parent, _STORES)]
    return any(map(_scales, nearest[:1]))


def _scales(use: Use) -> bool:
    if isinstance(use.parent, cst.Call):
        return _LOSS(use.called)
    scaling = isinstance(use.parent, cst.BinaryOperation)
    return scaling and isinstance(use.parent.operator, _SCALING)


_SCALING = (cst.Multiply, cst.Divide, cst.Power)
_STORES = (cst.Assign, cst.AnnAssign)


@predicate
def is_only_counted(scene: Scene) -> bool:
    """Of what is selected only the number of elements is asked for."""
    taken = (cst.For, cst.CompFor, cst.Subscript)
    found = [*uses(scene.spot)]
    ends = [use for use in found if not hands_on(use)]
    if any(isinstance(use.parent, taken) for use in found):
        return False
    counted = [use for use in ends if _COUNTS(use.called)]
    return bool(counted) and all(_COUNTS(use.called) or _LOOKS(use.called) for use in ends)


@predicate
def is_looped_over_here(scene: Scene) -> bool:
    """A loop or comprehension goes over it where it is made."""
    node: cst.CSTNode = scene.spot.node
    for parent in scene.spot.code.outers(node):
        if is_for(parent) or isinstance(parent, cst.CompFor):
            return parent.iter is node
        if isinstance(parent, STATEMENTS):
            return False
        node = parent
    return False


@predicate
def is_taken_at_the_first(scene: Scene) -> bool:
    """Of the places that are found, the first one is taken."""
    node = scene.spot.node
    found = [use for use in uses(scene.spot, _goes_round) if _is_first(use)]
    if not _is_tuple_of_places(node):
        return bool(found)
    # `torch.where(mask)[0]` are all places along the first dimension
    along_one = isinstance(scene.spot.code.parent(node), cst.Subscript)
    return along_one and any(use.child is not node for use in found)


def _goes_round(use: Use) -> bool:
    return isinstance(use.parent, (cst.For, cst.CompFor))


def _is_tuple_of_places(node: cst.CSTNode) -> bool:
    """Whether a call gives the places along each dimension, as a tuple."""
    if not isinstance(node, cst.Call):
        return False
    return keyword(node, "as_tuple") is not None or last_name(node.func) == "where"


def _is_first(use: Use) -> bool:
    node = use.parent
    if not isinstance(node, cst.Subscript) or node.value is not use.child:
        return False
    return constant(index(node)) in (0, -1)


@predicate
def is_stored_by_mask(scene: Scene) -> bool:
    """It is the target of an assignment: `x[mask] = y`."""
    return scene.spot.code.is_assigned(scene.spot.node)
