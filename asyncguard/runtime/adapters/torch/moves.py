"""Where calls that move data leave it, as their arguments tell before they run."""

from __future__ import annotations

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch import transfers
from asyncguard.runtime.probes import Args, Kwargs

__all__ = ["destination", "held", "without_copy"]

# Methods that write into the tensor that they are called on.
_IN_PLACE = ("copy_", "__setitem__")


def destination(path: str, args: Args, kwargs: Kwargs) -> torch.Tensor | torch.device | None:
    """The device of the result, or a tensor that is there; None where the arguments do not tell."""
    owner, name = path.rpartition(".")[::2]
    if owner != "torch.Tensor" or not args or not isinstance(args[0], torch.Tensor):
        return None
    if name in _IN_PLACE:
        return args[0]
    if name == "type_as" and len(args) > 1 and isinstance(args[1], torch.Tensor):
        return args[1]
    if name == "to":
        return _of_to(args, kwargs)
    return _of_cuda(args, kwargs) if name == "cuda" else None


def _of_to(args: Args, kwargs: Kwargs) -> torch.Tensor | torch.device:
    other = args[1] if len(args) > 1 else kwargs.get("other")
    if isinstance(other, torch.Tensor):
        return other
    rest, named, _ = without_copy(args[1:], kwargs)
    device: torch.device | None = private.parse_to(*rest, **named)[0]
    owner: torch.Tensor = args[0]
    return owner if device is None else device


def without_copy(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs, bool]:
    """Take `copy` out of the arguments of a tensor's `to`, which modules' do not have.

    By position it comes last: to(device, dtype, non_blocking, copy), to(dtype, non_blocking, copy).
    """
    named = {name: value for name, value in kwargs.items() if name != "copy"}
    last = 2 if args and isinstance(args[0], torch.dtype) else 3
    copy = args[last] if len(args) > last else kwargs.get("copy", False)
    return args[:last], named, bool(copy)


def _of_cuda(args: Args, kwargs: Kwargs) -> torch.device:
    given = args[1] if len(args) > 1 else kwargs.get("device")
    index = f":{given}" if isinstance(given, int) else ""
    return torch.device(f"cuda{index}" if given is None or index else given)


def held(moves: str, path: str, args: Args, kwargs: Kwargs) -> str | None:
    """Why a copy holds the host that is told not to block: see `transfers`; None: it does not.

    moves: "upload" or "download", as the catalogue has it for the call by this path.
    """
    name = path.rpartition(".")[2]
    if name == "copy_":
        target, source = args[0], args[1] if len(args) > 1 else kwargs.get("src")
        dtype = layout = None
    else:
        target, source = None, args[0]
        dtype, layout = _form(name, args, kwargs)
    host = source if moves == "upload" else target
    if not isinstance(source, torch.Tensor) or (host is not None and not host.is_cpu):
        return None  # it goes another way
    decide = transfers.upload_held if moves == "upload" else transfers.download_held
    return decide(source, target, dtype, layout)


def _form(
    name: str, args: Args, kwargs: Kwargs
) -> tuple[torch.dtype | None, torch.memory_format | None]:
    """The dtype and the order of elements that `to`, `cuda` or `type` asks for."""
    given = (*args[1:], *kwargs.values())
    like = next((each for each in given if isinstance(each, torch.Tensor)), None)
    dtype = next((each for each in given if isinstance(each, torch.dtype)), None)
    layout = next((each for each in given if isinstance(each, torch.memory_format)), None)
    return (like.dtype if like is not None and name == "to" else dtype), layout
