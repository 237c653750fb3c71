"""What stands in for methods and attributes of torch.Tensor: where it lies, and moving it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.accesses import HostMemory
from asyncguard.runtime.patch import Place
from asyncguard.sim.capturing import check_copy
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import Device, Machine, NotSimulated
from asyncguard.sim.moves import moves
from asyncguard.sim.operators import FILLS, elsewhere
from asyncguard.sim.places import OPEN, PINNED, bearer_of, device_of, mark_of, put, take_home
from asyncguard.sim.refusals import MissingAttribute
from asyncguard.sim.transfers import Transfers

_BASE = private.TensorBase
_NO_NUMPY = (
    "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host"
    " memory first."
)


class Mover:
    """Copies tensors between the host and devices."""

    def __init__(self, machine: Machine, costs: Costs) -> None:
        self._machine = machine
        self._transfers = Transfers(machine, costs)

    def move(
        self, tensor: Tensor, target: Device | None, dtype: torch.dtype | None, layout: Any,
        non_blocking: bool = False,
    ) -> Tensor:  # fmt: skip
        """A copy of `tensor` on `target` (None: the host); the gradient goes the way back."""
        if torch.is_grad_enabled() and tensor.requires_grad:
            return _ToCopy.apply(tensor, self, target, dtype, layout, non_blocking)
        return self.copy(tensor, target, dtype, layout, non_blocking)

    def copy(
        self, tensor: Tensor, target: Device | None, dtype: torch.dtype | None, layout: Any,
        non_blocking: bool = False,
    ) -> Tensor:  # fmt: skip
        """As `move`, out of reach of autograd."""
        source = device_of(tensor)
        pinned = mark_of(tensor) is PINNED
        capture = check_copy(self._machine, source, target, pinned)
        with private.DisableTorchDispatch():
            copy = _BASE.to(tensor, dtype=dtype or tensor.dtype, copy=True, memory_format=layout)
        self.arrive(copy, source, target, tensor, non_blocking)
        if capture is not None:
            capture.recording.copied(tensor, copy)
        return copy

    def arrive(
        self, copy: Tensor, source: Device | None, target: Device | None,
        tensor: Tensor | None = None, non_blocking: bool = False,
    ) -> None:  # fmt: skip
        """Let a fresh copy of `tensor` (None: of other data) lie on `target`, after the time that
        it takes.

        As torch does, what a copy to the host is made to that shall not block is pinned.
        """
        pinned = tensor is not None and mark_of(tensor) is PINNED
        check_copy(self._machine, source, target, pinned)
        if target is not None:
            put(copy, target)
        else:
            is_pinned = non_blocking and tensor is not None and tensor.layout is torch.strided
            take_home(copy, PINNED if is_pinned else None)
        if source is not target:
            self._machine.arrive()
            self._transfers.send(copy, tensor, target, source, non_blocking, "Tensor.to")
            self._machine.leave()


class _ToCopy(torch.autograd.Function):  # type: ignore[misc]
    """The differentiable copy between devices."""

    @staticmethod
    def forward(
        ctx: Any, tensor: Tensor, mover: Mover, target: Device | None, dtype: Any, layout: Any,
        non_blocking: bool,
    ) -> Tensor:  # fmt: skip
        ctx.mover, ctx.source, ctx.dtype = mover, device_of(tensor), tensor.dtype
        return mover.copy(tensor, target, dtype, layout, non_blocking)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        if device_of(grad) is not ctx.source:
            grad = ctx.mover.move(grad, ctx.source, ctx.dtype, torch.preserve_format)
        return grad, None, None, None, None, None


def replacements(machine: Machine, mover: Mover) -> Iterator[tuple[Place, Any]]:
    """What takes the place of torch.Tensor's own; it inherits those from C."""
    moving = moves(machine, mover)
    made = {**_attributes(), **moving, **_host_access(HostMemory(machine.races, bearer_of))}
    fills = {name: _filling(name, argument) for name, argument in FILLS.items()}
    # Parameters without a shape yet let these methods through by identity, and no other.
    allowed = [*private.shapeless_methods, *moving.values()]
    yield Place(private.shapeless, "_allowed_methods"), allowed
    for name, new in {**made, **fills}.items():
        yield Place(Tensor, name), new
    yield Place(torch, "get_device"), made["get_device"]
    for name in ("_to_dlpack", "_to_dlpack_versioned"):
        own = getattr(private.C, name, private.to_dlpack)  # 2.6 has but the one
        yield Place(private.C, name), _of_host("DLPack", own)


