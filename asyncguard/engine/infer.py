"""What an operation will return, told before it runs: shapes and dtypes, and the errors in them.

Stands beside `kernels.py`, below `ndarray.py`. Nothing here sees a value of a device array. dtypes
come from NumPy itself, by trying the function on arrays of one element; shapes by NumPy's
published rules (https://numpy.org/doc/stable/user/basics.broadcasting.html). Bad arguments raise
here, at enqueue, what NumPy would raise.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy
from numpy.lib.stride_tricks import as_strided

__all__ = ["Layout", "Shape", "layout"]

Shape = tuple[int, ...]
AxisError: Any = getattr(numpy, "exceptions", numpy).AxisError


class Layout:
    """Shape, dtype and strides (bytes) of an array; one object for all arrays that share them.

    `plans` keeps what was found out about operations whose first array looks like this.
    """

    __slots__ = ("dtype", "nbytes", "plain", "plans", "shape", "strides")

    def __init__(self, shape: Shape, dtype: Any, strides: Shape) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.nbytes: int = math.prod(shape) * dtype.itemsize
        self.plain = strides == plain_strides(shape, dtype)
        self.plans: dict[Any, Any] = {}

    def ghost(self) -> Any:
        """Return a NumPy array that looks like this and has no memory: index it, never read it."""
        return as_strided(numpy.empty((1,), self.dtype), self.shape, self.strides)


@functools.lru_cache(maxsize=4096)
def layout(shape: Shape, dtype: Any, strides: Shape | None = None) -> Layout:
    """Return the layout of an array; C-contiguous where no strides are given."""
    return Layout(shape, dtype, plain_strides(shape, dtype) if strides is None else strides)


def plain_strides(shape: Shape, dtype: Any) -> Shape:
    """Return the strides in bytes of a C-contiguous array."""
    strides, step = [], int(dtype.itemsize)
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


@functools.lru_cache(maxsize=256)
def tiny(dtype: Any) -> Any:
    """Return an array of one element of `dtype`, to try functions on. Not to be written to."""
    return numpy.ones((1,), dtype)


def broadcast(*shapes: Shape) -> Shape:
    """Return the common shape of `shapes`; ValueError where there is none."""
    return tuple(numpy.broadcast_shapes(*shapes))


def into(target: Shape, value: Shape) -> None:
    """Raise ValueError where `value` cannot be assigned to `target`, leading ones aside."""
    while len(value) > len(target) and value[0] == 1:
        value = value[1:]
    if len(value) > len(target) or broadcast(target, value) != target:
        raise ValueError(f"could not broadcast input array from shape {value} into shape {target}")


def axes(axis: int | Sequence[int] | None, ndim: int) -> Shape:
    """Return `axis` as sorted non-negative numbers below `ndim`; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found = []
    for each in given:
        number = operator.index(each)
        if not -ndim <= number < ndim:
            raise AxisError(number, ndim)
        found.append(number % ndim)
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def reduced(shape: Shape, axis: int | Sequence[int] | None, keepdims: bool) -> Shape:
    """Return `shape` without the axes that a reduction sums up (or with ones in their places)."""
    gone = axes(axis, len(shape))
    if keepdims:
        return tuple(1 if n in gone else size for n, size in enumerate(shape))
    return tuple(size for n, size in enumerate(shape) if n not in gone)


def matmul(a: Shape, b: Shape) -> Shape:
    """Return the shape of `a @ b`: (..., n, k) by (..., k, m), or vectors (k,)."""
    if not a or not b:
        raise ValueError("matmul: input operand does not have enough dimensions")
    rows, columns = (a if len(a) > 1 else (1, *a)), (b if len(b) > 1 else (*b, 1))
    if rows[-1] != columns[-2]:
        raise ValueError(f"matmul: shapes {a} and {b} do not fit: {rows[-1]} is not {columns[-2]}")
    ends = (rows[-2:-1] if len(a) > 1 else ()) + (columns[-1:] if len(b) > 1 else ())
    return broadcast(rows[:-2], columns[:-2]) + ends


def dot(a: Shape, b: Shape) -> Shape:
    """Return the shape of `dot(a, b)`: the last axis of `a` by the last but one of `b`."""
    if not a or not b:
        return a + b
    inner = b[-2] if len(b) > 1 else b[-1]
    if a[-1] != inner:
        raise ValueError(f"shapes {a} and {b} not aligned: {a[-1]} is not {inner}")
    return a[:-1] + b[:-2] + (b[-1:] if len(b) > 1 else ())


def concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of arrays joined along `axis`; all other sizes must be equal."""
    if not shapes:
        raise ValueError("need at least one array to concatenate")
    (at,) = axes(axis, len(shapes[0]))
    for shape in shapes:
        if len(shape) != len(shapes[0]) or _but(shape, at) != _but(shapes[0], at):
            raise ValueError(f"cannot concatenate shapes {shapes[0]} and {shape} along axis {at}")
    return (*shapes[0][:at], sum(shape[at] for shape in shapes), *shapes[0][at + 1 :])


def stacked(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of equal arrays joined along a new `axis`."""
    if not shapes:
        raise ValueError("need at least one array to stack")
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("all input arrays must have the same shape")
    (at,) = axes(axis, len(shapes[0]) + 1)
    return (*shapes[0][:at], len(shapes), *shapes[0][at:])


def reshaped(shape: Shape, new: int | Sequence[int]) -> Shape:
    """Return `new` with its -1 filled in; ValueError where the sizes differ."""
    wanted = tuple(map(operator.index, new if isinstance(new, (tuple, list)) else (new,)))
    size, known = math.prod(shape), math.prod(n for n in wanted if n != -1)
    if wanted.count(-1) == 1 and known and size % known == 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if any(n < 0 for n in wanted) or math.prod(wanted) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(wanted)}")
    return wanted


def constant(function: Any, number: Any, dtype: Any) -> Any:
    """Return `number` as an array of `dtype`, where a ufunc would convert it to just that, or None.

    NumPy is twice as fast with it. A zero stays a number: plans are found by value, and 0.0 and
    -0.0 are equal.
    """
    if (
        isinstance(function, numpy.ufunc)
        and number
        and numpy.result_type(tiny(dtype), number) == dtype
    ):
        return numpy.asarray(number, dtype)
    return None


def dtype_of(function: Callable[..., Any], *dtypes: Any, **options: Any) -> Any:
    """Return the dtype of `function` on arrays of `dtypes`; TypeError where it takes none such."""
    return function(*map(tiny, dtypes), **options).dtype


def _but(shape: Shape, axis: int) -> Iterable[int]:
    return shape[:axis] + shape[axis + 1 :]
