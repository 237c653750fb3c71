"""jax: dispatch is asynchronous on every backend, so every concrete array is a device value.

Values inside `jit` are tracers, another type: nothing waits there, and nothing is hooked.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """jax, on any backend."""

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._array = jax._src.array.ArrayImpl

    def device_of(self, value: Any) -> str | None:
        """The platform that holds the array, with the device's number where it is one device."""
        if type(value) is not self._array:
            return None
        devices = value.sharding.device_set
        if len(devices) == 1:
            (device,) = devices
            return f"{device.platform}:{device.id}"
        return f"{next(iter(devices)).platform} x {len(devices)}"

    def has_one_device(self) -> bool:
        """Whether the backends, all of which start together, have one device between them."""
        backends = getattr(jax._src.xla_bridge, "_backends", {}).values()  # jax's own affair
        return bool(sum(backend.device_count() for backend in backends) == 1)

    def default_device(self) -> str:
        """The platform that computations go to."""
        return str(jax.default_backend())

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` wait: a mask, whose length decides the shape."""
        return indexing.operators(args, indexing.Place(self._is_array, _is_mask))

    def step_of(self, owner: object) -> object | None:
        """The class of what was updated: the states of a training are new ones in each step."""
        if isinstance(owner, jax.profiler.StepTraceAnnotation):
            return None
        return type(owner)

    def is_tracing(self) -> bool:
        """Whether `jit`, `grad` or another of their kind is at work."""
        return not jax._src.core.trace_state_clean()

    def _is_array(self, value: Any) -> bool:
        return type(value) is self._array


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == bool)
