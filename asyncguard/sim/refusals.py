"""What the simulated device does not have: it raises NotSimulated, by name, where it is used."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.machine import NotSimulated

_IN_CUDA = ("MemPool", "use_mem_pool",
            "ExternalStream", "caching_allocator_alloc", "CUDAPluggableAllocator")  # fmt: skip
_NATIVE = ("_cuda_", "_nccl_")  # what torch._C has of CUDA


class MissingAttribute(NotSimulated, AttributeError):  # noqa: N818  reads as what is the case
    """An attribute that is not simulated; to `hasattr`, it is not there."""


def refusal(name: str, original: Any = None) -> Any:
    """What raises NotSimulated where it is called; a type, since annotations may name it."""

    def refuse(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(name)

    module, _, short = name.rpartition(".")
    made = {"__new__": refuse, "__module__": module}
    if hasattr(original, "__wrapped__"):
        made["__wrapped__"] = original.__wrapped__
    return type(short, (), made)


def replacements(simulated: Container[str]) -> Iterator[tuple[Place, Any]]:
    """What takes the place of CUDA's functions that are not simulated.

    simulated: the names in torch._C that are; a build for CUDA has more of them.
    """
    for name in _IN_CUDA:
        if hasattr(torch.cuda, name):
            original = getattr(torch.cuda, name)
            yield Place(torch.cuda, name), refusal(f"torch.cuda.{name}", original)
    for name, own in list(vars(private.C).items()):
        if name.startswith(_NATIVE) and name not in simulated and not isinstance(own, type):
            yield Place(private.C, name), refusal(f"torch._C.{name}")
    yield Place(private.C, "__getattr__"), _missing()


def _missing() -> Any:
    """A build for the CPU lacks functions of CUDA's that modules of torch import by name."""
    made: dict[str, Any] = {}

    def missing(name: str) -> Any:
        if not name.startswith((*_NATIVE, "_accelerator", "_Cuda", "_CUDA")):
            raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
        return made.setdefault(name, refusal(f"torch._C.{name}"))

    return missing
