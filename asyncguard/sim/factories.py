"""What stands in for functions that make tensors: `device=` is taken out and remembered.

Operators cannot tell a tensor that the user wants on the host from one that C++ code makes with the
options of an operand. So the user's own calls say what they ask for (`machine.current.asked`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.cuda.sparse
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.moves import TYPES
from asyncguard.sim.places import (
    CPU,
    PINNED,
    default_device,
    device_of,
    put,
    resolve,
    take_home,
)
from asyncguard.sim.tensors import Mover

_BASE = private.TensorBase
_FROM_DATA = frozenset({"tensor", "as_tensor", "asarray"})
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
         "randint_like")  # fmt: skip
_NEW = ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
_OTHERS = ("normal",)  # no constructors to torch, and told a device all the same
_SPARSE = ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
           "sparse_bsc_tensor", "sparse_compressed_tensor")  # fmt: skip


def replacements(machine: Machine, mover: Mover) -> Iterator[tuple[Place, Any]]:
    """What takes the place of torch's factories, and of the tensor types of torch.cuda."""
    names = {function.__name__: function for function in private.device_constructors()}
    for name, function in names.items():
        if name in _FROM_DATA or name in _SPARSE or vars(torch).get(name) is not function:
            continue
        yield Place(torch, name), _factory(machine, function, default_device)
    for name in _LIKE + _OTHERS:
        yield Place(torch, name), _factory(machine, getattr(torch, name), None)
    for name in _NEW:
        yield Place(Tensor, name), _factory(machine, getattr(_BASE, name), None)
    for name in _SPARSE:
        yield Place(torch, name), _sparse(machine, getattr(torch, name))
    nested = private.nested
    yield Place(nested, "nested_tensor"), _nested(machine, nested.nested_tensor)
    for name, new in _from_data(machine, mover).items():
        yield Place(torch, name), new
    for name, new in _methods(machine, mover).items():
        yield Place(Tensor, name), new
    for name in TYPES:
        yield Place(torch.cuda, name), _legacy_type(name, _LegacyType)
        if hasattr(torch.cuda.sparse, name):
            yield Place(torch.cuda.sparse, name), _legacy_type(name, _LegacySparseType)


def _factory(
    machine: Machine, original: Callable[..., Any], default: Callable[[Machine], Any] | None
) -> Callable[..., Any]:
    """Wrap one; `default` tells where results go without `device=`, None: with the operands."""
    current = machine.current

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None:
            target = resolve(machine, device)
        elif kwargs.get("out") is not None or default is None:
            return original(*args, **kwargs)
        else:
            target = default(machine)
        if not isinstance(target, Device) and target.type != "cpu":
            return original(*args, **kwargs)
        before, current.asked = current.asked, target
        try:
            return original(*args, **{**kwargs, "device": CPU})
        finally:
            current.asked = before

    return make


