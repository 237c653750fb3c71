"""What stands in for methods of torch.UntypedStorage: saving and copying go through them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from multiprocessing.context import get_spawning_popen
from typing import Any

import torch
from torch.multiprocessing import reductions

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.accesses import HostMemory
from asyncguard.runtime.patch import Place
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import BAD_FORK, Device, Machine, NotSimulated
from asyncguard.sim.memory import Block
from asyncguard.sim.places import CPU, PINNED, resolve, set_mark, storage_mark

Storage = torch.UntypedStorage
_BASE = private.StorageBase
_IPC = "CUDA IPC, which sends tensors of a device to another process,"


def _place(storage: Any) -> Device | None:
    mark = storage_mark(storage)
    return mark.device if type(mark) is Block else None  # type: ignore[return-value]


def replacements(machine: Machine, costs: Costs) -> Iterator[tuple[Place, Any]]:
    """What takes the place of the class's own."""
    own_device = _BASE.device.__get__
    own_new_shared = private.new_shared.__func__

    memory = HostMemory(machine.races, lambda storage: storage)

    def copied(storage: Any, target: Device | None) -> Any:
        memory.used_whole(storage)
        source = _place(storage)
        copy = Storage(storage.nbytes()).copy_(storage, False)
        if target is not None:
            set_mark(copy, target.take(copy.nbytes()))
        on = target or source
        if on is not None and target is not source:
            machine.enqueue(costs.transfer(copy.nbytes(), pinned=False), "copy", on)
        return copy

    def device(self: Any) -> torch.device:
        place = _place(self)
        return own_device(self) if place is None else place.device

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        target = resolve(machine, device)
        if target == CPU:
            target = None
        if isinstance(target, torch.device):
            return private.storage_to(self, target, non_blocking)
        return self if target is _place(self) else copied(self, target)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(self, device="cuda" if device is None else device, non_blocking=non_blocking)

    def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        target = resolve(machine, device)
        made = own_new_shared(cls, size, device=CPU if isinstance(target, Device) else target)
        if isinstance(target, Device):
            set_mark(made, target.take(made.nbytes()))
        return made

    def share_cuda(self: Any) -> tuple[Any, ...]:
        """The handle that another process is sent: there it raises. Queues lose errors here."""
        error = RuntimeError(BAD_FORK) if machine.is_bad_fork else NotSimulated(_IPC)
        if get_spawning_popen() is not None:
            raise error
        return error, b"", 0, 0, b"", 0, b"", False

    @functools.wraps(reductions.rebuild_cuda_tensor)
    def rebuild(*parts: Any) -> Any:
        raise next(part for part in parts if isinstance(part, Exception))

    yield Place(reductions, "rebuild_cuda_tensor"), rebuild
    yield Place(Storage, "_share_cuda_"), share_cuda
    yield Place(Storage, "device"), property(device)
    yield Place(Storage, "is_cuda"), property(lambda self: _place(self) is not None)
    yield Place(Storage, "to"), to
    yield Place(Storage, "cuda"), cuda
    yield Place(Storage, "cpu"), lambda self: to(self, device=CPU)
    yield Place(Storage, "clone"), lambda self: copied(self, _place(self))
    yield (
        Place(Storage, "is_pinned"),
        lambda self, device=None: storage_mark(self) is PINNED,
    )
    yield Place(Storage, "_new_shared"), classmethod(new_shared)
