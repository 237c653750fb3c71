"""The device array: a handle on a result that may not be there yet.

Stands above `kernels.py`, `infer.py` and `default.py`; `np.py` adds the functions. An `ndarray`
knows its shape and dtype, and its data belong to the engine. Operators enqueue and return at once;
the methods under "blockers" wait, and each of them is a sync point.

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

from asyncguard.engine import default, hooks, infer
from asyncguard.engine.infer import Layout, Shape
from asyncguard.engine.kernels import (
    BRIEF_BYTES,
    Chunk,
    Compute,
    Constant,
    OfArrayAndNumber,
    OfNumberAndArray,
    OfTwo,
    Update,
    View,
    contiguous,
    named,
)

__all__ = ["ndarray"]

F = TypeVar("F", bound=Callable[..., Any])


def blocker(kind: str, owner: str = "ndarray", name: str = "") -> Callable[[F], F]:
    """Make a function a sync point of `kind`, called ``engine.<owner>.<name>``."""

    def decorate(function: F) -> F:
        api = f"engine.{owner}.{name or function.__name__}"

        @functools.wraps(function)
        def waiting(*args: Any, **kwargs: Any) -> Any:
            if not hooks.listeners:
                return function(*args, **kwargs)
            with hooks.sync_point(default.engine, kind, api):
                return function(*args, **kwargs)

        return waiting  # type: ignore[return-value]

    return decorate


Operator = Callable[[Any, Any], Any]


def operators(function: Any, update: Any = None) -> tuple[Operator, Operator, Operator]:
    """Return the operator that enqueues `function`, its reflected form, and that in place.

    `update` changes its first argument; without it `function` takes an `out` argument.
    """
    update = update or named(function.__name__, lambda x, y: function(x, y, out=x))

    def method(self: Any, other: Any) -> Any:
        return binary(function, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return binary(function, other, self)

    def updating(self: Any, other: Any) -> Any:
        return in_place(update, self, other)

    return method, reflected, updating


class ndarray:  # noqa: N801 - the name that NumPy and MXNet give it
    """An array whose data the engine owns. Made by the functions of `asyncguard.engine.np`."""

    __slots__ = ("_layout", "_store", "_vars")
    __array_priority__ = 1000.0  # NumPy's operators leave `host + device` to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, variables: tuple[Chunk], store: Chunk | View, layout: Layout) -> None:
        self._vars = variables  # ready to be the read or write set of an operation
        self._store = store
        self._layout = layout

    # ------------------------------------------------------------------- what is known at once

    @property
    def shape(self) -> Shape:
        return self._layout.shape

    @property
    def dtype(self) -> Any:
        return self._layout.dtype

    @property
    def ndim(self) -> int:
        return len(self._layout.shape)

    @property
    def size(self) -> int:
        return math.prod(self._layout.shape)

    @property
    def nbytes(self) -> int:
        return self._layout.nbytes

    @property
    def variable(self) -> Chunk:
        """What operations of your own must name to be ordered with this array; views share it."""
        return self._vars[0]

    @property
    def version(self) -> int:
        """How many writes of this array (or of what it is a view of) were carried out."""
        return self._vars[0].version

    def __len__(self) -> int:
        if not self._layout.shape:
            raise TypeError("len() of unsized object")
        return self._layout.shape[0]

    # ------------------------------------------------------------------------------- blockers

    @blocker("barrier")
    def wait_to_read(self) -> None:
        """Block until the data are there; raise what their operation raised."""
        default.engine.wait_for_var(self._vars[0])

    @blocker("barrier")
    def wait_to_write(self) -> None:
        """Block until nobody reads or writes the data any more."""
        default.engine.wait_to_write(self._vars[0])

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
        default.engine.wait_for_var(self._vars[0])
        return self._store.data

    # ------------------------------------------------------------------------------ operators

    __add__, __radd__, __iadd__ = operators(numpy.add)
    __sub__, __rsub__, __isub__ = operators(numpy.subtract)
    __mul__, __rmul__, __imul__ = operators(numpy.multiply)
    __truediv__, __rtruediv__, __itruediv__ = operators(numpy.true_divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = operators(numpy.floor_divide)
    __mod__, __rmod__, __imod__ = operators(numpy.remainder)
    __pow__, __rpow__, __ipow__ = operators(
        operator.pow, operator.ipow
    )  # x ** 2 has ways of its own
    __and__, __rand__, __iand__ = operators(numpy.bitwise_and)
    __or__, __ror__, __ior__ = operators(numpy.bitwise_or)
    __xor__, __rxor__, __ixor__ = operators(numpy.bitwise_xor)
    __lt__, _, _ = operators(numpy.less)
    __le__, _, _ = operators(numpy.less_equal)
    __gt__, _, _ = operators(numpy.greater)
    __ge__, _, _ = operators(numpy.greater_equal)
    __eq__, _, _ = operators(numpy.equal)
    __ne__, _, _ = operators(numpy.not_equal)

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
            return self._window(key)
        names, rebuild = take_apart(key)
        ghost = numpy.broadcast_to(numpy.empty((), numpy.bool_), self.shape)
        shape = ghost[rebuild(*(numpy.zeros(n.shape, numpy.intp) for n in names))].shape

        def take(data: Any, *found: Any) -> Any:
            return numpy.array(data[rebuild(*found)])

        return compute(take, (self, *names), shape, self.dtype)

    @blocker("shape", name="__getitem__.mask")
    def _read_masked(self, key: Any) -> Any:
        host = tuple(k._read() if isinstance(k, ndarray) else k for k in as_tuple(key))
        return from_host(numpy.array(self._read()[host]))

    def __setitem__(self, key: Any, value: Any) -> None:
        names, rebuild = take_apart(key)
        source = operand(value)
        if source is NotImplemented:
            raise TypeError(f"cannot assign {type(value).__name__} to an array of the engine")
        if not has_device_mask(key):
            ghost = numpy.broadcast_to(numpy.empty((), numpy.bool_), self.shape)
            zeros = (numpy.zeros(n.shape, numpy.intp) for n in names)
            infer.into(ghost[rebuild(*zeros)].shape, numpy.shape(source))

        def setitem(data: Any, new: Any, *found: Any) -> None:
            data[rebuild(*found)] = new

        update(setitem, self, (source, *names))

    def _window(self, key: Any) -> Any:
        parts = as_tuple(key)
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, ...)  # with it even a single element is an array, not a number
        look = operator.itemgetter(parts)
        return view(self, look(self._layout.ghost()), look)

    def reshape(self, *shape: Any) -> Any:
        """Return the data in another shape: a view of a contiguous array, else a copy."""
        new = infer.reshaped(self.shape, shape[0] if len(shape) == 1 else shape)
        if self._layout.plain:
            ghost = infer.layout(new, self.dtype).ghost()
            return view(self, ghost, operator.methodcaller("reshape", new))
        copy = named("reshape", lambda data: numpy.array(data, order="C").reshape(new))
        return compute(copy, (self,), new, self.dtype)

    def transpose(self, *order: Any) -> Any:
        """Return a view with the axes in another order (reversed where none is given)."""
        wanted = order[0] if len(order) == 1 else (order or None)
        return self._seen("transpose", wanted)

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The view with the axes reversed."""
        return self.transpose()

    def squeeze(self, axis: Any = None) -> Any:
        """Return a view without the axes of size one (or those given)."""
        return self._seen("squeeze", axis)

    def swapaxes(self, a: int, b: int) -> Any:
        """Return a view with two axes exchanged."""
        return self._seen("swapaxes", a, b)

    def _seen(self, method: str, *arguments: Any) -> Any:
        look = operator.methodcaller(method, *arguments)
        return view(self, look(self._layout.ghost()), look)

    def flatten(self) -> Any:
        """Return a copy with one axis."""
        flat = named("flatten", lambda data: data.flatten())
        return compute(flat, (self,), (self.size,), self.dtype)

    def ravel(self) -> Any:
        """Return the data with one axis: a view of a contiguous array, else a copy."""
        return self.reshape(self.size)

    # -------------------------------------------------------------------- copies and reductions

    def astype(self, dtype: Any) -> Any:
        """Return a copy converted to `dtype`."""
        to = numpy.dtype(dtype)
        cast = named("astype", lambda data: numpy.array(data, dtype=to, order="C"))
        return compute(cast, (self,), self.shape, to)

    def copy(self) -> Any:
        """Return a copy."""
        return self.astype(self.dtype)

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
    return ndarray((chunk,), chunk, infer.layout(shape, dtype))


