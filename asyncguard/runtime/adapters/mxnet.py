"""mxnet: its CPU backend runs asynchronously, so every NDArray is a device value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import mxnet

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """mxnet, `mx.nd` and `mx.np` alike."""

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        # Asking an array for its context is a call into the library; without GPUs it is needless.
        self._only = "" if mxnet.context.num_gpus() else "cpu(0)"

    def device_of(self, value: Any) -> str | None:
        """The array's context, such as cpu(0) or gpu(0)."""
        if not _is_array(value):
            return None
        return self._only or str(value.ctx)

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        return indexing.operators(args, _PLACE)

    def default_device(self) -> str:
        """A barrier waits for everything that was enqueued in the current context."""
        return self._only or str(mxnet.context.current_context())


def _is_array(value: Any) -> bool:
    return isinstance(value, mxnet.nd.NDArray)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == bool)


_PLACE = indexing.Place(_is_array, _is_mask)
