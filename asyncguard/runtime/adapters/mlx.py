"""mlx: arrays are lazy, and a read evaluates what leads to one and waits, on every device."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """mlx, on Apple's GPUs, on CUDA or on the CPU."""

    def device_of(self, value: Any) -> str | None:
        """The default device: an array does not tell where it is computed."""
        return self.default_device() if isinstance(value, mx.array) else None

    def default_device(self) -> str:
        """The kind of device that operations go to where none is named."""
        return "cpu" if mx.default_device() == mx.Device(mx.cpu) else "gpu"

    def version(self) -> str:
        """The framework's version."""
        return str(mx.__version__)