def from_host(data: Any) -> Any:
    """Return a device array over `data`, a contiguous NumPy array that nobody else writes to."""
    array = fresh(data.shape, data.dtype)
    array._vars[0].data = data
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
    brief = brief and nbytes <= BRIEF_BYTES
    operation = Compute(function, _variables(arrays), result._vars, nbytes, brief)
    operation.arguments = _stores(arrays)
    default.engine.submit(operation)
    return result


def update(function: Callable[..., Any], target: ndarray, arrays: Sequence[Any]) -> None:
    """Enqueue ``function(target, *arrays)``, which writes into `target`."""
    stores, reads = _stores(arrays), _variables(arrays)
    operation = Update(function, target._store, stores, target._vars, reads, target.nbytes)
    default.engine.submit(operation)


def _stores(arrays: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([a._store if isinstance(a, ndarray) else Constant(a) for a in arrays])


def _variables(arrays: Sequence[Any]) -> tuple[Chunk, ...]:
    return tuple([a._vars[0] for a in arrays if isinstance(a, ndarray)])


def view(base: ndarray, ghost: Any, look: Callable[[Any], Any]) -> Any:
    """Return a view of `base` with the layout of `ghost`; nothing is enqueued."""
    layout = infer.layout(ghost.shape, base.dtype, ghost.strides)
    return ndarray(base._vars, View(base._store, look), layout)


def unary(function: Any, x: Any) -> Any:
    """Enqueue the NumPy function `function` of one array, element by element."""
    x = operand(x)
    if not isinstance(x, ndarray):
        x = from_host(numpy.asarray(x))
    return compute(
        contiguous(function, x.shape),
        (x,),
        x.shape,
        infer.dtype_of(function, x.dtype),
        brief=True,
    )


def binary(function: Any, x: Any, y: Any) -> Any:
    """Enqueue the NumPy function `function` of two arrays or numbers, with broadcasting.

    Returns NotImplemented where an operand is neither. What can be told from layouts is told once
    for each combination and kept as a plan: the kind of operation, its kernel, and the result's
    layout.
    """
    if type(x) is not ndarray or type(y) not in _SIMPLE:
        x, y = operand(x), operand(y)
        if x is NotImplemented or y is NotImplemented:
            return NotImplemented
        if type(x) is not ndarray and type(y) is not ndarray:
            x = from_host(numpy.asarray(x))
    if type(x) is not ndarray:
        plans, key = y._layout.plans, (type(x), x, function)
        plan = plans.get(key) or _plan(function, x, y, plans, key)
        reads, left, right = y._vars, plan[4] or x, y._store
    elif type(y) is not ndarray:
        plans, key = x._layout.plans, (function, type(y), y)
        plan = plans.get(key) or _plan(function, x, y, plans, key)
        reads, left, right = x._vars, x._store, plan[4] or y
    else:
        plans, key = x._layout.plans, (function, y._layout)  # type: ignore[assignment]
        plan = plans.get(key) or _plan(function, x, y, plans, key)
        reads, left, right = x._vars + y._vars, x._store, y._store
    kind, kernel, layout, brief, _ = plan
    out = Chunk()
    writes = (out,)
    operation = kind(kernel, reads, writes, layout.nbytes, brief)
    operation.x, operation.y = left, right
    default.engine.submit(operation)
    return ndarray(writes, out, layout)


_SIMPLE = frozenset([ndarray, int, float, bool])


def _plan(function: Any, x: Any, y: Any, plans: dict[Any, Any], key: Any) -> Any:
    """Find the operation, kernel and result's layout, whether it is brief, and the constant."""
    shape = infer.broadcast(numpy.shape(x), numpy.shape(y))
    kernel, dtype = _promoted(function, x, y)
    if not shape or not all(v._layout.plain for v in (x, y) if isinstance(v, ndarray)):
        kernel = contiguous(kernel, shape)
    layout = infer.layout(shape, dtype)
    kind: type[OfTwo] = OfTwo
    constant = None
    if not isinstance(x, ndarray):
        constant, kind = infer.constant(function, x, y.dtype), OfNumberAndArray
    elif not isinstance(y, ndarray):
        constant, kind = infer.constant(function, y, x.dtype), OfArrayAndNumber
    if constant is not None:
        constant, kind = Constant(constant), OfTwo
    if len(plans) > 256:  # a number that changes each step makes a plan each step
        plans.clear()
    plans[key] = plan = (kind, kernel, layout, layout.nbytes <= BRIEF_BYTES, constant)
    return plan


def _promoted(function: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the kernel and the dtype of its result.

    NumPy 1 lets the value of an array without axes decide its type; there we convert first.
    """
    types = [v.dtype if isinstance(v, ndarray) else v for v in (x, y)]
    sample = [infer.tiny(t) if isinstance(t, numpy.dtype) else t for t in types]
    dtype = function(*sample).dtype
    both = isinstance(x, ndarray) and isinstance(y, ndarray)
    if not both or types[0] == types[1] or (x.shape and y.shape):
        return function, dtype
    common = numpy.result_type(*types)

    def converted(a: Any, b: Any) -> Any:
        return function(a.astype(common), b.astype(common))

    return named(function.__name__, converted), function(*[s.astype(common) for s in sample]).dtype


def in_place(function: Any, target: ndarray, value: Any) -> Any:
    """Enqueue ``function(target, value)``, which changes `target`, and return `target`."""
    value = operand(value)
    if value is NotImplemented:
        return NotImplemented
    infer.into(target.shape, numpy.shape(value))
    if len(numpy.shape(value)) > len(target.shape):
        raise ValueError("non-broadcastable output operand: too few dimensions")
    sample = infer.tiny(value.dtype) if isinstance(value, ndarray) else value
    function(infer.tiny(target.dtype).copy(), sample)  # raises where the types do not allow it
    update(function, target, (value,))
    return target


def reduction(function: Any, x: ndarray, axis: Any, keepdims: bool) -> Any:
    """Enqueue a NumPy reduction of `x` along `axis` (None: all of them)."""
    shape = infer.reduced(x.shape, axis, keepdims)
    options: dict[str, Any] = {"axis": axis, "keepdims": True} if keepdims else {"axis": axis}
    dtype = infer.dtype_of(function, x.dtype)
    if x.size == 0:
        function(numpy.zeros(x.shape, x.dtype), **options)  # raises where nothing has no answer
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
    types = [v.dtype if isinstance(v, ndarray) else numpy.asarray(v).dtype for v in (x, y)]
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
    return any(isinstance(k, ndarray) and k.dtype == numpy.bool_ for k in as_tuple(key))


def take_apart(key: Any) -> tuple[list[Any], Callable[..., Any]]:
    """Split an index into its device arrays, and a function that puts their data back."""
    parts = [numpy.array(k) if isinstance(k, list) else k for k in as_tuple(key)]
    arrays = [k for k in parts if isinstance(k, ndarray)]
    for array in arrays:
        if array.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer or boolean type")

    def rebuild(*found: Any) -> tuple[Any, ...]:
        data = iter(found)
        return tuple(next(data) if isinstance(k, ndarray) else k for k in parts)

    return arrays, rebuild
