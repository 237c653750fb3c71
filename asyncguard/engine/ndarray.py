"""The device array: a handle on a result that may not be there yet.

Stands above `handle.py`, which knows the shape and waits for the data; `np.py` adds the functions.
Operators enqueue and return at once.

As in NumPy, basic indexing, `T` and `reshape` of a contiguous array give views; all else copies.
Unlike NumPy, an array without axes counts with its own dtype when types are promoted, whatever its
value is (the value is not known yet; NumPy 2 does the same for all arrays).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from asyncguard.engine import default, infer
from asyncguard.engine.handle import Handle, blocker, stores_of, variables_of
from asyncguard.engine.indices import as_tuple, has_device_mask, is_basic, take_apart
from asyncguard.engine.infer import Shape
from asyncguard.engine.kernels import (
    BRIEF_BYTES,
    Chunk,
    Compute,
    Update,
    View,
    contiguous,
    named,
)
from asyncguard.engine.plans import make_plan

__all__ = ["ndarray"]

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


def reducer(function: Any) -> Callable[..., Any]:
    """Return the method that enqueues the NumPy reduction `function`."""

    def method(self: ndarray, axis: Any = None, keepdims: bool = False) -> Any:
        return reduction(function, self, axis, keepdims)

    return method


class ndarray(Handle):  # noqa: N801 - the name that NumPy and MXNet give it
    """An array whose data the engine owns. Made by the functions of `asyncguard.engine.np`."""

    __slots__ = ()
    __array_priority__ = 1000.0  # NumPy's operators leave `host + device` to us
    __hash__ = None  # type: ignore[assignment]

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

    sum = reducer(numpy.sum)
    mean = reducer(numpy.mean)
    prod = reducer(numpy.prod)
    max = reducer(numpy.max)
    min = reducer(numpy.min)
    std = reducer(numpy.std)
    var = reducer(numpy.var)
    all = reducer(numpy.all)
    any = reducer(numpy.any)

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
    operation = Compute(function, variables_of(arrays), result._vars, nbytes, brief)
    operation.arguments = stores_of(arrays)
    default.engine.submit(operation)
    return result


def update(function: Callable[..., Any], target: ndarray, arrays: Sequence[Any]) -> None:
    """Enqueue ``function(target, *arrays)``, which writes into `target`."""
    stores, reads = stores_of(arrays), variables_of(arrays)
    operation = Update(function, target._store, stores, target._vars, reads, target.nbytes)
    default.engine.submit(operation)


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
        plan = plans.get(key) or make_plan(function, x, y, plans, key)
        reads, left, right = y._vars, plan[4] or x, y._store
    elif type(y) is not ndarray:
        plans, key = x._layout.plans, (function, type(y), y)
        plan = plans.get(key) or make_plan(function, x, y, plans, key)
        reads, left, right = x._vars, x._store, plan[4] or y
    else:
        plans, key = x._layout.plans, (function, y._layout)  # type: ignore[assignment]
        plan = plans.get(key) or make_plan(function, x, y, plans, key)
        reads, left, right = x._vars + y._vars, x._store, y._store
    kind, kernel, layout, brief, _ = plan
    out = Chunk()
    writes = (out,)
    operation = kind(kernel, reads, writes, layout.nbytes, brief)
    operation.x, operation.y = left, right
    default.engine.submit(operation)
    return ndarray(writes, out, layout)


_SIMPLE = frozenset([ndarray, int, float, bool])


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
