"""What the simulation must know of each operator; computed from its schema, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.accesses import Access, access_of
from asyncguard.runtime.adapters.torch.schemas import schema_of
from asyncguard.sim import costs, kernels

# Operators that take operands of several devices: which of them, by position; see also `_MIXES`.
_HOST_OPERANDS: dict[str, tuple[int, ...]] = {
    "aten::index": (1,),
    "aten::_unsafe_index": (1,),
    "aten::index_put": (1,),
    "aten::index_put_": (1,),
    "aten::_unsafe_index_put": (1,),
    "aten::_index_put_impl_": (1,),
    "aten::index_fill_": (2,),  # by `x[index] = number`; see also `FILLS`
    "aten::masked_fill_": (1,),
    "aten::_pad_packed_sequence": (1,),
    "aten::_pack_padded_sequence_backward": (2,),
    "aten::tensor_split": (1,),
    "aten::_ctc_loss": (2, 3),
    "aten::ctc_loss": (2, 3),
    "aten::_use_cudnn_ctc_loss": (2, 3),
    "aten::_cudnn_ctc_loss": (2, 3),
    "aten::_ctc_loss_backward": (3, 4),
    "aten::lstm": (1,),
    "aten::gru": (1,),
    "aten::rnn_tanh": (1,),
    "aten::rnn_relu": (1,),
}
_SAME_DEVICE = "Expected all tensors to be on the same device, but "
# Operators an operand of which is the host's only: by position, and what CUDA says.
_HOST_ONLY: dict[str, tuple[int, str]] = {
    "aten::_pack_padded_sequence": (
        1, "'lengths' argument should be a 1D CPU int64 tensor, but got {}D {} {} tensor",
    ),
}  # fmt: skip
# Copies, and operators whose lists go element by element (an optimizer's counters are the host's).
_MIXES = ("aten::copy", "aten::_copy", "aten::_foreach_", "aten::_fused_", "c10d::", "aten::set_",
          "aten::_to_copy", "aten::_amp_", "aten::is_same_size", "aten::record_stream",
          "aten::_has_same_storage_numel", "profiler::")  # fmt: skip
# Methods that are refused operands of the host which subscripts may hand to their operators.
FILLS = {"index_fill_": "index", "masked_fill_": "mask"}
PUTS = ("aten::index_put", "aten::_index_put_impl_")  # (self, indices, values, accumulate)
_HOST_RESULTS = {"aten::_pack_padded_sequence": 1}  # which of the results stays on the host
# Parts of sparse tensors: views, of storages that bear no mark yet.
_PARTS = frozenset({
    "aten::_values", "aten::_indices", "aten::values", "aten::indices", "aten::crow_indices",
    "aten::col_indices", "aten::ccol_indices", "aten::row_indices",
})  # fmt: skip
_WITHOUT_KERNEL = frozenset({
    "aten::is_pinned", "aten::lift_fresh", "aten::lift", "aten::is_same_size",
    "aten::record_stream",
    "aten::empty", "aten::empty_strided", "aten::empty_like", "aten::new_empty", "aten::resize_",
    "aten::new_empty_strided", "aten::set_", "aten::_pin_memory", "aten::detach", "aten::detach_",
    "aten::_reshape_alias", "aten::_unsafe_view", "aten::requires_grad_", "aten::item",
    "aten::is_nonzero", "aten::equal", "aten::allclose",
})  # fmt: skip


_TAKE_NUMBERS = frozenset({
    "aten::fill_", "aten::fill", "aten::index_fill_", "aten::index_fill", "aten::index_put_",
    "aten::index_put", "aten::_index_put_impl_", "aten::masked_fill", "aten::masked_fill_",
    "aten::where", "aten::copy_", "aten::copy", "aten::lift_fresh", "aten::set_", "aten::allclose",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """One overload of an operator."""

    name: str
    run: Callable[..., Any]
    makes: bool  # whether results are memory of their own
    takes_device: bool
    mixes: bool  # whether its operands may lie on several devices
    host_operands: tuple[int, ...]
    host_result: int | None
    launches: bool  # whether a kernel runs on the device
    flops: costs.Flops | None
    is_elementwise: bool
    takes_numbers: bool  # operands without dimensions may be the host's
    writes: bool
    is_copy: bool
    is_read: bool
    is_collective: bool
    arguments: tuple[str, ...]
    tensors: tuple[int, ...]  # the positions of arguments that are tensors
    refused: tuple[torch.dtype, ...]  # dtypes that CUDA lacks
    host_only: tuple[int, str] | None
    own_kernel: Callable[..., Any] | None  # registered for CUDA by the program, or of parts
    access: Access
    written: tuple[str, ...] = ()  # the arguments that it writes to


def describe(func: Any) -> Operator:
    """Read an overload's schema."""
    schema = schema_of(func)
    if schema is None:
        return _unknown(func)
    name, writes = schema.name, bool(schema.written)
    # `to`, `reshape` and their kind arrive whole in inference mode only: their parts say whether
    # the result is an alias or a copy.
    parts = private.parts(func) if schema.aliases and not writes else None
    return Operator(
        name=name,
        run=private.runner(func),
        makes=schema.makes or name in _PARTS,
        takes_device=schema.takes_device,
        mixes=name.startswith(_MIXES),
        host_operands=_HOST_OPERANDS.get(name, ()) or _HOST_ONLY.get(name, ())[:1],
        host_result=_HOST_RESULTS.get(name),
        launches=name not in _WITHOUT_KERNEL and (schema.makes or writes),
        flops=costs.flops_of(func),
        is_elementwise=torch.Tag.pointwise in func.tags,
        takes_numbers=torch.Tag.pointwise in func.tags or name in _TAKE_NUMBERS,
        writes=writes,
        is_copy=name in ("aten::copy_", "aten::copy"),
        is_read=name == "aten::_local_scalar_dense",
        is_collective=name.startswith("c10d::"),
        arguments=tuple(argument.name for argument in schema.arguments),
        tensors=tuple(at for at, each in enumerate(schema.arguments) if str(each.type) == "Tensor"),
        refused=kernels.REFUSED.get(name.removeprefix("aten::"), ()),
        host_only=_HOST_ONLY.get(name),
        own_kernel=kernels.own_kernel(func) or parts,
        written=tuple(schema.arguments[at].name for at in schema.written),
        access=access_of(func),
    )


