"""Operators that CUDA and the CPU do not have alike: a table of which, and how they are computed.

Dtypes are those of torch's own operator database (torch.testing, 2.13): where CUDA has a dtype that
the CPU lacks, an operator is computed in a wider one and its results are cast back; where CUDA
lacks one that the CPU has, it is refused as CUDA does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.sim.machine import Device
from asyncguard.sim.places import tensors_in

_TORCHS_KERNELS = Path(torch.__file__).parent / "_native"
Run = Callable[..., Any]
_NUMBERS = (int, float, bool, complex)
_INTS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
_HALVES = (torch.float16, torch.bfloat16)
_WIDE_INTS = dict.fromkeys(_INTS, torch.float64)  # exact up to 2 ** 53
_WIDE_HALVES = dict.fromkeys(_HALVES, torch.float32)
_WIDE_COMPLEX = {torch.complex32: torch.complex64}

# Operator -> dtypes that the CPU lacks and CUDA has -> in which it is computed instead.
WIDER: dict[str, dict[torch.dtype, torch.dtype]] = {
    "histc": _WIDE_INTS,
    "abs": {torch.bool: torch.uint8},
    "trace": {torch.bool: torch.uint8, **_WIDE_COMPLEX},
    **dict.fromkeys(
        ("avg_pool3d", "avg_pool3d_backward", "_upsample_bilinear2d_aa",
         "_upsample_bilinear2d_aa_backward", "multi_margin_loss", "multi_margin_loss_backward",
         "multilabel_margin_loss_forward", "multilabel_margin_loss_backward",
         "rrelu_with_noise", "rrelu_with_noise_", "rrelu_with_noise_backward"),
        _WIDE_HALVES,
    ),
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log",
         "logaddexp", "pow", "sin", "sinh", "tan", "tanh", "rsqrt", "sqrt", "lerp", "angle",
         "sigmoid", "prod", "sum", "div"),
        _WIDE_COMPLEX,
    ),
}  # fmt: skip
# Operator -> dtypes that CUDA lacks and the CPU has.
REFUSED: dict[str, tuple[torch.dtype, ...]] = {
    **dict.fromkeys(
        ("mm", "addmm", "addmv", "bmm", "baddbmm", "addbmm", "dot", "vdot",
         "max_pool2d_with_indices", "max_pool3d_with_indices"),
        _INTS,
    ),
    **dict.fromkeys(("convolution", "avg_pool2d", "avg_pool3d"), (torch.int64,)),
    **dict.fromkeys(
        ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
         "_upsample_bicubic2d_aa"),
        (torch.uint8,),
    ),
    **dict.fromkeys(("igamma", "igammac", "histc", "angle"), _HALVES),
}  # fmt: skip
# Operator -> how it is computed where the CPU refuses.
OTHERWISE: dict[str, Run] = {
    "aten::nansum": lambda x, *args, **kwargs: x.masked_fill(x.isnan(), 0).sum(*args, **kwargs),
}
_SCALAR_NAMES = {
    torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.uint8: "Byte", torch.float16: "Half", torch.bfloat16: "BFloat16",
}  # fmt: skip
_TAKES_DTYPE = ("mm", "bmm", "addmm", "baddbmm")  # with a last argument that only CUDA knows
_ALLOCATING = re.compile(r"DefaultCPUAllocator: .*you tried to allocate (\d+) bytes", re.DOTALL)


def refuse_dtype(name: str, refused: tuple[torch.dtype, ...], args: tuple[Any, ...]) -> None:
    """Raise what CUDA raises where an operator's first tensor is of a dtype that CUDA lacks."""
    dtype = next((arg.dtype for arg in args if isinstance(arg, Tensor)), None)
    if dtype in refused:
        raise NotImplementedError(f"\"{name}_cuda\" not implemented for '{_SCALAR_NAMES[dtype]}'")


def recover(
    name: str,
    run: Run,
    tensors: tuple[int, ...],
    device: Device | None,
    args: Any,
    kwargs: Any,
    error: RuntimeError,
) -> Any:
    """The result of an operator that has failed on the CPU, if it would not on CUDA.

    tensors: the positions of its operands that are tensors.

    Raises torch.cuda.OutOfMemoryError where the device has not so much memory, else the error.
    """
    if device is not None:
        _check_memory(device, error)
        if name in OTHERWISE:
            return OTHERWISE[name](*args, **kwargs)
        if isinstance(error, NotImplementedError) or "not implemented for" in str(error):  # of 2.6
            other = _with_dtype(name, args) or _in_wider(name, run, args, kwargs)
            if other is not None:
                return other()
    wrapped = [at for at in tensors if at < len(args) and isinstance(args[at], _NUMBERS)]
    if wrapped:  # to Python, tensors of C++ that wrap a number, as torch.jit's are
        given = [torch.tensor(arg) if at in wrapped else arg for at, arg in enumerate(args)]
        return run(*given, **kwargs)
    raise error


def _check_memory(device: Device, error: RuntimeError) -> None:
    """More than the host has is what the device lacks too, if it is more than that has free."""
    found = _ALLOCATING.search(str(error))
    if found is not None and int(found[1]) > device.memory.free_bytes:
        device.memory.failures += 1
        raise device.out_of_memory(int(found[1])) from error


def _in_wider(name: str, run: Run, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    widths = WIDER.get(name.partition("::")[2], {})
    narrow = next((t.dtype for t in tensors_in((*args, kwargs)) if t.dtype in widths), None)
    if narrow is None:
        return None
    wide = widths[narrow]

    def computed() -> Any:
        result = run(*_cast(args, narrow, wide), **_cast(kwargs, narrow, wide))
        if name.endswith("_"):
            return args[0].copy_(result)
        return _cast(result, wide, narrow)

    return computed


def _with_dtype(name: str, args: Any) -> Callable[[], Any] | None:
    """A product whose result is wider than its operands; it is summed in the wider dtype."""
    short = name.partition("::")[2]
    if short not in _TAKES_DTYPE or not any(isinstance(arg, torch.dtype) for arg in args):
        return None
    wide = next(arg for arg in args if isinstance(arg, torch.dtype))
    operands = [arg.to(wide) for arg in args if isinstance(arg, Tensor)]
    return lambda: getattr(torch, short)(*operands)


def _cast(value: Any, source: torch.dtype, target: torch.dtype) -> Any:
    """The same with each tensor of one dtype in another."""
    if isinstance(value, Tensor):
        return value.to(target) if value.dtype == source else value
    if isinstance(value, list | tuple):
        return type(value)([_cast(part, source, target) for part in value])
    if isinstance(value, dict):
        return {key: _cast(part, source, target) for key, part in value.items()}
    return value


def own_kernel(func: Any) -> Run | None:
    """The kernel for CUDA that a program has registered from Python for an operator, if any.

    torch registers some of its own that way. 2.6 says that all Python is in /dev/null.
    """
    where = re.search(r"(\S+\.py|/dev/null):\d+", private.registration(func, "CUDA"))
    if where is None or Path(where[1]).is_relative_to(_TORCHS_KERNELS):
        return None
    run: Run = private.redispatch(func, "CUDA")
    return run
