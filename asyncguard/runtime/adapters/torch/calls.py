"""torch's calls of which no single value tells whether they wait: the test of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.probes import Args, Kwargs
from asyncguard.runtime.simulated import present

__all__ = ["CALLS", "TIMES", "WORK"]

_LONGEST = 255  # labels that cuDNN takes
_MANY = 10  # elements to look for, from which on `isin` may sort
_BLOCKING_WAIT = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")


def _waits_for_work(args: Args, kwargs: Kwargs) -> bool:
    """`Work.wait` holds the host, unless it is the stream that it holds."""
    work, *rest = args
    timeout = rest[0] if rest else kwargs.get("timeout")
    return bool(timeout) or not _only_streams_wait(work)


def _reads_found_inf(args: Args, kwargs: Kwargs) -> bool:
    """`GradScaler.step` reads whether to step, unless the optimizer does that on the device."""
    optimizer = _argument(args, kwargs, 1, "optimizer")
    return not private.scales_itself(optimizer)


def _reads_range(args: Args, kwargs: Kwargs) -> bool:
    """`histc` takes its range from the data where both ends are the same, as by default."""
    low, high = _argument(args, kwargs, 2, "min", 0), _argument(args, kwargs, 3, "max", 0)
    return isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor) or bool(low == high)


def _is_spectral(args: Args, kwargs: Kwargs) -> bool:
    """Whether a norm is one of singular values: of a matrix, not of a vector."""
    order = _argument(args, kwargs, 1, "ord")
    matrix = args[0] if args else next(iter(kwargs.values()))
    dim = _argument(args, kwargs, 2, "dim")
    of_vector = isinstance(dim, int) or (dim is None and matrix.ndim < 2)
    if isinstance(order, str):
        return order == "nuc"
    return isinstance(order, int | float) and abs(order) == 2 and not of_vector


def _inverts(args: Args, kwargs: Kwargs) -> bool:
    """A negative power is one of the inverse, whose existence is checked."""
    power = _argument(args, kwargs, 1, "n", 0)
    return isinstance(power, int) and power < 0


def _is_number_of_device(args: Args, kwargs: Kwargs) -> bool:
    """Whether an operator on lists of tensors takes a scalar tensor from their device."""
    number = kwargs.get("alpha", _argument(args, kwargs, 2, "weight"))
    first = args[0][0] if args and args[0] else None
    return (
        isinstance(number, torch.Tensor)
        and isinstance(first, torch.Tensor)
        and number.is_cpu == first.is_cpu
    )


def _argument(args: Args, kwargs: Kwargs, at: int, name: str, default: Any = None) -> Any:
    return args[at] if len(args) > at else kwargs.get(name, default)


def checks(args: Args, kwargs: Kwargs) -> int:
    """How many of its parameters a distribution checks as it is made: each check reads a value."""
    made = args[0]
    asked = _argument(args, kwargs, 3, "validate_args")
    if not (private.checks_arguments(made) if asked is None else asked):
        return 0
    try:
        constraints = made.arg_constraints
    except NotImplementedError:
        return 0
    return sum(
        not torch.distributions.constraints.is_dependent(constraint)
        and (name in vars(made) or not _is_lazy(getattr(type(made), name, None)))
        for name, constraint in constraints.items()
    )


def _is_lazy(attribute: Any) -> bool:
    """Whether a parameter is computed from another one, where it is asked for."""
    return isinstance(attribute, torch.distributions.utils.lazy_property)


def _decompositions(args: Args, kwargs: Kwargs) -> int:
    """Singular values wait twice, unless `gesvd` or the eigenvalues of a symmetric matrix do."""
    return 1 if kwargs.get("driver") == "gesvd" or kwargs.get("hermitian") else 2


def _of_condition(args: Args, kwargs: Kwargs) -> int:
    """Singular values wait twice; the norms that multiply by an inverse do not wait."""
    order = _argument(args, kwargs, 1, "p")
    if isinstance(order, int | float):
        return 2 if abs(order) == 2 else 0
    return 2 if order in (None, "nuc") else 0


def _of_isin(args: Args, kwargs: Kwargs) -> int:
    """Many test elements are sorted, which takes two `unique`, and a number is written to a mask.

    With `assume_unique` the number remains; no device was asked about that.
    """
    among, wanted = (
        _argument(args, kwargs, 0, "elements"),
        _argument(args, kwargs, 1, "test_elements"),
    )
    if not (isinstance(among, torch.Tensor) and isinstance(wanted, torch.Tensor)):
        return 0
    if wanted.numel() < _MANY * among.numel() ** 0.145:
        return 0
    return 1 if kwargs.get("assume_unique") else 3


def _of_ctc_loss(args: Args, kwargs: Kwargs) -> int:
    """torch uploads lengths and offsets, and reads lengths on the device; cuDNN waits once."""
    lengths = [
        _argument(args, kwargs, at, f"{of}_lengths") for at, of in ((2, "input"), (3, "target"))
    ]
    if any(isinstance(each, torch.Tensor) and not each.is_cpu for each in lengths):
        return 8
    return 1 if _takes_cudnn(args, kwargs, *lengths) else 5


def _takes_cudnn(args: Args, kwargs: Kwargs, inputs: Any, labels: Any) -> bool:
    """Whether `ctc_loss` is computed by cuDNN, as torch's `_use_cudnn_ctc_loss` decides it."""
    scores, targets = _argument(args, kwargs, 0, "log_probs"), _argument(args, kwargs, 1, "targets")
    return (
        isinstance(inputs, list | tuple)
        and isinstance(labels, list | tuple)
        and isinstance(targets, torch.Tensor)
        and targets.is_cpu
        and (targets.dim(), targets.dtype, scores.dtype) == (1, torch.int32, torch.float32)
        and scores.dim() == 3
        and not _argument(args, kwargs, 4, "blank", 0)
        and set(inputs) == {scores.shape[0]}
        and max(labels, default=0) <= min(scores.shape[0], _LONGEST)
    )


