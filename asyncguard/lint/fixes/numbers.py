"""Numbers that are proven to be of Python, and small enough for whatever type they are made of."""

from __future__ import annotations

import ast
import math

from asyncguard.lint.fixes import libraries, sorts
from asyncguard.lint.fixes.code import Code, same
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_counter
from asyncguard.lint.fixes.words import words

_DEPTH = 5
_MOST_FLOAT = 3.4028234e38  # beyond it `full` raises where `tensor` gives infinity
_MOST_INTEGER = 2**63 - 1
_SMALL = 2**20  # in arithmetic, so that results stay within the bounds above
_SIZES = words("host.sizes")
_LIMITS = words("factory.limits")
_NARROW = frozenset(
    {"torch.float16", "torch.half", "torch.bfloat16", "torch.float32", "torch.float"}
)


def fits(code: Code, node: ast.expr, dtype: ast.expr | None = None) -> bool:
    """Whether `full` makes the same of a number as `tensor` does, of type `dtype` if that is told.

    Both differ in what they do with floats beyond 32 bits and integers beyond 64.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return fits(code, node.operand, dtype)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        return _is_limit(code, node, node.value, dtype)
    return is_moderate(code, node)


def exceeds(code: Code, node: ast.expr, dtype: ast.expr | None = None) -> bool:
    """Whether it is a number in the text that plainly does not fit."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    is_limit = isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Call)
    is_known = is_limit or isinstance(inner, ast.Constant)
    return is_known and not fits(code, node, dtype)


def is_moderate(code: Code, node: ast.expr, most: float = math.inf, depth: int = _DEPTH) -> bool:
    """Whether it is plainly a number of Python within the bounds, and literally of at most `most`.

    Sizes are, for no memory holds more; so is what little arithmetic makes of them.
    """
    if isinstance(node, ast.Constant):
        return _is_within(node.value, most)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return is_moderate(code, node.operand, most, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return all(is_moderate(code, side, _SMALL, depth) for side in (node.left, node.right))
    if isinstance(node, ast.Name) and depth:
        values = given(code, node)
        return is_counter(code, node) or (
            bool(values)
            and all(
                value is not None and is_moderate(code, value, most, depth - 1) for value in values
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


def is_size(code: Code, node: ast.expr) -> bool:
    """Whether it is `len(x)`, or `x.shape[0]`, `x.size(0)`, `x.numel()` or `x.ndim` of an array."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return libraries.builtin_name(code, node.func) == "len"
    if isinstance(node, ast.Attribute):
        return node.attr == "ndim" and sorts.is_array(code, node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        is_one = not isinstance(node.slice, ast.Slice)
        return is_one and node.value.attr == "shape" and sorts.is_array(code, node.value.value)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    is_whole = node.func.attr == "size" and not (node.args or node.keywords)
    return node.func.attr in _SIZES and not is_whole and sorts.is_array(code, node.func.value)


def _is_named(code: Code, node: ast.expr) -> bool:
    """Whether it is `float("inf")`, `float("nan")` or the like."""
    if not isinstance(node, ast.Call) or libraries.builtin_name(code, node.func) != "float":
        return False
    text = node.args[0] if len(node.args) == 1 else None
    known = text.value if isinstance(text, ast.Constant) else None
    return isinstance(known, str) and known.strip("+-") in {"inf", "infinity", "nan"}


def _is_limit(code: Code, node: ast.Attribute, call: ast.Call, dtype: ast.expr | None) -> bool:
    """Whether it is `torch.finfo(d).min` for what is made of the type `d`, or of a narrow one."""
    if libraries.library_name(code, call.func) not in _LIMITS or len(call.args) != 1:
        return False
    of = call.args[0]
    is_same = dtype is not None and same(of, dtype)
    is_narrow = libraries.library_name(code, of) in _NARROW
    return node.attr in {"min", "max", "eps", "tiny"} and (is_same or is_narrow)
