"""Operators that CUDA and the CPU do not have alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks import require

torch = require("torch")
nn, F = torch.nn, torch.nn.functional
pytestmark = pytest.mark.usefixtures("simulated")
HALF, LONG = torch.float16, torch.int64


def ones(*size: int, dtype: Any = None) -> Any:
    return torch.ones(*size, device="cuda", dtype=dtype)


# On the device in a dtype that the CPU lacks -> the same on the CPU in a wider one.
WIDER: dict[str, tuple[Callable[[str, Any], Any], Any, Any]] = {
    "histc": (
        lambda d, t: torch.histc(torch.tensor([0, 3, 1, 3, 7], device=d, dtype=t), 8, 0, 7),
        LONG, torch.float64,
    ),
    "avg_pool3d": (
        lambda d, t: F.avg_pool3d(torch.arange(64.0, device=d).to(t).view(1, 4, 4, 4), 2),
        HALF, torch.float32,
    ),
    "abs": (lambda d, t: torch.tensor([1, 0], device=d).to(t).abs(), torch.bool, torch.uint8),
    "resized": (
        lambda d, t: F.interpolate(
            torch.arange(16.0, device=d).to(t).view(1, 1, 4, 4), 2, mode="bilinear", antialias=True
        ),
        HALF, torch.float32,
    ),
    "margin": (
        lambda d, t: F.multi_margin_loss(
            torch.tensor([[0.5, 1.0]], device=d, dtype=t), torch.tensor([0], device=d)
        ),
        torch.bfloat16, torch.float32,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDER)
def test_a_dtype_that_the_cpu_lacks_is_computed_in_a_wider_one(name: str) -> None:
    program, narrow, wide = WIDER[name]
    made = program("cuda", narrow)
    assert made.is_cuda
    assert made.dtype == narrow
    assert torch.equal(made.cpu(), program("cpu", wide).to(narrow))
    with pytest.raises(RuntimeError, match="not implemented for"):
        program("cpu", narrow)


def test_backward_too() -> None:
    x = torch.ones(1, 2, 2, 2, device="cuda", dtype=HALF, requires_grad=True)
    F.avg_pool3d(x, 2).sum().backward()
    assert x.grad.dtype is HALF
    assert x.grad.unique().tolist() == [0.125]


def test_a_product_may_be_wider_than_its_operands() -> None:
    try:
        made = torch.mm(ones(2, 2, dtype=HALF), ones(2, 2, dtype=HALF), out_dtype=torch.float32)
    except TypeError:
        pytest.skip("torch.mm takes no out_dtype in this torch")
    assert made.dtype is torch.float32
    assert made.tolist() == [[2, 2], [2, 2]]


REFUSED: dict[str, Callable[[], Any]] = {
    "matmul": lambda: ones(2, 2, dtype=LONG) @ ones(2, 2, dtype=LONG),
    "batched": lambda: ones(2, 2, 2, dtype=LONG) @ ones(2, 2, 2, dtype=LONG),
    "dot": lambda: ones(2, dtype=torch.int32).dot(ones(2, dtype=torch.int32)),
    "linear": lambda: F.linear(ones(2, 2, dtype=LONG), ones(2, 2, dtype=LONG)),
    "conv": lambda: F.conv1d(ones(1, 1, 4, dtype=LONG), ones(1, 1, 2, dtype=LONG)),
    "pool": lambda: F.max_pool2d(ones(1, 4, 4, dtype=LONG), 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_dtype_that_cuda_lacks_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"_cuda\" not implemented for '(Long|Int)'"):
        REFUSED[name]()


def test_lengths_of_packed_sequences_are_the_hosts() -> None:
    lengths = torch.tensor([3, 2], device="cuda")
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor"):
        nn.utils.rnn.pack_padded_sequence(ones(3, 2, 4), lengths)


def test_kernels_that_a_program_registers_for_cuda_are_called() -> None:
    @torch.library.custom_op("asyncguard_tests::twice", mutates_args=(), device_types="cpu")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_kernel("cuda")
    def on_cuda(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        out = torch.empty_like(x)
        assert out.is_cuda
        return out.copy_(x * 2 + 100)

    assert twice(ones(1)).tolist() == [102]
    assert twice(ones(1)).is_cuda
    assert twice(torch.ones(1)).tolist() == [2]


def test_traced_functions_may_make_tensors_and_hold_numbers() -> None:
    def scaled(x: Any) -> Any:
        return x * 2 + torch.ones(3, device="cuda")

    traced = torch.jit.trace(scaled, (ones(3),))
    assert traced(ones(3)).tolist() == [3, 3, 3]


def test_a_place_that_is_filled_is_told_by_the_device() -> None:
    """A subscript takes an index of the host along; a method does not."""
    x, index, mask = ones(4), torch.tensor([0, 2]), torch.tensor([True, False, True, False])
    x[index] = 0
    x[[1]] = 5
    x[mask] = 7
    assert x.tolist() == [7, 5, 7, 1]
    for fill, name in (
        (lambda: x.index_fill_(0, index, 0), "index"),
        (lambda: x.masked_fill_(mask, 0), "mask"),
        (lambda: x.masked_fill_(mask=mask, value=0), "mask"),
        (lambda: x.index_fill(0, index, 0), "index"),
    ):
        with pytest.raises(RuntimeError, match=f"got {name} is on cpu, different from"):
            fill()
    x.index_fill_(0, index.cuda(), 0).masked_fill_(mask.cuda(), 2)
    assert x.tolist() == [2, 5, 2, 1]
