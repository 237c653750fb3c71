"""torch.distributed on the simulated device: NCCL is gloo, which takes its tensors as they are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.machine import NotSimulated

_NCCL = ("nccl", "cuda:nccl")  # groups that take tensors of devices alone
_KNOWN = (None, "gloo", "cpu:gloo,cuda:gloo", "cpu:gloo,cuda:nccl", *_NCCL)


def replacements() -> Iterator[tuple[Place, Any]]:
    """What takes the place of functions that make groups, and that ask what they are."""
    if not torch.distributed.is_available():
        return
    c10d = torch.distributed.distributed_c10d
    for name in ("init_process_group", "new_group"):
        made = _on_gloo(getattr(c10d, name))
        yield Place(c10d, name), made
        yield Place(torch.distributed, name), made
    yield Place(c10d, "is_nccl_available"), lambda: True
    yield Place(torch.distributed, "is_nccl_available"), lambda: True
    own = private.object_device

    @functools.wraps(own)
    def object_device(group: Any = None) -> str:
        return "cuda" if _is_nccl(group) else str(own(group))

    yield Place(c10d, private.object_device.__name__), object_device


def _on_gloo(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a group, which says that it has the backend that it was asked for."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        asked = given.get("backend")
        asked = None if asked is None else str(asked).lower()
        if asked not in _KNOWN:
            raise NotSimulated(f"the torch.distributed backend {asked!r}")
        if asked is None and torch.distributed.is_initialized():
            asked = torch.distributed.get_backend()  # groups are as the first one
        given["backend"] = "gloo"
        given.pop("device_id", None)
        group = original(**given)
        member = torch.distributed.group.WORLD if group is None else group
        if asked is not None and isinstance(member, torch.distributed.ProcessGroup):
            private.name_backend(member, asked)
        return group

    return make


def _is_nccl(group: Any = None) -> bool:
    return torch.distributed.get_backend(group) in _NCCL


def refuse_host(name: str, args: tuple[Any, ...]) -> None:
    """Raise what NCCL's groups do of tensors of the host; `name` is the operator's."""
    groups = (arg for arg in args if isinstance(arg, torch.ScriptObject))
    group = next(groups, None)
    if group is None or name == "c10d::barrier":  # whose tensor is C++'s own
        return
    if _is_nccl(torch.distributed.ProcessGroup.unbox(group)):
        raise RuntimeError("No backend type associated with device type cpu")
