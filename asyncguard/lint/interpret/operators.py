"""Operators and the remaining expressions.

Operators spread what their operands are: a device value compared with anything is a device mask.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.conditions import IDENTITY, guard_of
from asyncguard.lint.contexts.effects import note_event
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import element_of, join_all
from asyncguard.lint.contexts.options import asked_by, is_option
from asyncguard.lint.contexts.usage import scan
from asyncguard.lint.domain.copies import Memory, combined
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, together
from asyncguard.lint.domain.hotness import IN_STEP
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import HIGH, MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    ARRAYS,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MAY_BE_NUMBER,
    NUMBERS,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Place,
    Role,
    Value,
    container,
    derived,
    from_params,
    literal,
    no_surer,
)
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.binding import bind_target
from asyncguard.lint.interpret.blocks import evaluate_defaults
from asyncguard.lint.interpret.lookup import computed_with
from asyncguard.lint.interpret.memory import memory_of
from asyncguard.lint.interpret.narrowing import (
    guarded_by_omission,
    guarded_by_test,
    narrow,
    truth,
)
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.syntax.tree import dotted, text_of

_BITS = frozenset({cst.BitAnd, cst.BitOr, cst.BitXor})
_JOINING = frozenset({cst.Add, cst.Multiply})  # of texts, and of masks


def _learn_place(frame: Frame, node: cst.BaseExpression, value: Value, other: Value) -> None:
    """Learn that a variable is in host memory, for it is combined with a tensor that is for sure.

    A framework whose CPU computes at once does not mix the two.
    """
    if value.kind != UNKNOWN or other.kind != HOST_ARRAY or type(node) is not cst.Name:
        return
    known = frame.analysis.knowledge.frameworks.get(other.framework)
    if other.confidence == HIGH and known is not None and not known.asynchronous_cpu:
        why = Reason(Provenance.USAGE)
        held = Value(HOST_ARRAY, other.framework, why, name=MAY_BE_NUMBER, params=value.params)
        frame.note(node.value, held)


def binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    """Arithmetic stays on the device; `%` on a string formats."""
    left = computed_with(frame, node.left)
    right = computed_with(frame, node.right)
    _learn_place(frame, node.left, left, right)
    _learn_place(frame, node.right, right, left)
    operator = type(node.operator)
    if operator is cst.Modulo and _is_text(node.left):
        _percent_format(frame, node.right, right)
        return HOST_VALUE
    if isinstance(left.literal, str) or isinstance(right.literal, str):
        return HOST_VALUE  # only strings are added to strings
    same = operator in _JOINING and left.role is right.role  # of masks, a sum and a product are one
    mask = (operator in _BITS or same) and Role.MASK in (left.role, right.role)
    copies.use(frame, node, left, right)
    result = combine(left, right, mask=mask)
    if result.kind == UNKNOWN and _of_number_and_option(node, left, right):
        return HOST_VALUE
    if result.kind == DEVICE:
        result = _of_class(result, left, right)
        frame.operation(result.framework)
        note_event(frame, "work", node, result.framework)
    return result


def _of_number_and_option(node: cst.BinaryOperation, left: Value, right: Value) -> bool:
    """Whether this computes with a number and an option: `loss.item() / args.steps`."""
    sides = ((left, node.right), (right, node.left))
    return any(one.kind == HOST and is_option(other) for one, other in sides)


def _of_class(result: Value, *operands: Value) -> Value:
    """Return what an operator makes of arrays of a checked class: one of that class."""
    for operand in operands:
        if operand.kind == DEVICE and isinstance(operand.ref, ClassInfo):
            return result._replace(ref=operand.ref)
    return result


def _is_text(node: cst.BaseExpression) -> bool:
    """Whether an expression is a text in the source, of several joined or repeated ones too."""
    if type(node) is cst.BinaryOperation and type(node.operator) in _JOINING:
        return _is_text(node.left) or _is_text(node.right)
    return text_of(node) is not None


def _percent_format(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    if type(node) is not cst.Tuple:
        protocol_site(frame, "__format__", node, value)
        return
    for element, item in zip(node.elements, value.items or spread(frame, node), strict=False):
        protocol_site(frame, "__format__", element.value, item)


def spread(frame: Frame, node: cst.Tuple) -> list[Value]:
    """Return what a tuple holds: of `*values` one of them."""
    with frame.speculation():
        return [
            element_of(frame, value) if type(element) is cst.StarredElement else value
            for element in node.elements
            for value in [evaluate(frame, element.value)]
        ]


def combine(left: Value, right: Value, *, mask: bool = False) -> Value:
    """Return what an operator makes of two operands."""
    params = together(side.params for side in (left, right) if side.kind != HOST)
    role = Role.MASK if mask else Role.NONE
    for one, other in ((left, right), (right, left)):
        if one.role == Role.IN_PROGRESS:
            return other
        if one.kind == DEVICE and (made := _with_device(one, other, role, params)) is not None:
            return made
    if left.kind == CONTAINER or right.kind == CONTAINER:
        return _combine_containers(left, right)
    arrays = [one for one in (left, right) if one.kind == HOST_ARRAY]
    if arrays:
        array = min(arrays, key=lambda one: one.name == MAY_BE_NUMBER)
        operands = [memory_of(v) or Memory() for v in (left, right) if v.kind != HOST]
        return array._replace(params=params, role=role, ref=combined(operands))
    if left.kind == right.kind == HOST:
        return no_surer(no_surer(_of_numbers(left, right), left), right)
    return Value(params=params, role=role, name=_entry_of(left, right))


def _entry_of(left: Value, right: Value) -> str:
    """Return which entry of an argument an operator takes, if it takes one alone."""
    parts = {side.name for side in (left, right) if side.kind == UNKNOWN and side.params}
    return parts.pop() if len(parts) == 1 else ""


def _of_numbers(left: Value, right: Value) -> Value:
    """Return what plain objects make: of numbers by their declaration, what callers hand for it."""
    declared = [side for side in (left, right) if side.name in NUMBERS and side.params]
    if not declared:
        return HOST_VALUE
    params = together(side.params for side in declared)
    return declared[0]._replace(params=params, role=Role.NONE, literal=None)


def _with_device(one: Value, other: Value, role: Role, params: Dependence) -> Value | None:
    """Return what an operator makes of a device value and something else; None: of the other."""
    if _is_beside(one, other):
        return from_params(other._replace(role=role), params)
    if other.kind == CONTAINER and one.confidence < MEDIUM:
        return None  # what is added to a list is one, more likely than it is on the device
    anyway = any(map(_is_there_anyway, (one, other)))
    return from_params(_on_device(one, other, role), INDEPENDENT if anyway else params)


def _is_beside(one: Value, other: Value) -> bool:
    """Whether an array that is inferred to be on the device is in host memory: another one is.

    The frameworks that know arrays in host memory do not mix the two.
    """
    sure = other.kind == HOST_ARRAY and other.confidence >= MEDIUM and other.role != Role.BATCH
    return sure and one.framework == other.framework and bool(one.doubt & Doubt.INFERRED)


def _is_there_anyway(value: Value) -> bool:
    """Whether this is on the device whatever the parameters are, so that a result is as well."""
    placed = value.place is Place.DEVICE and value.role != Role.NAME_INFERRED
    return placed and not value.params and not value.doubt and value.confidence >= MEDIUM


def _on_device(one: Value, other: Value, role: Role) -> Value:
    """Return what an operator makes of a device value and something else: as sure as the surer."""
    source = one
    if other.kind == DEVICE and other.confidence > one.confidence:
        source = other
    sure = other.kind == DEVICE and other.role != Role.NAME_INFERRED
    if not role and not sure and one.role == Role.NAME_INFERRED:
        role = Role.NAME_INFERRED
    return derived(source, DEVICE, one.framework, role)


def _combine_containers(left: Value, right: Value) -> Value:
    elements = [v.element for v in (left, right) if v.kind == CONTAINER and v.element is not None]
    plain = all(v.role == Role.TUPLE or v.kind == HOST for v in (left, right))
    return container(join_all(elements))._replace(role=Role.TUPLE if plain else Role.NONE)


def unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    """`not` reads its operand; the others keep it where it is."""
    if type(node.operator) is cst.Not:
        truth(frame, node.expression)
        return HOST_VALUE
    value = evaluate(frame, node.expression)
    if isinstance(value.literal, (int, float)) and type(node.operator) is cst.Minus:
        return literal(-value.literal)
    if value.kind == HOST_ARRAY:
        copies.use(frame, node, value)
        value = value._replace(ref=combined([memory_of(value) or Memory()]))
    if type(node.operator) is cst.BitInvert and value.kind in ARRAYS:
        return value._replace(role=Role.MASK)
    return value


def boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    """`a or b` reads `a`, and yields one of the two; in `a or {}` it is no array."""
    reads = type(node.operator) is cst.And or not _holds_others(node.right)
    left = (truth if reads else evaluate)(frame, node.left)
    with frame.env.fork() as fork:
        narrow(frame, node.left, type(node.operator) is cst.And)
        right = evaluate(frame, node.right)
        fork.take()
    if _asks_identity(node.left) and type(node.right) is cst.Comparison and right.kind == UNKNOWN:
        return HOST_VALUE  # `x is None or x < y` is true or false either way
    return join(left, right)


def _asks_identity(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Comparison and type(node.comparisons[0].operator) in IDENTITY


def _holds_others(node: cst.BaseExpression) -> bool:
    """Whether this is a dict or a list."""
    if type(node) is cst.Call:
        return dotted(node.func) in ("dict", "list", "set")
    return type(node) is cst.Dict or type(node) is cst.List


def conditional(frame: Frame, node: cst.IfExp) -> Value:
    """A conditional expression reads its test and yields either branch."""
    truth(frame, node.test)
    with frame.env.fork() as fork:
        narrow(frame, node.test, True)
        guard_true, guard_false = guard_of(frame, node.test)
        omitted, given = (
            guarded_by_omission(frame, node.test, operator) for operator in (cst.Is, cst.IsNot)
        )
        asked = [guarded_by_test(frame, node.test, holds) for holds in (True, False)]
        with frame.guarded(guard_true, omitted.where | asked[0], asked_by(node.test, True)):
            chosen = evaluate(frame, node.body)
        fork.take()
        narrow(frame, node.test, False)
        with frame.guarded(guard_false, given.where | asked[1], asked_by(node.test, False)):
            other = evaluate(frame, node.orelse)
        fork.take()
    if chosen.kind == other.kind == SYMBOL:
        return _either_symbol(frame, chosen, other)
    if chosen.literal == "cpu" and _asks_for_host_backend(frame, node.test):
        return chosen
    result = join(chosen, other)
    return from_params(result, result.params | omitted | given) if result.params else result


def _asks_for_host_backend(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a test asks if a group of processes sends from host memory: `backend == "gloo"`.

    What is moved to where a group sends from are objects as bytes, for which programs make a group
    of such a backend; tensors are on the device that NCCL sends from already.
    """
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    asked = test.comparisons[0]
    backends = frame.analysis.knowledge.language.host_backends
    return type(asked.operator) is cst.Equal and text_of(asked.comparator) in backends


