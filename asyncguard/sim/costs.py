"""How long an operator takes on the device: FLOPs and bytes moved against the profile's peaks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from asyncguard.runtime import torch_private as private
from asyncguard.sim.places import tensors_in
from asyncguard.sim.profiles import Profile

Flops = Callable[..., int]


def flops_of(func: Any) -> Flops | None:
    """The flop counter's formula for an operator; None where it counts none."""
    packet = private.packet(func)
    if packet is private.cpu_flash_backward:
        return _flash_backward
    known: Flops | None = _flash if packet is private.cpu_flash else flop_registry.get(packet)
    return known


def _flash(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Two products; several heads of queries may share one of keys, which the counter refuses."""
    *batch, heads, length, width = query.shape
    flops: int = 2 * prod(batch) * heads * length * key.shape[-2] * (width + value.shape[-1])
    return flops


def _flash_backward(grad: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    """Five products where the forward pass has two."""
    return 5 * _flash(query, key, value) // 2


class Costs:
    """Durations on one kind of device, in whole nanoseconds."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._floor = profile.kernel_floor_ns
        self._bytes_per_ns = profile.memory_bandwidth * profile.bandwidth_efficiency / 1e9
        self._pinned = profile.pinned_bandwidth / 1e9
        self._pageable = profile.pageable_bandwidth / 1e9
        self._link = profile.link_bandwidth / 1e9

    def kernel(self, flops: Flops | None, args: Any, kwargs: Any, result: Any) -> int:
        """An operator with these operands and results."""
        moved, dtype = 0, None
        for value in (*args, *kwargs.values(), result):
            if isinstance(value, torch.Tensor):
                moved += _nbytes(value)
                dtype = dtype or value.dtype
            elif isinstance(value, list | tuple):
                moved += sum(map(_nbytes, tensors_in(value)))
        took = moved / self._bytes_per_ns
        if flops is not None:
            took = max(took, self._computing(flops(*args, **kwargs, out_val=result), dtype))
        return max(int(took), self._floor)

    def fill(self, nbytes: int) -> int:
        """A kernel that writes so many bytes."""
        return max(int(nbytes / self._bytes_per_ns), self._floor)

    def transfer(self, nbytes: int, pinned: bool) -> int:
        """A copy between host and device."""
        rate = self._pinned if pinned else self._pageable
        return self._profile.copy_latency_ns + int(nbytes / rate)

    def peer(self, nbytes: int) -> int:
        """A copy between two devices."""
        return self._profile.copy_latency_ns + int(nbytes / self._link)

    def _computing(self, flops: int, dtype: torch.dtype | None) -> float:
        peaks = self._profile.flops
        name = str(dtype).removeprefix("torch.")
        if dtype is torch.float32 and torch.backends.cuda.matmul.allow_tf32:
            name = "tf32"
        peak = peaks.get(name, peaks["other"]) * self._profile.flops_efficiency
        return flops * 1e9 / peak


def _nbytes(tensor: torch.Tensor) -> int:
    """The bytes that a kernel reads of a tensor; an expanded one is read from the cache."""
    return int(tensor.numel() * tensor.element_size())
