"""Plans of element-wise operations of two operands: found once for each combination, then kept."""

from __future__ import annotations

from typing import Any

import numpy

from asyncguard.engine import infer
from asyncguard.engine.handle import Handle
from asyncguard.engine.kernels import (
    BRIEF_BYTES,
    Constant,
    OfArrayAndNumber,
    OfNumberAndArray,
    OfTwo,
    contiguous,
    named,
)

__all__ = ["make_plan"]


def make_plan(function: Any, x: Any, y: Any, plans: dict[Any, Any], key: Any) -> Any:
    """Find the operation, kernel and result's layout, whether it is brief, and the constant."""
    shape = infer.broadcast(numpy.shape(x), numpy.shape(y))
    kernel, dtype = _promoted(function, x, y)
    if not shape or not all(v._layout.plain for v in (x, y) if isinstance(v, Handle)):
        kernel = contiguous(kernel, shape)
    layout = infer.layout(shape, dtype)
    kind: type[OfTwo] = OfTwo
    constant = None
    if not isinstance(x, Handle):
        constant, kind = infer.constant(function, x, y.dtype), OfNumberAndArray
    elif not isinstance(y, Handle):
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
    types = [v.dtype if isinstance(v, Handle) else v for v in (x, y)]
    sample = [infer.tiny(t) if isinstance(t, numpy.dtype) else t for t in types]
    dtype = function(*sample).dtype
    both = isinstance(x, Handle) and isinstance(y, Handle)
    if not both or types[0] == types[1] or (x.shape and y.shape):
        return function, dtype
    common = numpy.result_type(*types)

    def converted(a: Any, b: Any) -> Any:
        return function(a.astype(common), b.astype(common))

    return named(function.__name__, converted), function(*[s.astype(common) for s in sample]).dtype
