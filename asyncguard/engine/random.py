"""Random numbers of the array frontend: ``np.random``. Stands beside `np.py`.

One generator belongs to the engine, behind a variable: operations that draw from it are ordered,
so a seed gives the same numbers on every engine, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from asyncguard.engine import default
from asyncguard.engine.kernels import BRIEF_BYTES, Chunk, Compute, named
from asyncguard.engine.ndarray import fresh, ndarray

Size = int | Sequence[int] | None

_generator = Chunk()
_generator.data = numpy.random.default_rng()


class Draw(Compute):
    """A computation that also moves the generator on, so it must not be run twice."""

    __slots__ = ()
    repeatable = False

    def __init__(self, function: Callable[[Any], Any], result: Any, brief: bool) -> None:
        super().__init__(function, (_generator,), result._vars, result.nbytes, brief)
        self.writes = (*result._vars, _generator)
        self.arguments = (_generator,)


def seed(value: int | None = None) -> None:
    """Start the generator again from `value`; None takes fresh entropy."""

    def restart() -> None:
        _generator.data = numpy.random.default_rng(value)

    default.engine.push(restart, writes=(_generator,), name="seed")


def _draw(name: str, size: Size, dtype: Any, function: Callable[[Any, Any], Any]) -> ndarray:
    shape = () if size is None else tuple(numpy.empty((0, *numpy.atleast_1d(size))).shape[1:])
    kind = numpy.dtype(dtype)
    result = fresh(shape, kind)

    def draw(generator: Any) -> Any:
        return numpy.asarray(function(generator, shape), dtype=kind)

    default.engine.submit(Draw(named(name, draw), result, result.nbytes <= BRIEF_BYTES))
    return result  # type: ignore[no-any-return]


def uniform(
    low: float = 0.0, high: float = 1.0, size: Size = None, dtype: Any = numpy.float64
) -> ndarray:
    """Return numbers from the uniform distribution on [low, high)."""
    return _draw("uniform", size, dtype, lambda g, shape: g.uniform(low, high, shape))


def normal(
    loc: float = 0.0, scale: float = 1.0, size: Size = None, dtype: Any = numpy.float64
) -> ndarray:
    """Return numbers from the normal distribution with mean `loc` and deviation `scale`."""
    if scale < 0:
        raise ValueError("scale < 0")
    return _draw("normal", size, dtype, lambda g, shape: g.normal(loc, scale, shape))


def rand(*size: int) -> ndarray:
    """Return numbers from [0, 1) in the shape that the arguments give."""
    return uniform(size=size)


def randn(*size: int) -> ndarray:
    """Return standard normal numbers in the shape that the arguments give."""
    return normal(size=size)


def randint(
    low: int, high: int | None = None, size: Size = None, dtype: Any = numpy.int64
) -> ndarray:
    """Return whole numbers from [low, high), or from [0, low)."""
    start, stop = (0, low) if high is None else (low, high)
    if start >= stop:
        raise ValueError("low >= high")
    return _draw("randint", size, dtype, lambda g, shape: g.integers(start, stop, shape))


def permutation(count: int) -> ndarray:
    """Return the numbers below `count` in random order."""
    return _draw("permutation", count, numpy.int64, lambda g, shape: g.permutation(count))
