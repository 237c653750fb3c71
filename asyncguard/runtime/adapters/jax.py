"""jax: dispatch is asynchronous on every backend, so every concrete array is a device value.

Values inside `jit` are tracers, another type: nothing waits there, and nothing is hooked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.transit import Copy, Shape, Slotted, grouped, unpacked


class Adapter(Base):
    """jax, on any backend."""

    @classmethod
    def copier(cls) -> Copier:
        """By copies that jax makes beside the program."""
        return Copier()

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


def _joined(*arrays: Any) -> Any:
    return jax.numpy.concatenate([array.ravel() for array in arrays])


class Copier:
    """jax's arrays: those of one dtype and one place are joined on the device first.

    What is copied is an array of its own, so that the given ones may be donated afterwards.
    """

    framework = "jax"

    def __init__(self) -> None:
        self._join = jax.jit(_joined)
        self._one = jax.jit(jax.numpy.copy)

    def takes(self, kind: type) -> bool:
        """Whether it is an array, traced ones included."""
        return issubclass(kind, jax._src.array.ArrayImpl | jax.core.Tracer)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """One transfer for each dtype and place; each array over several devices by itself."""
        return [
            _Flight(slots, self._one(found[0]) if len(found) == 1 else self._join(*found), found)
            for _, slots, found in grouped(map(_keyed, arrays))
        ]


def _keyed(entry: tuple[int, Any]) -> tuple[Any, int, Any]:
    slot, array = entry
    if isinstance(array, jax.core.Tracer):
        raise TypeError("asyncguard.later is called in traced code, where arrays have no values")
    sharding = array.sharding
    return (array.dtype, sharding if sharding.num_devices == 1 else slot), slot, array


class _Flight:
    """An array on its way to the host."""

    reports = False

    def __init__(self, slots: Sequence[int], flat: Any, given: Sequence[Any]) -> None:
        self.slots = slots
        self.source = flat
        self._shapes: list[Shape] = [array.shape for array in given]
        devices = flat.sharding.device_set
        if any(device.platform != "cpu" for device in devices):  # there NumPy sees the very memory
            flat.copy_to_host_async()

    def done(self) -> bool:
        """Whether it is computed. Its copy was asked for long before, and jax does not tell."""
        is_done: bool = self.source.is_ready()
        return is_done

    def wait(self) -> None:
        """Wait until it is."""
        self.source.block_until_ready()

    def fetch(self) -> list[Any]:
        """The values."""
        return unpacked(numpy.asarray(self.source).reshape(-1), self._shapes)