def _sparse(machine: Machine, original: Callable[..., Any]) -> Callable[..., Any]:
    """Sparse tensors lie where their values do."""

    @functools.wraps(original)
    def make(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        made = placed(*args, **kwargs)
        return made.requires_grad_() if requires_grad else made

    def placed(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        target = None if device is None else resolve(machine, device)
        places = [device_of(arg) for arg in args if isinstance(arg, Tensor)]
        place = next((place for place in places if place is not None), None)
        if (place is None and not isinstance(target, Device)) or target == CPU:
            return original(*args, **kwargs)
        made = original(*args, **{**kwargs, "device": CPU})
        if place is not None:
            put(made, place)
        return made if target in (None, place) else made.to(_public(target))

    return make


def _nested(machine: Machine, original: Callable[..., Any]) -> Callable[..., Any]:
    """Nested tensors are made on the host, and are where they were asked for."""

    @functools.wraps(original)
    def make(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        target = None if device is None else resolve(machine, device)
        if not isinstance(target, Device):
            return original(*args, device=device, **kwargs)
        made = original(*args, device=CPU, **kwargs)
        put(made, target)
        return made

    return make


def _from_data(machine: Machine, mover: Mover) -> dict[str, Any]:
    tensor_of, as_tensor_of, asarray_of = torch.tensor, torch.as_tensor, torch.asarray

    def target_of(data: Any, device: Any) -> Device | torch.device:
        if device is not None:
            return resolve(machine, device)
        return _place(data) or default_device(machine)

    @functools.wraps(tensor_of)
    def tensor(
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        target = target_of(data, device)
        own = CPU if isinstance(target, Device) else target
        made = tensor_of(data, dtype=dtype, device=own)
        if isinstance(target, Device):
            mover.arrive(made, _place(data), target, _tensor(data))
        elif pin_memory:
            take_home(made, PINNED)
        return made.requires_grad_() if requires_grad else made

    @functools.wraps(as_tensor_of)
    def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
        target = target_of(data, device)
        if isinstance(data, Tensor):
            return data.to(device=_public(target), dtype=dtype)
        if not isinstance(target, Device):
            return as_tensor_of(data, dtype=dtype, device=target)
        made = as_tensor_of(data, dtype=dtype, device=CPU)
        return mover.copy(made, target, None, torch.preserve_format)

    @functools.wraps(asarray_of)
    def asarray(
        obj: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        copy: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        target = target_of(obj, device)
        if isinstance(target, Device) or _place(obj) is not None:
            made = as_tensor(obj, dtype, _public(target)).detach()
            made = made.clone() if copy and made.data_ptr() == _address(obj) else made
            return made.requires_grad_(requires_grad)
        return asarray_of(obj, dtype=dtype, device=target, copy=copy, requires_grad=requires_grad)

    return {"tensor": tensor, "as_tensor": as_tensor, "asarray": asarray}


def _place(data: Any) -> Device | None:
    """Return the simulated device of `data`; None for the host, and for what is not a tensor."""
    return device_of(data) if isinstance(data, Tensor) else None


def _tensor(data: Any) -> Tensor | None:
    return data if isinstance(data, Tensor) else None


def _public(target: Device | torch.device) -> torch.device:
    """Return the device as the program names it."""
    return target.device if isinstance(target, Device) else target


def _address(value: Any) -> int:
    return value.data_ptr() if isinstance(value, Tensor) else 0


def _methods(machine: Machine, mover: Mover) -> dict[str, Any]:
    own_new, own_new_tensor = _BASE.new, _BASE.new_tensor

    def new_tensor(
        self: Tensor,
        data: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        target = device_of(self) if device is None else resolve(machine, device)
        if not isinstance(target, Device):
            made = own_new_tensor(self, data, dtype=dtype, device=target or self.device)
            if pin_memory:
                take_home(made, PINNED)
        else:
            made = own_new_tensor(self, data, dtype=dtype, device=CPU)
            mover.arrive(made, _place(data), target, _tensor(data))
        return made.requires_grad_() if requires_grad else made

    def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        place = device_of(self)
        if place is None:
            return own_new(self, *args, **kwargs)
        given = {name: value for name, value in kwargs.items() if name != "device"}
        before, machine.current.asked = machine.current.asked, place
        try:
            made: Tensor = own_new(self, *args, **given)
        finally:
            machine.current.asked = before
        uploads = (
            bool(args) and isinstance(args[0], list | tuple) and not isinstance(args[0], torch.Size)
        )
        mover.arrive(made, None if uploads else place, place)
        return made

    return {"new_tensor": new_tensor, "new": new}


class _LegacyType(type):
    """The metaclass of torch.cuda.FloatTensor and its kin: `isinstance` looks at the tensor."""

    kind: torch.dtype

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.is_cuda and value.dtype is cls.kind

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        """As the old constructors: sizes, or data."""
        if len(args) == 1 and not isinstance(args[0], int | torch.Size):
            return torch.tensor(args[0], dtype=cls.kind, device="cuda")
        return torch.empty(*args, dtype=cls.kind, device="cuda")


class _LegacySparseType(_LegacyType):
    """The metaclass of torch.cuda.sparse.FloatTensor and its kin."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.is_sparse and super().__instancecheck__(value)

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        """As the old constructors: indices, values and sizes; or sizes alone."""
        sizes = args if args and all(isinstance(arg, int) for arg in args) else None
        given = args if sizes is None else (sizes,)
        return torch.sparse_coo_tensor(*given or ((0,),), dtype=cls.kind, device="cuda")


def _legacy_type(name: str, meta: type[_LegacyType]) -> _LegacyType:
    module = "torch.cuda" if meta is _LegacyType else "torch.cuda.sparse"
    return meta(name, (), {"kind": TYPES[name], "__module__": module})
