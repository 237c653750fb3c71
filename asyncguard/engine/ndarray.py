"""The device array: a handle on a result that may not be there yet.

Stands above `kernels.py`, `infer.py` and `default.py`; `np.py` adds the functions. An `ndarray` knows
its shape and dtype, and its data belong to the engine. Operators enqueue and return at once; the
methods under "blockers" wait, and each of them is a sync point.

As in NumPy, basic indexing, `T` and `reshape` of a contiguous array give views; all else copies.
Unlike NumPy, an array without axes counts with its own dtype when types are promoted, whatever its
value is (the value is not known yet; NumPy 2 does the same for all arrays).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy
from numpy.lib.stride_tricks import as_strided

from asyncguard.engine import default, hooks, infer
from asyncguard.engine.infer import Shape
from asyncguard.engine.kernels import (
    BRIEF_BYTES,
    Chunk,
    Compute,
    Constant,
    Update,
    View,
    contiguous,
    named,
)

__all__ = ["ndarray"]

F = TypeVar("F", bound=Callable[..., Any])


def blocker(kind: str, owner: str = "ndarray") -> Callable[[F], F]:
    """Make a function a sync point of `kind`, called ``engine.<owner>.<its name>``."""

    def decorate(function: F) -> F:
        api = f"engine.{owner}.{function.__name__}"

        @functools.wraps(function)
        def waiting(*args: Any, **kwargs: Any) -> Any:
            if not hooks.listeners:
                return function(*args, **kwargs)
            with hooks.sync_point(default.engine, kind, api):
                return function(*args, **kwargs)

        return waiting  # type: ignore[return-value]

    return decorate


class ndarray:  # noqa: N801 - the name that NumPy and MXNet give it
    """An array whose data the engine owns. Made by the functions of `asyncguard.engine.np`."""

    __slots__ = ("_dtype", "_ghost", "_shape", "_store", "_var")
    __array_priority__ = 1000.0  # NumPy's operators leave `host + device` to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, var: Chunk, store: Chunk | View, shape: Shape, dtype: Any, ghost: Any):
        self._var = var
        self._store = store
        self._shape = shape
        self._dtype = dtype
        self._ghost = ghost  # views: a NumPy array of the same strides and no memory

    # ------------------------------------------------------------------- what is known at once

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(self._dtype.itemsize)

    @property
    def version(self) -> int:
        """How many writes of this array (or of what it is a view of) were carried out."""
        return self._var.version

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    # ------------------------------------------------------------------------------- blockers

    @blocker("barrier")
    def wait_to_read(self) -> None:
        """Block until the data are there; raise what their operation raised."""
        default.engine.wait_for_var(self._var)

    @blocker("barrier")
    def wait_to_write(self) -> None:
        """Block until nobody reads or writes the data any more."""
        default.engine.wait_to_write(self._var)

    @blocker("array")
    def asnumpy(self) -> Any:
        """Return a copy as a NumPy array."""
        return numpy.array(self._read())

    @blocker("scalar")
    def asscalar(self) -> Any:
        """Return the only element; ValueError where there are more."""
        return self._read().item()

    @blocker("scalar")
    def item(self, *index: Any) -> Any:
        """Return one element as a Python number; see `numpy.ndarray.item`."""
        return self._read().item(*index)

    @blocker("array")
    def tolist(self) -> Any:
        """Return the data as nested lists of Python numbers."""
        return self._read().tolist()

    @blocker("array")
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("an array of the engine cannot be shared with NumPy without a copy")
        return numpy.array(self._read(), dtype=dtype)

    @blocker("truth")
    def __bool__(self) -> bool:
        return bool(self._read())

    @blocker("truth")
    def __contains__(self, value: Any) -> bool:
        return bool((self._read() == value).any())

    @blocker("scalar")
    def __int__(self) -> int:
        return int(self._read().item())

    @blocker("scalar")
    def __float__(self) -> float:
        return float(self._read().item())

    @blocker("scalar")
    def __complex__(self) -> complex:
        return complex(self._read().item())

    @blocker("scalar")
    def __index__(self) -> int:
        return operator.index(self._read())

    @blocker("text")
    def __repr__(self) -> str:
        return repr(self._read())

    @blocker("text")
    def __str__(self) -> str:
        return str(self._read())

    @blocker("text")
    def __format__(self, spec: str) -> str:
        data = self._read()
        return format(data if data.ndim else data[()], spec)

    def copyto(self, other: Any) -> Any:
        """Copy the data into `other`, and return it; blocks where it is an array of the host."""
        if isinstance(other, ndarray):
            other[...] = self
            return other
        return self._copy_to_host(other)

    def _copy_to_host(self, other: Any) -> Any:
        if not hooks.listeners:
            numpy.copyto(other, self._read())
        else:
            with hooks.sync_point(default.engine, "array", "engine.ndarray.copyto"):
                numpy.copyto(other, self._read())
        return other

    def _read(self) -> Any:
        default.engine.wait_for_var(self._var)
        return self._store.data

    # ------------------------------------------------------------------------------ operators

    def __add__(self, other: Any) -> Any:
        return binary(numpy.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(numpy.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return binary(numpy.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(numpy.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return binary(numpy.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(numpy.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary(numpy.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(numpy.true_divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary(numpy.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(numpy.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return binary(numpy.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(numpy.remainder, other, self)

    def __pow__(self, other: Any) -> Any:
        return binary(numpy.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return binary(numpy.power, other, self)

    def __and__(self, other: Any) -> Any:
        return binary(numpy.bitwise_and, self, other)

    def __or__(self, other: Any) -> Any:
        return binary(numpy.bitwise_or, self, other)

    def __xor__(self, other: Any) -> Any:
        return binary(numpy.bitwise_xor, self, other)

    def __lt__(self, other: Any) -> Any:
        return binary(numpy.less, self, other)

    def __le__(self, other: Any) -> Any:
        return binary(numpy.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return binary(numpy.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return binary(numpy.greater_equal, self, other)

    def __eq__(self, other: object) -> Any:
        return binary(numpy.equal, self, other)

    def __ne__(self, other: object) -> Any:
        return binary(numpy.not_equal, self, other)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    def __neg__(self) -> Any:
        return unary(numpy.negative, self)

    def __pos__(self) -> Any:
        return unary(numpy.positive, self)

    def __abs__(self) -> Any:
        return unary(numpy.absolute, self)

    def __invert__(self) -> Any:
        return unary(numpy.invert, self)

    def __iadd__(self, other: Any) -> Any:
        return in_place(numpy.add, self, other)

    def __isub__(self, other: Any) -> Any:
        return in_place(numpy.subtract, self, other)

    def __imul__(self, other: Any) -> Any:
        return in_place(numpy.multiply, self, other)

    def __itruediv__(self, other: Any) -> Any:
        return in_place(numpy.true_divide, self, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return in_place(numpy.floor_divide, self, other)

    def __imod__(self, other: Any) -> Any:
        return in_place(numpy.remainder, self, other)

    def __ipow__(self, other: Any) -> Any:
        return in_place(numpy.power, self, other)

    def __iand__(self, other: Any) -> Any:
        return in_place(numpy.bitwise_and, self, other)

    def __ior__(self, other: Any) -> Any:
        return in_place(numpy.bitwise_or, self, other)

    def __ixor__(self, other: Any) -> Any:
        return in_place(numpy.bitwise_xor, self, other)

    # ------------------------------------------------------------------------ shape and index

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Return a view for a basic index, a copy for an array of integers.

        An index that is a device array of booleans blocks: the shape depends on its values.
        """
        if has_device_mask(key):
            return self._read_masked(key)
        if is_basic(key):
            return view(self, self._layout()[key], operator.itemgetter(key))
        names, stores, rebuild = take_apart(key)
        ghost = numpy.broadcast_to(numpy.empty((), numpy.bool_), self._shape)
        shape = ghost[rebuild(*(numpy.zeros(n._shape, numpy.intp) for n in names))].shape

        def take(data: Any, *found: Any) -> Any:
            return numpy.array(data[rebuild(*found)])

        return compute(take, (self, *names), shape, self._dtype, stores)

    @blocker("shape")
    def _read_masked(self, key: Any) -> Any:
        host = tuple(k._read() if isinstance(k, ndarray) else k for k in as_tuple(key))
        return from_host(numpy.array(self._read()[host]))

    def __setitem__(self, key: Any, value: Any) -> None:
        names, _, rebuild = take_apart(key)
        source = operand(value)
        if source is NotImplemented:
            raise TypeError(f"cannot assign {type(value).__name__} to an array of the engine")
        if not has_device_mask(key):
            ghost = numpy.broadcast_to(numpy.empty((), numpy.bool_), self._shape)
            zeros = (numpy.zeros(n._shape, numpy.intp) for n in names)
            infer.into(ghost[rebuild(*zeros)].shape, numpy.shape(source))

        def setitem(data: Any, new: Any, *found: Any) -> None:
            data[rebuild(*found)] = new

        update(setitem, self, (source, *names))

    def reshape(self, *shape: Any) -> Any:
        """Return the data in another shape: a view of a contiguous array, else a copy."""
        wanted = shape[0] if len(shape) == 1 else shape
        new = infer.reshaped(self._shape, wanted)
        if self._ghost is None or self._ghost.flags.c_contiguous:
            ghost = as_strided(numpy.empty((1,), self._dtype), new, _strides(new, self._dtype))
            return view(self, ghost, operator.methodcaller("reshape", new))
        copy = named("reshape", lambda data: numpy.array(data).reshape(new))
        return compute(copy, (self,), new, self._dtype)

    def transpose(self, *order: Any) -> Any:
        """Return a view with the axes in another order (reversed where none is given)."""
        wanted = order[0] if len(order) == 1 else (order or None)
        ghost = self._layout().transpose(wanted)
        return view(self, ghost, operator.methodcaller("transpose", wanted))

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The view with the axes reversed."""
        return self.transpose()

    def flatten(self) -> Any:
        """Return a copy with one axis."""
        flat = named("flatten", lambda data: data.flatten())
        return compute(flat, (self,), (self.size,), self._dtype)

    def ravel(self) -> Any:
        """Return the data with one axis: a view of a contiguous array, else a copy."""
        return self.reshape(self.size)

    def squeeze(self, axis: Any = None) -> Any:
        """Return a view without the axes of size one (or those given)."""
        return view(self, self._layout().squeeze(axis), operator.methodcaller("squeeze", axis))

    def swapaxes(self, a: int, b: int) -> Any:
        """Return a view with two axes exchanged."""
        return view(self, self._layout().swapaxes(a, b), operator.methodcaller("swapaxes", a, b))

    def _layout(self) -> Any:
        """Return an array with this one's shape and strides, and no memory: never read it."""
        if self._ghost is not None:
            return self._ghost
        strides = _strides(self._shape, self._dtype)
        return as_strided(numpy.empty((1,), self._dtype), self._shape, strides)

    # -------------------------------------------------------------------- copies and reductions

    def astype(self, dtype: Any) -> Any:
        """Return a copy converted to `dtype`."""
        to = numpy.dtype(dtype)
        cast = named("astype", lambda data: numpy.array(data, dtype=to, order="C"))
        return compute(cast, (self,), self._shape, to)

    def copy(self) -> Any:
        """Return a copy."""
        return self.astype(self._dtype)

    def fill(self, value: Any) -> None:
        """Set every element to `value`."""
        self[...] = value

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.sum, self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.mean, self, axis, keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.prod, self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.max, self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.min, self, axis, keepdims)

    def std(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.std, self, axis, keepdims)

    def var(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.var, self, axis, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.all, self, axis, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(numpy.any, self, axis, keepdims)

    def argmax(self, axis: int | None = None) -> Any:
        return reduction(numpy.argmax, self, axis, False)

    def argmin(self, axis: int | None = None) -> Any:
        return reduction(numpy.argmin, self, axis, False)

    def dot(self, other: Any) -> Any:
        """See `asyncguard.engine.np.dot`."""
        return dot(self, other)

    @blocker("shape")
    def nonzero(self) -> tuple[Any, ...]:
        """Return the indices of the elements that are not zero, one array per axis. Blocks."""
        return tuple(map(from_host, numpy.nonzero(self._read())))


# ------------------------------------------------------------------ how operations are enqueued


def fresh(shape: Shape, dtype: Any) -> Any:
    """Return an array that the next operation will fill."""
    chunk = Chunk()
    return ndarray(chunk, chunk, shape, dtype, None)


def from_host(data: Any) -> Any:
    """Return a device array over `data`, a contiguous NumPy array that nobody else writes to."""
    array = fresh(data.shape, data.dtype)
    array._var.data = data
    return array


def operand(value: Any) -> Any:
    """Return `value` as a device array, a number, or NotImplemented.

    Arrays and sequences of the host are copied now, so the caller may change them afterwards.
    """
    if isinstance(value, (ndarray, int, float, complex, numpy.generic)):
        return value
    if isinstance(value, (numpy.ndarray, list, tuple)):
        return from_host(numpy.array(value, order="C"))
    return NotImplemented


def compute(
    function: Callable[..., Any],
    arrays: Sequence[Any],
    shape: Shape,
    dtype: Any,
    brief: bool = False,
) -> Any:
    """Enqueue ``function(*arrays)`` and return its result; `brief` where it is element-wise."""
    result = fresh(shape, dtype)
    nbytes = result.nbytes
    default.engine.submit(
        Compute(
            function,
            tuple([a._store if isinstance(a, ndarray) else Constant(a) for a in arrays]),
            result._var,
            tuple([a._var for a in arrays if isinstance(a, ndarray)]),
            nbytes,
            brief and nbytes <= BRIEF_BYTES,
        )
    )
    return result


def update(function: Callable[..., Any], target: ndarray, arrays: Sequence[Any]) -> None:
    """Enqueue ``function(target, *arrays)``, which writes into `target`."""
    default.engine.submit(
        Update(
            function,
            target._store,
            tuple([a._store if isinstance(a, ndarray) else Constant(a) for a in arrays]),
            target._var,
            tuple([a._var for a in arrays if isinstance(a, ndarray)]),
            target.nbytes,
        )
    )


def view(base: ndarray, ghost: Any, look: Callable[[Any], Any]) -> Any:
    """Return a view of `base` with the layout of `ghost`; nothing is enqueued."""
    if not isinstance(ghost, numpy.ndarray):  # a full index: NumPy gives a number, we an array
        ghost, number = numpy.empty((), base._dtype), look
        look = functools.partial(_element, number)
    return ndarray(base._var, View(base._store, look), ghost.shape, base._dtype, ghost)


def _element(look: Any, data: Any) -> Any:
    (key,) = look.__reduce__()[1]
    return data[(*as_tuple(key), ...)]


def unary(function: Any, x: Any) -> Any:
    """Enqueue the NumPy function `function` of one array, element by element."""
    x = operand(x)
    if not isinstance(x, ndarray):
        x = from_host(numpy.asarray(x))
    return compute(
        contiguous(function, x._shape),
        (x,),
        x._shape,
        infer.dtype_of(function, x._dtype),
        brief=True,
    )


def binary(function: Any, x: Any, y: Any) -> Any:
    """Enqueue the NumPy function `function` of two arrays or numbers, with broadcasting.

    Returns NotImplemented where an operand is neither. What can be told from shapes and types is
    told once per combination and kept in `_plans`.
    """
    if type(x) is ndarray:
        left = (type(x._store), x._shape, x._dtype)
    else:
        x = operand(x)
        left = _key(x)
    if type(y) is ndarray:
        right = (type(y._store), y._shape, y._dtype)
    else:
        y = operand(y)
        right = _key(y)
    plan = _plans.get((function, left, right))
    if plan is None:
        if x is NotImplemented or y is NotImplemented:
            return NotImplemented
        plan = _plan(function, x, y, (function, left, right))
    kernel, shape, dtype, nbytes, brief, a, b = plan
    out = Chunk()
    if a is not None:
        reads, arguments = (y._var,), (a, y._store)
    elif b is not None:
        reads, arguments = (x._var,), (x._store, b)
    else:
        reads, arguments = (x._var, y._var), (x._store, y._store)
    default.engine.submit(Compute(kernel, arguments, out, reads, nbytes, brief))
    return ndarray(out, out, shape, dtype, None)


_plans: dict[Any, Any] = {}


def _key(x: Any) -> Any:
    """Return what a plan depends on: layout, shape and dtype, or the number with its type."""
    if isinstance(x, ndarray):
        return (type(x._store), x._shape, x._dtype)
    return (type(x), x)


def _plan(function: Any, x: Any, y: Any, key: Any) -> Any:
    """Return kernel, shape, dtype, nbytes, brief, and the constants in the places of numbers."""
    if not isinstance(x, ndarray) and not isinstance(y, ndarray):
        x, y = from_host(numpy.asarray(x)), from_host(numpy.asarray(y))
    shape = infer.broadcast(numpy.shape(x), numpy.shape(y))
    kernel, dtype = _promoted(function, x, y)
    if not shape or View in (key[1][0], key[2][0]):
        kernel = contiguous(kernel, shape)
    nbytes = math.prod(shape) * dtype.itemsize
    a = None if isinstance(x, ndarray) else Constant(x)
    b = None if isinstance(y, ndarray) else Constant(y)
    plan = (kernel, shape, dtype, nbytes, nbytes <= BRIEF_BYTES, a, b)
    if len(_plans) > 4096:  # a number that changes each step makes a plan each step
        _plans.clear()
    _plans[key] = plan
    return plan


def _promoted(function: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the kernel and the dtype of its result.

    NumPy 1 lets the value of an array without axes decide its type; there we convert first.
    """
    types = [v._dtype if isinstance(v, ndarray) else v for v in (x, y)]
    sample = [infer.tiny(t) if isinstance(t, numpy.dtype) else t for t in types]
    dtype = function(*sample).dtype
    both = isinstance(x, ndarray) and isinstance(y, ndarray)
    if not both or types[0] == types[1] or (x._shape and y._shape):
        return function, dtype
    common = numpy.result_type(*types)

    def converted(a: Any, b: Any) -> Any:
        return function(a.astype(common), b.astype(common))

    return named(function.__name__, converted), function(*[s.astype(common) for s in sample]).dtype


def in_place(function: Any, target: ndarray, value: Any) -> Any:
    """Enqueue ``function(target, value, out=target)`` and return `target`."""
    value = operand(value)
    if value is NotImplemented:
        return NotImplemented
    infer.into(target._shape, numpy.shape(value))
    if len(numpy.shape(value)) > len(target._shape):
        raise ValueError("non-broadcastable output operand: too few dimensions")
    sample = infer.tiny(value._dtype) if isinstance(value, ndarray) else value
    function(infer.tiny(target._dtype), sample, out=infer.tiny(target._dtype).copy())
    kernel = named(function.__name__, lambda data, other: function(data, other, out=data))
    update(kernel, target, (value,))
    return target


def reduction(function: Any, x: ndarray, axis: Any, keepdims: bool) -> Any:
    """Enqueue a NumPy reduction of `x` along `axis` (None: all of them)."""
    shape = infer.reduced(x._shape, axis, keepdims)
    options: dict[str, Any] = {"axis": axis, "keepdims": True} if keepdims else {"axis": axis}
    dtype = infer.dtype_of(function, x._dtype)
    if x.size == 0:
        function(numpy.zeros(x._shape, x._dtype), **options)  # raises where nothing has no answer
    reduce = named(function.__name__, lambda data: numpy.asarray(function(data, **options)))
    return compute(reduce, (x,), shape, dtype, brief=x.nbytes <= BRIEF_BYTES)


def matmul(x: Any, y: Any) -> Any:
    """Enqueue the matrix product ``x @ y``: (..., n, k) by (..., k, m), or vectors (k,)."""
    return _product(numpy.matmul, infer.matmul, x, y)


def dot(x: Any, y: Any) -> Any:
    """Enqueue ``numpy.dot(x, y)``: the last axis of `x` by the last but one of `y`."""
    return _product(numpy.dot, infer.dot, x, y)


def _product(function: Any, rule: Callable[[Shape, Shape], Shape], x: Any, y: Any) -> Any:
    x, y = operand(x), operand(y)
    if x is NotImplemented or y is NotImplemented:
        return NotImplemented
    shape = rule(numpy.shape(x), numpy.shape(y))
    types = [v._dtype if isinstance(v, ndarray) else numpy.asarray(v).dtype for v in (x, y)]
    kernel = contiguous(function, shape)
    return compute(kernel, (x, y), shape, infer.dtype_of(numpy.multiply, *types))


# --------------------------------------------------------------------------------------- indices


def as_tuple(key: Any) -> tuple[Any, ...]:
    """Return an index as the tuple that it stands for."""
    return key if isinstance(key, tuple) else (key,)


def is_basic(key: Any) -> bool:
    """Whether `key` holds only integers, slices, None and Ellipsis: then the result is a view."""
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, (slice, numpy.integer))
        or (isinstance(part, int) and not isinstance(part, bool))
        for part in as_tuple(key)
    )


def has_device_mask(key: Any) -> bool:
    """Whether `key` holds a device array of booleans."""
    return any(isinstance(k, ndarray) and k._dtype == numpy.bool_ for k in as_tuple(key))


def take_apart(key: Any) -> tuple[list[Any], bool, Callable[..., Any]]:
    """Split an index into its device arrays, and a function that puts their data back.

    The second value says whether the index is small enough to be looked up at once.
    """
    parts = [numpy.array(k) if isinstance(k, list) else k for k in as_tuple(key)]
    arrays = [k for k in parts if isinstance(k, ndarray)]
    for array in arrays:
        if array._dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer or boolean type")

    def rebuild(*found: Any) -> tuple[Any, ...]:
        data = iter(found)
        return tuple(next(data) if isinstance(k, ndarray) else k for k in parts)

    return arrays, sum(numpy.size(k) for k in parts if not isinstance(k, slice)) < 64, rebuild


def _strides(shape: Shape, dtype: Any) -> Shape:
    """Return the strides in bytes of a C-contiguous array."""
    strides, step = [], int(dtype.itemsize)
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
