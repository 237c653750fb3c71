"""The handle on a result that may not be there yet: what is known at once, and what waits.

Stands above `kernels.py`, `infer.py` and `default.py`. Shape and dtype are known without the data;
the methods under "blockers" wait for them, and each of them is a sync point. `ndarray.py` adds
operators, views and reductions.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy

from asyncguard.engine import default, hooks
from asyncguard.engine.infer import Layout, Shape
from asyncguard.engine.kernels import Chunk, Constant, View

__all__ = ["Handle", "blocker", "stores_of", "variables_of"]

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


class Handle:
    """A result that the engine owns, of known shape and dtype; `ndarray` is its only subclass."""

    __slots__ = ("_layout", "_store", "_vars")

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
        if not isinstance(other, Handle):
            return self._copy_to_host(other)
        target: Any = other
        target[...] = self
        return target

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


def stores_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return where an operation finds each of its arguments: in an array, or a constant."""
    return tuple([a._store if isinstance(a, Handle) else Constant(a) for a in arrays])


def variables_of(arrays: Sequence[Any]) -> tuple[Chunk, ...]:
    """Return the variables that an operation on these arguments reads."""
    return tuple([a._vars[0] for a in arrays if isinstance(a, Handle)])