def _unknown(func: Any) -> Operator:
    """An operator of higher order: it runs as it is, and what it runs is seen by itself."""
    return Operator(
        str(func), func, True, False, True, (), None, False, None,
        False, True, False, False, False, False, (), (), (), None, None, Access(),
    )  # fmt: skip


def mismatch(op: Operator, args: tuple[Any, ...], device: torch.device, other: int) -> str:
    """CUDA's message for operands on several devices; `other` is the position of the odd one."""
    if op.is_elementwise or not other < len(op.arguments):
        return f"{_SAME_DEVICE}found at least two devices, {device} and cpu!"
    return elsewhere(op.name.partition("::")[2], op.arguments[other], device)


def elsewhere(short: str, argument: str, device: torch.device) -> str:
    """CUDA's message for an argument on the host of an operator on a device."""
    return (
        f"{_SAME_DEVICE}got {argument} is on cpu, different from other tensors on {device}"
        f" (when checking argument in method wrapper_CUDA_{short})"
    )


def refuse(op: Operator, args: tuple[Any, ...]) -> None:
    """Raise what CUDA raises for a dtype that it lacks, and for what is to be on the host."""
    if op.refused:
        kernels.refuse_dtype(op.name.partition("::")[2], op.refused, args)
    if op.host_only is None:
        return
    at, message = op.host_only
    tensor = args[at]
    if tensor.is_cuda:
        raise RuntimeError(message.format(tensor.dim(), tensor.device, tensor.dtype))
