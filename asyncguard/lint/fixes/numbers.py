"""Numbers that are proven to be of Python, and small enough for whatever type they are made of."""

from __future__ import annotations

import math

import libcst as cst

from asyncguard.lint.fixes import libraries, sorts
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_counter
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax.nodes import (
    Expression,
    attribute,
    constant,
    index,
    is_constant,
    is_name,
    method,
    positional,
    same,
)

_DEPTH = 5
_MOST_FLOAT = 3.4028234e38  # beyond it `full` raises where `tensor` gives infinity
_MOST_INTEGER = 2**63 - 1
_SMALL = 2**20  # in arithmetic, so that results stay within the bounds above
_SIZES = words("host.sizes")
_LIMITS = words("factory.limits")
_NARROW = frozenset(
    {"torch.float16", "torch.half", "torch.bfloat16", "torch.float32", "torch.float"}
)


def fits(code: Code, node: Expression, dtype: Expression | None = None) -> bool:
    """Whether `full` makes the same of a number as `tensor` does, of type `dtype` if that is told.

    Both differ in what they do with floats beyond 32 bits and integers beyond 64.
    """
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=operand):
            return fits(code, operand, dtype)
        case cst.Attribute(value=cst.Call() as call):
            return _is_limit(code, node, call, dtype)
    return is_moderate(code, node)


def exceeds(code: Code, node: Expression, dtype: Expression | None = None) -> bool:
    """Whether it is a number in the text that plainly does not fit."""
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    is_limit = isinstance(inner, cst.Attribute) and isinstance(inner.value, cst.Call)
    return (is_limit or is_constant(inner)) and not fits(code, node, dtype)


def is_moderate(code: Code, node: Expression, most: float = math.inf, depth: int = _DEPTH) -> bool:
    """Whether it is plainly a number of Python within the bounds, and literally of at most `most`.

    Sizes are, for no memory holds more; so is what little arithmetic makes of them.
    """
    if is_constant(node):
        return _is_within(constant(node), most)
    match node:
        case cst.UnaryOperation(operator=cst.Minus() | cst.Plus(), expression=operand):
            return is_moderate(code, operand, most, depth)
        case cst.BinaryOperation(operator=cst.Add() | cst.Subtract(), left=left, right=right):
            return all(is_moderate(code, side, _SMALL, depth) for side in (left, right))
        case cst.Name() if is_name(node) and depth:
            values = given(code, node)
            return is_counter(code, node) or (
                bool(values)
                and all(
                    value is not None and is_moderate(code, value, most, depth - 1)
                    for value in values
                )
            )
    return is_size(code, node) or _is_named(code, node)


def _is_within(value: object, most: float) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) <= min(_MOST_INTEGER, most)
    return isinstance(value, float) and (
        not math.isfinite(value) or abs(value) <= min(_MOST_FLOAT, most)
    )


def is_size(code: Code, node: Expression) -> bool:
    """Whether it is `len(x)`, or `x.shape[0]`, `x.size(0)`, `x.numel()` or `x.ndim` of an array."""
    match node:
        case cst.Call(func=cst.Name() as name):
            return libraries.builtin_name(code, name) == "len"
        case cst.Attribute(value=value):
            return attribute(node) == "ndim" and sorts.is_array(code, value)
        case cst.Subscript(value=cst.Attribute(value=value) as shape):
            is_one = index(node) is not None or len(node.slice) > 1
            return is_one and attribute(shape) == "shape" and sorts.is_array(code, value)
        case cst.Call(func=cst.Attribute(value=value)):
            is_whole = method(node) == "size" and not node.args
            return method(node) in _SIZES and not is_whole and sorts.is_array(code, value)
    return False


def _is_named(code: Code, node: Expression) -> bool:
    """Whether it is `float("inf")`, `float("nan")` or the like."""
    if not isinstance(node, cst.Call) or libraries.builtin_name(code, node.func) != "float":
        return False
    handed = positional(node)
    known = constant(handed[0]) if len(handed) == 1 else None
    return isinstance(known, str) and known.strip("+-") in {"inf", "infinity", "nan"}


def _is_limit(code: Code, node: cst.Attribute, call: cst.Call, dtype: Expression | None) -> bool:
    """Whether it is `torch.finfo(d).min` for what is made of the type `d`, or of a narrow one."""
    handed = positional(call)
    if libraries.library_name(code, call.func) not in _LIMITS or len(handed) != 1:
        return False
    (of,) = handed
    is_same = dtype is not None and same(of, dtype)
    is_narrow = libraries.library_name(code, of) in _NARROW
    return attribute(node) in {"min", "max", "eps", "tiny"} and (is_same or is_narrow)
