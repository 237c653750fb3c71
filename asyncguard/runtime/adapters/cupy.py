"""cupy: every array lives on a CUDA device."""

from __future__ import annotations

from collections import Counter
from typing import Any

import cupy

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """cupy, on CUDA."""

    def device_of(self, value: Any) -> str | None:
        """The array's device, such as cuda:0."""
        return f"cuda:{value.device.id}" if isinstance(value, cupy.ndarray) else None

    def default_device(self) -> str:
        """The current device."""
        try:
            return f"cuda:{cupy.cuda.runtime.getDevice()}"
        except cupy.cuda.runtime.CUDARuntimeError:  # no device: the barrier itself will say so
            return "cuda"

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        return indexing.operators(args, _PLACE)


def _is_array(value: Any) -> bool:
    return isinstance(value, cupy.ndarray)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == bool)


# Writing by a mask counts it first, whatever is written.
_PLACE = indexing.Place(_is_array, _is_mask, fills=lambda value, owner: False)
