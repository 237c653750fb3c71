"""What stands in for torch.device: a number is a CUDA device, as where CUDA is the accelerator."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.jit.annotations

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.standins import class_like


def is_number(device: Any) -> bool:
    """Whether a device is given by its number alone."""
    return isinstance(device, int) and not isinstance(device, bool)


def replacements() -> Iterator[tuple[Place, Any]]:
    """What takes the place of torch.device, and of what reads a device from C++."""
    own = torch.device
    device = _device_class(own)
    yield Place(torch, "device"), device
    yield Place(private.nn, "_parse_to"), _parse_to(private.parse_to)
    annotations = torch.jit.annotations
    yield (
        Place(annotations, "try_ann_to_type"),
        _annotated(annotations.try_ann_to_type, own, device),
    )


def _device_class(own: type) -> type:
    """The class: its instances are torch's own."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and is_number(args[0]) and not kwargs:
            return own("cuda", args[0])
        return own(*args, **kwargs)

    return class_like(own, make)


def without_tensor(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of `to` with a device and a dtype for a tensor, which C++ takes for the host's.

    name: by which a tensor is given that does not come first.
    """
    like = kwargs.pop(name, None)
    if like is not None:
        args = (like, *args)
    if args and isinstance(args[0], torch.Tensor):
        return args[0].device, args[0].dtype, *args[1:]
    return args


def _parse_to(own: Any) -> Any:
    """How modules read the arguments of `to`."""

    @functools.wraps(own)
    def parse(*args: Any, **kwargs: Any) -> Any:
        args = without_tensor("tensor", args, kwargs)
        if args and is_number(args[0]):
            args = (torch.device("cuda", args[0]), *args[1:])
        elif is_number(kwargs.get("device")):
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        return own(*args, **kwargs)

    return parse


def _annotated(own: Any, theirs: type, ours: type) -> Any:
    """How torch.jit reads an annotation that was made before the simulation."""

    @functools.wraps(own)
    def read(ann: Any, *args: Any, **kwargs: Any) -> Any:
        return own(ours if ann is theirs else ann, *args, **kwargs)

    return read