def _either_symbol(frame: Frame, one: Value, other: Value) -> Value:
    """Return the name of what makes device values, where the other makes the like on the host."""
    returns = frame.analysis.knowledge.returns
    for chosen, left in ((one, other), (other, one)):
        made, instead = returns.find(chosen.name), returns.find(left.name)
        if made and instead and (made[0], instead) == (DEVICE, (HOST_ARRAY, made[1])):
            return chosen
    return join(one, other)


def lambda_(frame: Frame, node: cst.Lambda) -> Value:
    """A lambda is a function that is analysed where it is called."""
    info = FunctionInfo(
        "<lambda>",
        frame.function.qualname,
        node,
        frame.analysis,
        closure=frame,
        unit=frame.function.unit,
    )
    scan(info, frame.analysis.knowledge, frame.analysis.frameworks)
    evaluate_defaults(frame, node)
    return Value(FUNCTION, ref=info)


def walrus(frame: Frame, node: cst.NamedExpr) -> Value:
    """`name := value` binds and yields."""
    value = evaluate(frame, node.value)
    bind_target(frame, node.target, value)
    return value


def await_(frame: Frame, node: cst.Await) -> Value:
    """What is awaited."""
    return evaluate(frame, node.expression)


def yield_(frame: Frame, node: cst.Yield) -> Value:
    """A generator's elements are joined into what iterating it yields, in each step maybe."""
    frame.yields_steps |= frame.nest.context() == IN_STEP
    copies.forget(frame)  # whoever asks for more may have waited
    if type(node.value) is cst.From:
        frame.yields.append(element_of(frame, evaluate(frame, node.value.item)))
    elif node.value is not None:
        frame.yields.append(evaluate(frame, node.value))
    return UNKNOWN_VALUE


EXPRESSIONS: Expressions = {
    cst.BinaryOperation: binary,
    cst.UnaryOperation: unary,
    cst.BooleanOperation: boolean,
    cst.IfExp: conditional,
    cst.Lambda: lambda_,
    cst.NamedExpr: walrus,
    cst.Await: await_,
    cst.Yield: yield_,
}