DISTRIBUTION = "torch.distributions.Distribution.__init__"
WORK = "torch.distributed.Work.wait"
CALLS: dict[str, Callable[[Args, Kwargs], bool]] = {
    WORK: _waits_for_work,
    DISTRIBUTION: lambda args, kwargs: bool(checks(args, kwargs)),
    "torch.amp.GradScaler.step": _reads_found_inf,
    "torch.histc": _reads_range,
    "torch.Tensor.histc": _reads_range,
    "torch.linalg.norm": _is_spectral,
    "torch.linalg.matrix_power": _inverts,
    "torch._foreach_lerp_": _is_number_of_device,
}
# How often calls wait, by what they are given; measured on an H200 with torch 2.11.
TIMES: dict[str, Callable[[Args, Kwargs], int]] = {
    DISTRIBUTION: checks,
    "torch.isin": _of_isin,
    "torch.combinations": lambda args, kwargs: _argument(args, kwargs, 1, "r", 2),
    "torch.linalg.svd": _decompositions,
    "torch.linalg.svdvals": _decompositions,
    "torch.linalg.matrix_rank": _decompositions,
    "torch.linalg.pinv": _decompositions,
    "torch.linalg.cond": _of_condition,
    "torch.nn.functional.ctc_loss": _of_ctc_loss,
}


def _only_streams_wait(work: Any) -> bool:
    """Whether `work.wait()` holds the stream and not the host, as that of NCCL's collectives does.

    A work does not say whose it is. Those of accelerators can tell how long they took on the
    device; where others are asked that, they raise and say that they do not support it.
    """
    if not torch.cuda.is_initialized() or _is_set(_BLOCKING_WAIT) or private.is_barrier(work):
        return False
    if present.model is not None:  # its collectives are those of gloo, in NCCL's stead
        return True
    try:
        private.duration(work)
    except RuntimeError as error:
        return "support" not in str(error)
    return True


def _is_set(names: tuple[str, ...]) -> bool:
    values = (os.environ.get(name, "0").lower() for name in names)
    return any(value not in ("", "0", "n", "no", "f", "false") for value in values)
