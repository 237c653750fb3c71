"""tinygrad: tensors are lazy, and a read computes one and waits for its device."""

from __future__ import annotations

from typing import Any

import tinygrad
from tinygrad.engine import realize

from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """tinygrad, on any of its devices."""

    def device_of(self, value: Any) -> str | None:
        """The tensor's device, such as CUDA:1, or the first of several."""
        if not isinstance(value, tinygrad.Tensor):
            return None
        device = value.device
        return str(device) if isinstance(device, str | None) else f"{device[0]} x {len(device)}"

    def default_device(self) -> str:
        """The device where tensors are made that name none."""
        return str(tinygrad.Device.DEFAULT)

    def is_tracing(self) -> bool:
        """Whether a `TinyJit` captures what is called, to replay it later."""
        return bool(realize.capturing)

    def version(self) -> str:
        """The framework's version, which only its distribution tells."""
        return _version()


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("tinygrad")
    except metadata.PackageNotFoundError:  # a checkout on the path
        return ""
