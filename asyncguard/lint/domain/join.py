"""Merging two abstract values where control-flow paths meet.

When paths disagree, the kind that costs most is kept: a variable that is a device value on one path
blocks on that path, whatever it is on the other.
"""

from __future__ import annotations

from asyncguard.lint.domain.reasons import CERTAIN, HIGH, Doubt, weaker
from asyncguard.lint.domain.values import (
    CLASS,
    CONTAINER,
    DEVICE,
    EITHER,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    INSTANCE,
    MODEL,
    SUPER,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    doubted,
    from_params,
)


def join(left: Value, right: Value) -> Value:
    """Merge what two paths know about one variable."""
    if left is right or left == right:
        return left
    if left.kind in _CALLED and right.kind in _CALLED:
        return _either_function(left, right)
    if left.kind == right.kind:
        return _join_same_kind(left, right)
    return _join_kinds(left, right)


_CALLED = frozenset({FUNCTION, EITHER})
MAX_EITHER = 4


def _either_function(left: Value, right: Value) -> Value:
    """Return one of a few functions; of many, nothing is known."""
    known = [*_functions(left)]
    for function in _functions(right):
        if all(function.ref is not other.ref for other in known):
            known.append(function)
    return Value(EITHER, items=tuple(known)) if len(known) <= MAX_EITHER else UNKNOWN_VALUE


def _functions(value: Value) -> tuple[Value, ...]:
    return value.items or () if value.kind == EITHER else (value,)


_REFERENCES = frozenset({SYMBOL, FUNCTION, CLASS, INSTANCE, SUPER})  # useless unless the same


def _join_same_kind(left: Value, right: Value) -> Value:
    for module, other in ((left, right), (right, left)):
        if module.kind == SYMBOL and module.name == "numpy":
            return other  # which it stands in for: `if gpu: import cupy as np`
    if left.kind in _REFERENCES and (left.ref is not right.ref or left.name != right.name):
        return Value(params=left.params | right.params)
    element = left.element
    if left.element is not None and right.element is not None:
        element = join(left.element, right.element)
    elif right.element is not None:
        element = right.element
    items = None
    if left.items is not None and right.items is not None and len(left.items) == len(right.items):
        items = tuple(map(join, left.items, right.items))
    return Value(
        left.kind,
        left.framework or right.framework,
        weaker(left.why, right.why) if left.kind != CONTAINER else CERTAIN,
        _common_role(left.role, right.role),
        left.name if left.name == right.name else "",
        left.literal if left.literal == right.literal else None,
        element,
        items,
        join_fields(left.fields, right.fields),
        left.ref if left.ref is right.ref else None,
        left.doubt | right.doubt if left.kind != CONTAINER else 0,
        left.params | right.params,
    )


def _common_role(left: Role, right: Role) -> Role:
    """Return both roles' meet; what may be a structure on one path may be one after them."""
    if left == right:
        return left
    kept = (role for role in (Role.MODEL_OUTPUT, Role.ACTION) if role in (left, right))
    return next(kept, Role.NONE)


def join_fields(
    left: tuple[tuple[str, Value], ...], right: tuple[tuple[str, Value], ...]
) -> tuple[tuple[str, Value], ...]:
    """Merge the known entries of two dicts."""
    if not left or not right:
        return left or right
    merged = dict(left)
    for key, value in right:
        merged[key] = join(merged[key], value) if key in merged else value
    return tuple(merged.items())


# When paths disagree, the kind that comes first here is kept: a variable that is a device value on
# one path blocks on that path, whatever it is on the other.
_PRECEDENCE = (
    DEVICE, MODEL, "criterion", "optimizer", "loader", "scaler", "scheduler", "writer", "context",
    CONTAINER, INSTANCE, "logger", "metric", "environment", HOST_ARRAY,
)  # fmt: skip


def _join_kinds(left: Value, right: Value) -> Value:
    params = left.params | right.params
    for kind in _PRECEDENCE:
        for value, other in ((left, right), (right, left)):
            if value.kind == kind:
                items = value.items or (other.items if other.kind == CONTAINER else None)
                return _doubt(value, other)._replace(params=params, items=items)
    known, other = (right, left) if left.kind == UNKNOWN else (left, right)
    if known.role in START_VALUES:
        return from_params(other, params)
    if other.role in START_VALUES:
        return from_params(known, params)
    read = HOST in (left.kind, right.kind)
    return Value(params=params, role=Role.ALREADY_READ if read else Role.NONE)


START_VALUES = frozenset({Role.LITERAL, Role.ABSENT})


def _doubt(value: Value, other: Value) -> Value:
    """A start value (0, None) casts no doubt; a value that is on the host on one path does.

    Not much, where a test of its type has shown that it is: there it was given so.
    """
    if other.kind == HOST and other.role in START_VALUES:
        return value
    if other.kind == UNKNOWN or (other.kind == HOST and other.confidence < HIGH):
        return doubted(value, Doubt.ANOTHER_PATH)
    read = value.kind == DEVICE and other.kind == HOST
    return doubted(value, Doubt.HOST_PATH if read else Doubt.ANOTHER_PATH)
