"""What programs choose of CUDA's ways to compute: on the CPU there is nothing to choose."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.profiler import emit_nvtx

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.moves import TYPES
from asyncguard.sim.places import device_of, resolve

_UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using"
    " torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)
_NO_TRANSFORMS = ("fftfreq", "rfftfreq", "fftshift", "ifftshift")
_HALVES = {torch.float16: torch.float32, torch.complex32: torch.complex64}
_PLANS = 4096  # that the cache of cuFFT's keeps


def replacements(machine: Machine) -> Iterator[tuple[Place, Any]]:
    """What takes the place of torch's functions that choose, and of who follows the choice."""
    yield Place(torch, "set_default_tensor_type"), _set_default(machine)
    yield (
        Place(private.C, "_get_default_device"),
        lambda: "cuda" if machine.is_default else "cpu",
    )
    yield Place(torch.jit, "load"), _load(machine)
    yield Place(private.nn, "binary_cross_entropy"), _binary_cross_entropy()
    yield Place(private.nn, "scaled_dot_product_attention"), _attention()
    for name in torch.fft.__all__:
        if "fft" in name and name not in _NO_TRANSFORMS:
            yield Place(torch.fft, name), _transform(getattr(torch.fft, name))
    plans = torch.backends.cuda.cuFFTPlanCache
    yield Place(plans, "size"), 0  # nothing is computed by cuFFT
    yield Place(plans, "max_size"), _PLANS
    yield Place(plans, "clear"), lambda self: None
    yield Place(emit_nvtx, "__enter__"), _begin_ranges
    yield Place(emit_nvtx, "__exit__"), _end_ranges


def _set_default(machine: Machine) -> Any:
    """Tensors are made on the device from then on, as with `torch.set_default_device`."""
    own = torch.set_default_tensor_type

    @functools.wraps(own)
    def set_default(t: Any, /) -> None:
        name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
        kind = TYPES.get(name.removeprefix("torch.cuda."))
        if kind is None:
            own(t)
        elif not kind.is_floating_point:
            raise TypeError("only floating-point types are supported as the default type")
        else:
            torch.set_default_dtype(kind)
        machine.is_default = kind is not None

    return set_default


def _load(machine: Machine) -> Any:
    """torch.jit.load, whose C++ code asks CUDA which device is the current one."""
    own = torch.jit.load

    @functools.wraps(own)
    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if map_location is not None:
            target = resolve(machine, map_location)
            map_location = target.device if isinstance(target, Device) else target
        return own(f, map_location, *args, **kwargs)

    return load


def _binary_cross_entropy() -> Any:
    own = private.nn.binary_cross_entropy

    @functools.wraps(own)
    def binary_cross_entropy(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.is_autocast_enabled("cuda") and device_of(self) is not None:
            raise RuntimeError(_UNSAFE)
        return own(self, *args, **kwargs)

    return binary_cross_entropy


def _attention() -> Any:
    """Attention by a kernel that the CPU lacks is computed by one that it has."""
    own, backends = private.nn.scaled_dot_product_attention, torch.backends.cuda

    @functools.wraps(own)
    def attention(query: Any, *args: Any, **kwargs: Any) -> Any:
        others = backends.mem_efficient_sdp_enabled() or backends.cudnn_sdp_enabled()
        if not others or backends.math_sdp_enabled() or device_of(query) is None:
            return own(query, *args, **kwargs)
        backends.enable_math_sdp(True)
        try:
            return own(query, *args, **kwargs)
        finally:
            backends.enable_math_sdp(False)

    return attention


def _transform(own: Any) -> Any:
    """A Fourier transform, which the CPU lacks in half precision and CUDA has for powers of two."""
    short = {torch.complex64: torch.complex32, torch.float32: torch.float16}
    name = own.__name__.removeprefix("fft_")

    @functools.wraps(own)
    def transform(input: Any, *args: Any, **kwargs: Any) -> Any:
        wide = _HALVES.get(input.dtype)
        if wide is None or device_of(input) is None:
            return own(input, *args, **kwargs)
        made = own(input.to(wide), *args, **kwargs)
        sizes = _sizes(name, input, made, *args, **kwargs)
        if any(size & (size - 1) for size in sizes):
            raise RuntimeError(
                "cuFFT only supports dimensions whose sizes are powers of two when computing in"
                f" half precision, but got a signal size of{sizes}"
            )
        return made.to(short[made.dtype])

    return transform


def _sizes(
    name: str, given: Any, made: Any, n: Any = None, dim: Any = None, norm: Any = None,
    s: Any = None, out: Any = None,
) -> list[int]:  # fmt: skip
    """How long the signals of a transform are, in each dimension."""
    lengths = n if s is None else s
    if lengths is not None:
        return [lengths] if isinstance(lengths, int) else list(lengths)
    if dim is None:
        dim = {"t": -1, "2": (-2, -1), "n": tuple(range(given.dim()))}[name[-1]]
    real = given if name.startswith(("rfft", "ihfft")) else made  # the whole signal, not its half
    return [real.shape[at] for at in ([dim] if isinstance(dim, int) else dim)]


def _begin_ranges(self: Any) -> Any:
    """Ranges of operators that nobody looks at: like torch's, it waits for the device."""
    if not self.enabled:
        return None
    if self.entered:
        raise RuntimeError("NVTX annotation context manager is not reentrant")
    self.entered = True
    torch.cuda.synchronize()
    return self


def _end_ranges(self: Any, *raised: object) -> bool:
    if self.enabled:
        torch.cuda.synchronize()
    return False
