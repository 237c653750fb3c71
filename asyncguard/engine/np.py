"""The functions of the array frontend, under NumPy's names: ``from asyncguard.engine import np``.

Stands above `ndarray.py`. Every function enqueues and returns at once, except those at the end,
whose result has a shape that only the values can tell: `nonzero`, `unique`, one-argument `where`.
Names, arguments and errors are NumPy's (https://numpy.org/doc/stable/reference/routines.html).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from asyncguard.engine import infer
from asyncguard.engine import random as random
from asyncguard.engine.default import waitall as waitall
from asyncguard.engine.handle import blocker
from asyncguard.engine.kernels import named
from asyncguard.engine.ndarray import (
    binary,
    compute,
    from_host,
    ndarray,
    operand,
    reduction,
    unary,
)
from asyncguard.engine.ndarray import dot as dot
from asyncguard.engine.ndarray import matmul as matmul

float16, float32, float64 = numpy.float16, numpy.float32, numpy.float64
int8, int16, int32, int64 = numpy.int8, numpy.int16, numpy.int32, numpy.int64
uint8, bool_, complex128 = numpy.uint8, numpy.bool_, numpy.complex128
newaxis, pi, inf, nan, e = None, math.pi, math.inf, math.nan, math.e

Size = int | Sequence[int]


# ------------------------------------------------------------------------------------- creation


def array(data: Any, dtype: Any = None) -> ndarray:
    """Return a device array with a copy of `data`, which is made before this returns."""
    if isinstance(data, ndarray):
        return as_array(data.astype(dtype or data.dtype))
    return as_array(from_host(numpy.array(data, dtype=dtype, order="C")))


def asarray(data: Any, dtype: Any = None) -> ndarray:
    """Return `data` itself where it is a device array of that dtype, else a copy on the device."""
    if isinstance(data, ndarray) and dtype in (None, data.dtype):
        return data
    return array(data, dtype)


def full(shape: Size, value: Any, dtype: Any = None) -> ndarray:
    """Return an array of `shape` filled with `value`, which may be a device array."""
    sizes = infer_shape(shape)
    filler = operand(value)
    if isinstance(filler, ndarray):
        kind = numpy.dtype(dtype or filler.dtype)
        infer.into(sizes, filler.shape)
    else:
        kind = numpy.dtype(dtype) if dtype is not None else numpy.asarray(value).dtype
    make = named("full", lambda data: numpy.full(sizes, data, kind))
    return as_array(compute(make, (filler,), sizes, kind, brief=True))


def zeros(shape: Size, dtype: Any = numpy.float64) -> ndarray:
    """Return an array of `shape` filled with zeros."""
    return full(shape, 0, dtype)


def ones(shape: Size, dtype: Any = numpy.float64) -> ndarray:
    """Return an array of `shape` filled with ones."""
    return full(shape, 1, dtype)


empty = zeros  # what NumPy leaves open would differ between two engines


def zeros_like(x: ndarray, dtype: Any = None) -> ndarray:
    """Return zeros in the shape (and dtype) of `x`."""
    return zeros(x.shape, dtype or x.dtype)


def ones_like(x: ndarray, dtype: Any = None) -> ndarray:
    """Return ones in the shape (and dtype) of `x`."""
    return ones(x.shape, dtype or x.dtype)


def full_like(x: ndarray, value: Any, dtype: Any = None) -> ndarray:
    """Return an array filled with `value` in the shape (and dtype) of `x`."""
    return full(x.shape, value, dtype or x.dtype)


def arange(*limits: Any, dtype: Any = None) -> ndarray:
    """Return numbers from a start up to a stop, by a step; see `numpy.arange`."""
    return as_array(from_host(numpy.arange(*limits, dtype=dtype)))


def linspace(start: float, stop: float, num: int = 50, dtype: Any = None) -> ndarray:
    """Return `num` numbers at equal distances from `start` to `stop`."""
    return as_array(from_host(numpy.linspace(start, stop, num, dtype=dtype)))


def eye(rows: int, columns: int | None = None, dtype: Any = numpy.float64) -> ndarray:
    """Return a matrix with ones on the diagonal."""
    return as_array(from_host(numpy.eye(rows, columns, dtype=dtype)))


# ------------------------------------------------------------------------------ element by element


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(numpy, name)

    def call(x: Any) -> Any:
        return unary(function, x)

    call.__doc__ = f"Enqueue `numpy.{name}` of `x`, element by element."
    return named(name, call)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(numpy, name)

    def call(x: Any, y: Any) -> Any:
        result = binary(function, x, y)
        if result is NotImplemented:
            raise TypeError(f"{name} takes arrays and numbers")
        return result

    call.__doc__ = f"Enqueue `numpy.{name}` of `x` and `y`, element by element."
    return named(name, call)


absolute = abs = _unary("absolute")
negative = _unary("negative")
exp = _unary("exp")
expm1 = _unary("expm1")
log = _unary("log")
log1p = _unary("log1p")
sqrt = _unary("sqrt")
square = _unary("square")
sign = _unary("sign")
sin = _unary("sin")
cos = _unary("cos")
tanh = _unary("tanh")
floor = _unary("floor")
ceil = _unary("ceil")
rint = _unary("rint")
isnan = _unary("isnan")
isinf = _unary("isinf")
isfinite = _unary("isfinite")
logical_not = _unary("logical_not")

add = _binary("add")
subtract = _binary("subtract")
multiply = _binary("multiply")
divide = true_divide = _binary("true_divide")
floor_divide = _binary("floor_divide")
remainder = mod = _binary("remainder")
power = _binary("power")
maximum = _binary("maximum")
minimum = _binary("minimum")
equal = _binary("equal")
not_equal = _binary("not_equal")
less = _binary("less")
less_equal = _binary("less_equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return `x` with everything below `low` or above `high` replaced by the limit."""
    return minimum(maximum(x, low), high)


