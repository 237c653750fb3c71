"""Where device arrays keep their data, and the operations that compute it.

Stands between `core.py` and `ndarray.py`. A `Chunk` is a variable with a buffer behind it, a
`View` a window on one: it shares the variable, so a write through either is ordered against both.
The operations: `Fresh` and its kinds bind a fresh chunk, `Update` writes into one that exists.
Chunks are always C-contiguous.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

from asyncguard.engine.core import OWN_FILES, Operation, Variable

__all__ = ["BRIEF_BYTES", "Chunk", "Compute", "Constant", "OfTwo", "Update", "View"]

BRIEF_BYTES = 4096
"""Element-wise work on no more than this is brief: it takes less time than waking a thread."""


class Chunk(Variable):
    """A variable and its buffer: `data` is a NumPy array once the operation that makes it ran."""

    __slots__ = ("data",)
    data: Any


class View:
    """A window on the data of `parent`, made when first needed. Its variable is its parent's."""

    __slots__ = ("_data", "_look", "_parent")

    def __init__(self, parent: Chunk | View, look: Callable[[Any], Any]) -> None:
        self._parent = parent
        self._look = look
        self._data: Any = None

    @property
    def data(self) -> Any:
        if self._data is None:  # made twice where two threads meet here, and equal
            self._data = self._look(self._parent.data)
        return self._data


class Constant:
    """A host value that stands where an array may stand."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data


Store = Chunk | View | Constant


class Fresh(Operation):
    """An operation that binds a new array to the only variable that it writes, a chunk."""

    __slots__ = ("function",)
    repeatable = True

    def __init__(
        self,
        function: Callable[..., Any],
        reads: tuple[Variable, ...],
        writes: tuple[Chunk],
        nbytes: int,
        brief: bool,
    ) -> None:
        # `Operation.__init__` in place: where an operation takes a microsecond, calls count.
        self.function: Any = function
        self.reads = reads
        self.writes: tuple[Any, ...] = writes
        self.nbytes = nbytes
        self.brief = brief
        self.done = False
        self.failure = None
        try:
            frame = sys._getframe(3)  # past binary() or compute(), and their caller in `ndarray`
        except ValueError:  # a thread started right there
            frame = sys._getframe(0)
        while frame.f_code.co_filename in OWN_FILES and frame.f_back is not None:
            frame = frame.f_back
        self.origin = frame.f_code
        self.instruction = frame.f_lasti

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(getattr(self.function, "__name__", "compute"))


class Compute(Fresh):
    """``out.data = function(*(argument.data for argument in arguments))``, the general case."""

    __slots__ = ("arguments",)
    arguments: tuple[Store, ...]

    def run(self) -> None:
        self.writes[0].data = self.function(*[argument.data for argument in self.arguments])

    def release(self) -> None:
        self.reads = self.writes = self.arguments = ()


class OfTwo(Fresh):
    """``out.data = function(x.data, y.data)``: the common case, and its operands in slots."""

    __slots__ = ("x", "y")
    x: Any
    y: Any

    def run(self) -> None:
        self.writes[0].data = self.function(self.x.data, self.y.data)

    def release(self) -> None:
        self.x = self.y = None
        self.reads = self.writes = ()


class OfArrayAndNumber(OfTwo):
    """The common case with a number of the host on the right."""

    __slots__ = ()

    def run(self) -> None:
        self.writes[0].data = self.function(self.x.data, self.y)


class OfNumberAndArray(OfTwo):
    """The common case with a number of the host on the left."""

    __slots__ = ()

    def run(self) -> None:
        self.writes[0].data = self.function(self.x, self.y.data)


class Update(Operation):
    """``function(target.data, *(argument.data ...))``: writes into a buffer that exists."""

    __slots__ = ("arguments", "function", "target")

    def __init__(
        self,
        function: Callable[..., Any],
        target: Chunk | View,
        arguments: tuple[Store, ...],
        writes: tuple[Variable, ...],
        reads: tuple[Variable, ...],
        nbytes: int,
    ) -> None:
        super().__init__(writes + reads, writes, 0, nbytes <= BRIEF_BYTES)
        self.function: Any = function
        self.target: Any = target
        self.arguments = arguments

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(getattr(self.function, "__name__", "update"))

    def run(self) -> None:
        self.function(self.target.data, *[argument.data for argument in self.arguments])

    def release(self) -> None:
        self.reads = self.writes = self.arguments = ()
        self.target = None


def named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` under the name that events and pictures show."""
    function.__name__ = name
    return function


def contiguous(function: Callable[..., Any], shape: tuple[int, ...]) -> Callable[..., Any]:
    """Return `function` with a result that is a C-contiguous array even where it has no axes."""
    if shape:
        return named(
            function.__name__,
            lambda *arguments: numpy.ascontiguousarray(function(*arguments)),
        )
    return named(function.__name__, lambda *arguments: numpy.asarray(function(*arguments)))
