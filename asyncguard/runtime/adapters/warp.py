"""warp: arrays on a CUDA device are device values; those on the CPU stand in for them."""

from __future__ import annotations

from typing import Any

import warp

from asyncguard.model import STAND_IN
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """warp, on CUDA."""

    def device_of(self, value: Any) -> str | None:
        """The array's device, such as cuda:0."""
        if not isinstance(value, warp.array) or value.device is None:
            return None
        return str(value.device.alias) if value.device.is_cuda else STAND_IN

    def default_device(self) -> str:
        """The device where work goes that names none."""
        device = warp.get_device()
        return str(device.alias) if device.is_cuda else STAND_IN

    def accelerator_in_use(self) -> bool:
        """Whether work goes to a CUDA device where none is named."""
        return self.default_device() != STAND_IN
