"""Comparisons: of device values they make a mask on the device; `in` reads what it compares."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.conditions import IDENTITY
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import holds_numbers
from asyncguard.lint.contexts.loops import goes_over_keys
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.domain.values import (
    CLASS,
    CLASSES,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST_VALUE,
    INSTANCE,
    INSTANCES,
    MODEL,
    SYMBOL,
    UNKNOWN,
    Role,
    Value,
)
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.lookup import computed_with
from asyncguard.lint.interpret.operators import combine
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.syntax.tree import dotted

_MEMBERSHIP = frozenset({cst.In, cst.NotIn})


def comparison(frame: Frame, node: cst.Comparison) -> Value:
    """A comparison of device values is a device mask; a chain of them reads all but the last."""
    ordered = type(node.comparisons[0].operator) in _ORDERS
    left = (computed_with if ordered else evaluate)(frame, node.left)
    result = HOST_VALUE
    sides = (node.left, *(target.comparator for target in node.comparisons))
    of_kinds = any(map(_describes, sides))
    for index, target in enumerate(node.comparisons):
        right = evaluate(frame, target.comparator)
        result = HOST_VALUE if of_kinds else _compare(frame, node, target.operator, left, right)
        if index < len(node.comparisons) - 1:
            protocol_site(frame, "__bool__", node, result)
        left = right
    return result


def _describes(node: cst.BaseExpression) -> bool:
    """Whether an expression is what an array is like, which compares with nothing but its kind."""
    if type(node) is cst.Call:
        return not node.args and dotted(node.func).rpartition(".")[2] == "type"
    return type(node) is cst.Attribute and node.attr.value in ("shape", "dtype", "device")


_ORDERS = frozenset({cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual})
_NO_ARRAYS = frozenset({CLASS, CLASSES, FUNCTION, INSTANCE, INSTANCES, MODEL})


def _is_member(frame: Frame, value: Value) -> bool:
    """Whether this is a member of one of a framework's classes: `GroupMember.WORLD`."""
    owner = value.name.rpartition(".")[0].rpartition(".")[2] if value.kind == SYMBOL else ""
    return owner[:1].isupper() and bool(frame.analysis.knowledge.framework_of(value.name))


def _looks_up(frame: Frame, key: cst.BaseExpression, container: cst.BaseExpression) -> bool:
    """Whether the function takes an entry by what is looked for: `m[key] for m in all if key in m`.

    So the container is a dict.
    """
    code = frame.function.node
    return isinstance(code, cst.FunctionDef) and goes_over_keys(container, key, code.body)


def _compare(
    frame: Frame, node: cst.Comparison, operator: cst.BaseCompOp, left: Value, right: Value
) -> Value:
    if type(operator) in IDENTITY:
        return HOST_VALUE
    if type(operator) in _MEMBERSHIP:
        container = node.comparisons[-1].comparator
        named = type(container) is cst.Attribute  # `in x.labels` is found by its name
        asked = right.kind == DEVICE or (right.kind == UNKNOWN and right.params.only >= 0)
        by_key = isinstance(left.literal, str) or named
        if asked and not by_key and not _looks_up(frame, node.left, container):
            protocol_site(frame, "__contains__", node, right, whole=True)
        _compared_with_each(frame, node, left, right)
        return HOST_VALUE
    equal = type(operator) in (cst.Equal, cst.NotEqual)
    if any(_is_plain_side(frame, side, equal=equal) for side in (left, right)):
        return HOST_VALUE
    copies.use(frame, node, left, right)
    return combine(left, right, mask=True)


def _compared_with_each(frame: Frame, node: cst.Comparison, left: Value, right: Value) -> None:
    """`x in [a, b]` compares one after the other, and reads each result."""
    if left.kind == DEVICE and left.confidence >= MEDIUM and holds_numbers(right):
        if left.role not in (Role.NAME_INFERRED, Role.UNPLACED):
            protocol_site(frame, "__bool__", node, left)
        return
    by_hash = right.role in (Role.DICT, Role.SET)
    held = right.element if right.kind == CONTAINER and not by_hash else None
    if held is not None and held.kind == DEVICE and not isinstance(left.literal, str):
        protocol_site(frame, "__bool__", node, held)


def _is_plain_side(frame: Frame, side: Value, *, equal: bool) -> bool:
    """Whether no array comes of comparing anything with this."""
    if side.kind == CONTAINER or side.name == "str" or isinstance(side.literal, str):
        return True
    return equal and (side.is_none or side.kind in _NO_ARRAYS or _is_member(frame, side))


EXPRESSIONS: Expressions = {cst.Comparison: comparison}
