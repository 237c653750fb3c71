"""paddle: tensors on a GPU are device values; on the CPU, which computes at once, they stand in."""

from __future__ import annotations

from collections import Counter
from typing import Any

import paddle

from asyncguard.model import STAND_IN
from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """paddle in dynamic mode."""

    def device_of(self, value: Any) -> str | None:
        """The tensor's place, such as gpu:0."""
        if not isinstance(value, paddle.Tensor):
            return None
        place = value.place
        if place.is_cpu_place() or place.is_cuda_pinned_place():
            return STAND_IN
        return f"gpu:{place.gpu_device_id()}" if place.is_gpu_place() else str(place)

    def default_device(self) -> str:
        """The device where tensors are made that name none."""
        device = str(paddle.get_device())
        return STAND_IN if device == "cpu" else device

    def accelerator_in_use(self) -> bool:
        """Whether tensors are made on another device than the CPU."""
        return self.default_device() != STAND_IN

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` wait: a mask, whose length decides the shape."""
        return indexing.operators(args, _PLACE)

    def is_tracing(self) -> bool:
        """Whether a static graph is built."""
        return not paddle.in_dynamic_mode()


def _is_tensor(value: Any) -> bool:
    return isinstance(value, paddle.Tensor)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == paddle.bool)


_PLACE = indexing.Place(_is_tensor, _is_mask)