# ---------------------------------------------------------------------------- reductions, products


def _reduction(name: str) -> Callable[..., Any]:
    function = getattr(numpy, name)

    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(function, asarray(x), axis, keepdims)

    call.__doc__ = f"Enqueue `numpy.{name}` of `x` along `axis` (None: over all axes)."
    return named(name, call)


sum = _reduction("sum")
mean = _reduction("mean")
prod = _reduction("prod")
max = amax = _reduction("max")
min = amin = _reduction("min")
std = _reduction("std")
var = _reduction("var")
all = _reduction("all")
any = _reduction("any")
argmax = _reduction("argmax")
argmin = _reduction("argmin")


# ------------------------------------------------------------------------------------------- shapes


def reshape(x: Any, shape: Size) -> ndarray:
    """Return the data of `x` in another shape; see `ndarray.reshape`."""
    return as_array(asarray(x).reshape(shape))


def transpose(x: Any, axes: Sequence[int] | None = None) -> ndarray:
    """Return a view of `x` with the axes reversed, or in the order of `axes`."""
    return as_array(asarray(x).transpose(*(() if axes is None else (tuple(axes),))))


def expand_dims(x: Any, axis: int) -> ndarray:
    """Return a view of `x` with an axis of size one at `axis`."""
    x = asarray(x)
    (at,) = infer.axes(axis, x.ndim + 1)
    return as_array(x[(slice(None),) * at + (None,)])


def squeeze(x: Any, axis: Any = None) -> ndarray:
    """Return a view of `x` without the axes of size one (or those given)."""
    return as_array(asarray(x).squeeze(axis))


def broadcast_to(x: Any, shape: Size) -> ndarray:
    """Return a copy of `x` repeated up to `shape`."""
    return full(shape, asarray(x))


def concatenate(arrays: Sequence[Any], axis: int = 0) -> ndarray:
    """Return `arrays` joined along `axis`."""
    return _joined("concatenate", infer.concatenated, arrays, axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> ndarray:
    """Return equal `arrays` joined along a new `axis`."""
    return _joined("stack", infer.stacked, arrays, axis)


def _joined(name: str, rule: Callable[..., Any], arrays: Sequence[Any], axis: int) -> ndarray:
    parts = [asarray(part) for part in arrays]
    shape = rule([part.shape for part in parts], axis)
    dtype = numpy.result_type(*[part.dtype for part in parts])
    function = getattr(numpy, name)

    def join(*data: Any) -> Any:
        return numpy.ascontiguousarray(function(data, axis=axis).astype(dtype, copy=False))

    return as_array(compute(named(name, join), parts, shape, dtype))


def take(x: Any, indices: Any, axis: int | None = None) -> ndarray:
    """Return the elements of `x` at `indices` along `axis` (None: of the flat array)."""
    x = asarray(x)
    if axis is None:
        return as_array(x.reshape(-1)[indices])
    (at,) = infer.axes(axis, x.ndim)
    key = (*(slice(None),) * at, indices)
    return as_array(x[key])


# ------------------------------------------------------ shapes that only the values can tell


@blocker("shape", "np")
def nonzero(x: Any) -> tuple[Any, ...]:
    """Return the indices of the elements that are not zero, one array per axis. Blocks."""
    return tuple(asarray(x).nonzero())


@blocker("shape", "np")
def unique(x: Any) -> ndarray:
    """Return the values that occur in `x`, sorted. Blocks."""
    return as_array(from_host(numpy.unique(asarray(x)._read())))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return `x` where `condition` holds, else `y`. With `condition` alone it is `nonzero`."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    parts = [operand(part) for part in (condition, x, y)]
    if [part for part in parts if part is NotImplemented]:
        raise TypeError("where takes arrays and numbers")
    shape = infer.broadcast(*map(numpy.shape, parts))
    samples = [infer.tiny(p.dtype) if isinstance(p, ndarray) else p for p in parts]
    pick: Any = numpy.where
    dtype = pick(*samples).dtype

    def choose(*data: Any) -> Any:
        return pick(*data).astype(dtype, order="C", copy=False).reshape(shape)

    return compute(named("where", choose), parts, shape, dtype, brief=True)


def infer_shape(shape: Size) -> infer.Shape:
    """Return `shape` as a tuple; ValueError where a size is negative."""
    sizes = tuple(map(int, shape)) if isinstance(shape, (tuple, list)) else (int(shape),)  # type: ignore[arg-type]
    if [size for size in sizes if size < 0]:
        raise ValueError("negative dimensions are not allowed")
    return sizes


def as_array(x: Any) -> ndarray:
    """Tell the type checker that this is an array."""
    return x  # type: ignore[no-any-return]