class _Attribute(property):
    """A property that tells its name and class, as those of C do: torch's compiler asks."""

    __objclass__ = _BASE

    def __init__(self, name: str, *parts: Any) -> None:
        super().__init__(*parts)
        self.__name__ = name


def _attributes() -> dict[str, Any]:
    own_device, own_cuda, own_cpu = (
        _BASE.device.__get__,
        _BASE.is_cuda.__get__,
        _BASE.is_cpu.__get__,
    )
    own_grad, set_grad = _BASE.grad.__get__, _BASE.grad.__set__

    def device(self: Tensor) -> torch.device:
        place = device_of(self)
        return own_device(self) if place is None else place.device

    def is_cuda(self: Tensor) -> bool:
        return device_of(self) is not None or own_cuda(self)

    def is_cpu(self: Tensor) -> bool:
        return device_of(self) is None and own_cpu(self)

    def get_device(self: Tensor) -> int:
        place = device_of(self)
        return _BASE.get_device(self) if place is None else place.index

    def assign_grad(self: Tensor, value: Tensor | None) -> None:
        if isinstance(value, Tensor) and device_of(self) is not device_of(value):
            raise RuntimeError(
                f"assigned grad has data located on a different device: expected {self.device}"
                f" but got {value.device}"
            )
        set_grad(self, value)

    def delete_grad(self: Tensor) -> None:
        set_grad(self, None)

    return {
        "device": _Attribute("device", device),
        "is_cuda": _Attribute("is_cuda", is_cuda),
        "is_cpu": _Attribute("is_cpu", is_cpu),
        "get_device": get_device,
        "grad": _Attribute("grad", own_grad, assign_grad, delete_grad, _BASE.grad.__doc__),
    }


def _filling(name: str, argument: str) -> Any:
    """A method that fills: where it fills is told by a tensor of the device."""
    own = getattr(_BASE, name)

    @functools.wraps(own)
    def fill(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        place = device_of(self)
        if place is not None:
            given = kwargs.get(argument, next((a for a in args if isinstance(a, Tensor)), None))
            if given is not None and given.dim() and given.is_cpu and mark_of(given) is not OPEN:
                raise RuntimeError(elsewhere(name, argument, place.device))
        made: Tensor = own(self, *args, **kwargs)
        return made

    return fill


def _of_host(name: str, own: Any) -> Any:
    """A function that refuses tensors of the device, by this name."""

    @functools.wraps(own)
    def checked(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        if device_of(tensor) is not None:
            raise NotSimulated(name)
        return own(tensor, *args, **kwargs)

    return checked


def _host_access(memory: HostMemory) -> dict[str, Any]:
    """What only the host's memory can do."""

    def numpy(self: Tensor, *, force: bool = False) -> Any:
        if device_of(self) is None:
            memory.used(self, writes=False)  # what it returns can be read unseen
            return _BASE.numpy(self, force=force)
        if not force:
            raise TypeError(_NO_NUMPY.format(self.device))
        return _BASE.numpy(self.detach().cpu().resolve_conj().resolve_neg())

    @functools.wraps(_BASE.tolist)
    def tolist(self: Tensor) -> Any:
        memory.used(self, writes=False)  # no operator reads it
        return _BASE.tolist(self)

    own_reduce = Tensor.__reduce_ex__

    @functools.wraps(own_reduce)
    def reduce(self: Tensor, protocol: Any) -> Any:
        memory.used(self, writes=False)  # to be saved or sent
        return own_reduce(self, protocol)

    def interface(self: Tensor) -> Any:
        if device_of(self) is not None:
            raise MissingAttribute("torch.Tensor.__cuda_array_interface__")
        return own_interface.fget(self)

    own_interface = vars(Tensor)["__cuda_array_interface__"]
    own_shared, share = vars(Tensor)["is_shared"], vars(Tensor)["share_memory_"]
    own_record = _BASE.record_stream
    return {
        "numpy": numpy,
        "tolist": tolist,
        "__reduce_ex__": reduce,
        **{
            name: _of_host(f"torch.Tensor.{name}", vars(Tensor)[name])
            for name in ("__dlpack__", "__dlpack_device__")
        },
        "__cuda_array_interface__": property(interface),
        "is_shared": lambda self: device_of(self) is not None or own_shared(self),
        "share_memory_": lambda self: self if device_of(self) is not None else share(self),
        "record_stream": lambda self, stream: (
            None if device_of(self) is not None else own_record(self, stream)
        ),
    }
