"""torch's hooks where values are on a device and others are not: both are played on the CPU.

`OnDevice` says that it is on cuda:0, and so does all that is computed from it. The same cases are
asked of a real device by `test_cuda` and `benchmarks/cuda_check.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import asyncguard
from asyncguard import catalogue
from asyncguard.runtime import versions
from asyncguard.runtime.probes import condition
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.cuda_rows import ROWS, Row, values
from tests.runtime.helpers import counts

torch = require("torch")
F = torch.nn.functional


class OnDevice(torch.Tensor):  # type: ignore[misc, name-defined]
    """A tensor that passes for one on cuda:0."""

    is_cpu = property(lambda self: False)
    device = property(lambda self: torch.device("cuda:0"))


def on_device(*values: float, dtype: Any = None) -> Any:
    return torch.tensor(values, dtype=dtype).as_subclass(OnDevice)


def scalar(value: float) -> Any:
    return torch.tensor(value).as_subclass(OnDevice)


x = on_device(0.0, 1.0, 2.0, 3.0)
square = torch.eye(2).as_subclass(OnDevice)
mask = x > 1
host_mask = torch.tensor([True, False, True, False])
at, start = scalar(1), scalar(0)


def written(target: Any, index: Any, value: Any) -> None:
    target = target.clone()
    target[index] = value


def waits(call: Callable[[], Any]) -> dict[str, int]:
    """API -> how often the call waits for cuda:0."""
    with Session(frameworks=["torch"], count_cpu=False) as session:
        call()
    record = session.record()
    assert {site.device for site in record.sites} <= {"cuda:0"}
    return counts(record)


MASKED_WRITE, PICKED = "torch.Tensor.__setitem__.mask", "torch.Tensor.__getitem__.scalar"
NUMBER = "torch.Tensor.__setitem__.number"
SUBSCRIPTS: dict[str, tuple[Callable[[], Any], str]] = {
    "read by mask": (lambda: x[mask], "torch.Tensor.__getitem__.mask"),
    "read by a mask of the host": (lambda: x[host_mask], ""),
    "write by mask": (lambda: written(x, mask, on_device(5.0, 6.0)), MASKED_WRITE),
    "write one of the device by mask": (lambda: written(x, mask, scalar(5.0)), MASKED_WRITE),
    "write one of the host by mask": (lambda: written(x, mask, torch.tensor(5.0)), ""),
    "write a row of one of the host": (lambda: written(x, mask, torch.tensor([5.0])), ""),
    "write a number by mask": (lambda: written(x, mask, 5.0), ""),
    "write by a mask of the host": (lambda: written(x, host_mask, on_device(5.0, 6.0)), ""),
    "write a number by a mask of the host": (
        lambda: written(x, host_mask, 5.0),
        "torch.Tensor.__setitem__.scalar",
    ),
    "put one of the device": (lambda: x.index_put((mask,), scalar(5.0)), MASKED_WRITE),
    "put one of the host": (lambda: x.index_put((mask,), torch.ones(1)), ""),
    "write values of the host": (
        lambda: written(x, slice(0, 2), torch.ones(2)),
        "torch.Tensor.__setitem__.upload",
    ),
    "write one value of the host": (lambda: written(x, slice(0, 2), torch.tensor(5.0)), ""),
    "write values of the device": (lambda: written(x, slice(0, 2), on_device(5.0, 6.0)), ""),
    "read by a scalar": (lambda: x[at], PICKED),
    "read by a scalar of the host": (lambda: x[torch.tensor(1)], ""),
    "write a row of the host by a scalar": (
        lambda: written(square, at, torch.ones(2)[0]),
        "torch.Tensor.__setitem__.index",
    ),
    "write a number to one": (lambda: written(x, 1, 1.0), NUMBER),
    "write a number to one at the end": (lambda: written(x, (..., -1), 1), NUMBER),
    "write a number to one by the host's": (lambda: written(x, torch.tensor(1), 1.0), NUMBER),
    "write a number to what is one": (lambda: written(scalar(1), ..., 1.0), NUMBER),
    "write a number to a row": (lambda: written(square, 1, 1.0), ""),
    "write a number to a row of one": (lambda: written(x, (None, 1), 1.0), ""),
    "write a number to a row of one by truth": (lambda: written(scalar(1), True, 1.0), ""),
    "write a tensor by a scalar": (
        lambda: written(x, at, scalar(2.0)),
        "torch.Tensor.__setitem__.index",
    ),
}


@pytest.mark.parametrize("name", SUBSCRIPTS)
def test_what_a_subscript_waits_for_depends_on_where_its_parts_are(name: str) -> None:
    call, api = SUBSCRIPTS[name]
    assert waits(call) == ({api: 1} if api else {})


class Fused(torch.optim.SGD):  # type: ignore[misc, name-defined]
    """As optimizers with `fused=True`: they look at `found_inf` on the device."""

    _step_supports_amp_scaling = True


def scaler_step(kind: Any) -> Callable[[], Any]:
    """A scaler's step, but for what it does: only whether it reads is asked."""
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    optimizer = kind([torch.nn.Parameter(torch.ones(1))], lr=0.1)

    def step() -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = torch.ones(1)
        scaler.scale(torch.ones(1))
        scaler.step(optimizer)

    return step


@pytest.mark.parametrize(("kind", "expected"), [(torch.optim.SGD, 1), (Fused, 0)])
def test_a_fused_optimizer_reads_no_flag_of_its_scaler(
    kind: Any, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from asyncguard.runtime.adapters import torch as adapter

    monkeypatch.setattr(adapter.Adapter, "default_device", lambda self: "cuda:0")
    monkeypatch.setattr(torch.amp.GradScaler, "step", lambda self, optimizer: None)
    assert waits(scaler_step(kind)).get("torch.amp.GradScaler.step", 0) == expected


RANGE, NORM = "torch.histc", "torch.linalg.norm"
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "nanmedian": (lambda: torch.nanmedian(x), ""),
    "x.nanmedian": (lambda: x.nanmedian(), ""),
    "normal of a std": (lambda: torch.normal(0.0, x + 1), "torch.normal"),
    "normal of a mean": (lambda: torch.normal(x, 1.0), ""),
    "histc": (lambda: torch.histc(x, 4), RANGE),
    "histc of a range": (lambda: torch.histc(x, 4, 0, 3), ""),
    "histc of equal ends": (lambda: torch.histc(x, 4, min=1, max=1), RANGE),
    "x.histc": (lambda: x.histc(4, 0, 0), "torch.Tensor.histc"),
    "x.histc of a range": (lambda: x.histc(4, max=3), ""),
    "save": (lambda: torch.save({"a": [{"b": x}]}, _Nowhere()), "torch.save"),
    "save what is on the host": (lambda: torch.save({"a": torch.ones(1)}, _Nowhere()), ""),
    "lstsq": (lambda: torch.linalg.lstsq(square, square), "torch.linalg.inv"),
    "cholesky_inverse": (lambda: torch.cholesky_inverse(square), ""),
    "lu": (lambda: torch.lu(square), ""),
    "inv_ex": (lambda: torch.linalg.inv_ex(square), ""),
    "checked inv_ex": (
        lambda: torch.linalg.inv_ex(square, check_errors=True),
        "torch.linalg.inv_ex",
    ),
    "cond": (lambda: torch.linalg.cond(square), "torch.linalg.svd"),
    "norm": (lambda: torch.linalg.norm(square), ""),
    "norm of a vector": (lambda: torch.linalg.norm(x, 2), ""),
    "norm by dimension": (lambda: torch.linalg.norm(square, 2, dim=1), ""),
    "spectral norm": (lambda: torch.linalg.norm(square, 2), NORM),
    "spectral norm of matrices": (lambda: torch.linalg.matrix_norm(square[None], -2), NORM),
    "nuclear norm": (lambda: torch.linalg.matrix_norm(square, "nuc"), NORM),
    "torch.norm": (lambda: torch.norm(square, 2), ""),
    "nuclear torch.norm": (lambda: torch.norm(square, p="nuc"), "torch.norm.nuclear"),
    "power": (lambda: torch.linalg.matrix_power(square, 2), ""),
    "repeat_interleave by a number": (lambda: x.repeat_interleave(2), ""),
    "power of the inverse": (
        lambda: torch.linalg.matrix_power(square, -1),
        "torch.linalg.matrix_power",
    ),
    "matrix_exp": (lambda: square.matrix_exp(), "torch.matrix_exp"),
    "istft": (
        lambda: torch.istft(
            torch.ones(3, 3, dtype=torch.complex64).as_subclass(OnDevice), 4, window=x + 1
        ),
        "torch.istft",
    ),
    "ctc_loss": (
        lambda: F.ctc_loss(
            torch.randn(4, 1, 3).log_softmax(-1).as_subclass(OnDevice),
            torch.ones(1, 2, dtype=torch.long),
            (4,),
            (2,),
        ),
        "torch.nn.functional.ctc_loss",
    ),
}


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: bytes) -> int:
        return len(data)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("name", CALLS)
def test_what_is_read_depends_on_the_whole_call(name: str) -> None:
    call, api = CALLS[name]
    assert waits(call) == ({api: catalogue.load()[api].times} if api else {})


@pytest.mark.parametrize(
    ("args", "kwargs", "holds"),
    [
        (("cuda",), {}, False),
        (("cuda", torch.float32, True), {}, True),
        (("cuda",), {"non_blocking": True}, True),
        (("cuda", torch.float32, False, True), {}, False),  # the second flag is `copy`
        ((torch.float32, True), {"copy": True}, True),
        (("cuda",), {"non_blocking": False}, False),
    ],
)
def test_a_flag_may_be_given_by_position(
    args: tuple[Any, ...], kwargs: dict[str, Any], holds: bool
) -> None:
    unless = catalogue.load()["torch.Tensor.to.device"].unless
    assert unless is not None
    assert condition(unless, 1)((x, *args), kwargs) == holds


@pytest.mark.parametrize(
    ("numbers", "pinned", "expected"),
    [(1 << 14, False, 0), ((1 << 14) + 1, False, 1), ((1 << 14) + 1, True, 0)],
)
def test_much_pageable_memory_is_waited_for_whatever_its_upload_is_told(
    numbers: int, pinned: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: pinned)
    sent, room = torch.ones(numbers), torch.ones(numbers).as_subclass(OnDevice)
    found = waits(lambda: room.copy_(sent, non_blocking=True))
    assert found == ({"torch.Tensor.copy_.to_device": 1} if expected else {})
    assert waits(lambda: room.copy_(sent, True)) == found


@pytest.mark.parametrize(("pinned", "expected"), [(True, 0), (False, 1)])
def test_a_copy_into_pageable_memory_waits_whatever_it_is_told(
    pinned: bool, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: pinned)
    buffer = torch.empty(4)
    monkeypatch.setattr(
        OnDevice, "__torch_function__", classmethod(lambda *_, **__: buffer), raising=False
    )
    found = waits(lambda: buffer.copy_(x, non_blocking=True))
    assert found.get("torch.Tensor.copy_.to_host", 0) == expected


LAID_OUT: dict[str, tuple[Callable[[], Any], str | None]] = {
    "one block": (lambda: torch.ones(256, 256), None),
    "gaps": (lambda: torch.ones(256, 512)[:, ::2], "gapped"),
    "another order": (lambda: torch.ones(256, 256).t(), "gapped"),
    "broadcast": (lambda: torch.ones(256), "gapped"),  # what is sent is what the target has
}


@pytest.mark.parametrize("name", LAID_OUT)
@pytest.mark.parametrize("pinned", [True, False])
def test_why_an_upload_blocks_all_the_same(
    name: str, pinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, why = LAID_OUT[name]
    sent, room = make(), torch.ones(256, 256).as_subclass(OnDevice)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: pinned)
    with Session(frameworks=["torch"]) as session:
        room.copy_(sent, non_blocking=True)
    (found, *_) = [site.why for site in session.record().sites] or [None]
    assert found == (why if pinned else "pageable")


def test_the_report_says_why() -> None:
    buffer = torch.empty(4)
    with asyncguard.trace() as trace:
        buffer.copy_(x, non_blocking=True)
    assert "non_blocking=True blocks all the same: the destination is not pinned" in trace.to_text()
    assert trace.sites[0].why == "unpinned destination"


def test_an_upload_to_the_default_device_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.tensor` names no device, and its result is on one."""
    from asyncguard.runtime.adapters import torch as adapter

    made = torch.tensor([1.0, 2.0])
    monkeypatch.setattr(torch.utils._device, "CURRENT_DEVICE", torch.device("cuda"))
    monkeypatch.setattr(
        adapter.Adapter, "device_of", lambda self, value: "cuda:0" if value is made else None
    )
    monkeypatch.setattr(torch, "tensor", lambda data: made)
    assert waits(lambda: torch.tensor([1.0, 2.0])) == {"torch.tensor": 1}
    monkeypatch.setattr(torch.utils._device, "CURRENT_DEVICE", None)
    assert waits(lambda: torch.tensor([1.0, 2.0])) == {}


@pytest.mark.parametrize("norm", [x[1:2].sum(), torch.ones(())], ids=["device", "host"])
def test_a_checked_norm_is_read_where_it_is(norm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def total(tensors: Any, error_if_nonfinite: bool = False) -> Any:
        return norm

    monkeypatch.setattr(torch.nn.utils, "get_total_norm", total)
    api = "torch.nn.utils.clip_grad_norm_"
    for checked in (True, False):
        found = waits(lambda on=checked: torch.nn.utils.get_total_norm([], error_if_nonfinite=on))
        assert found == ({api: 1} if checked and type(norm) is OnDevice else {})


def test_a_model_is_where_its_parameters_are() -> None:
    from asyncguard.runtime.adapters.torch import Adapter

    adapter = Adapter(catalogue.load().frameworks["torch"])
    model = torch.nn.Linear(2, 2)
    assert adapter.device_of(model) == "cpu (stand-in)"
    assert adapter.device_of(torch.nn.ReLU()) is None
    model.register_buffer("scale", x)
    assert adapter.device_of(model.scale) == "cuda:0"


K = scalar(2)
NUMBERS: dict[str, tuple[Callable[[], Any], str]] = {
    "zeros": (lambda: torch.zeros(K), "torch.zeros"),
    "zeros of a tuple": (lambda: torch.zeros((2, K)), "torch.zeros"),
    "randint": (lambda: torch.randint(0, K, (3,)), "torch.zeros"),
    "randperm": (lambda: torch.randperm(K), "torch.zeros"),
    "arange": (lambda: torch.arange(K), "torch.arange"),
    "full": (lambda: torch.full((2,), scalar(1.5)), "torch.arange"),
    "eye": (lambda: torch.eye(K), "torch.arange"),
    "view": (lambda: x.view(K, 2), "torch.Tensor.view"),
    "reshape": (lambda: x.reshape((K, -1)), "torch.Tensor.view"),
    "expand": (lambda: x[:1].expand(K), "torch.Tensor.view"),
    "repeat": (lambda: x.repeat(K), "torch.Tensor.topk"),
    "new_zeros": (lambda: x.new_zeros(K), "torch.Tensor.topk"),
    "x.topk": (lambda: x.topk(k=K), "torch.Tensor.topk"),
    "x.split": (lambda: x.split(K), "torch.Tensor.view"),
    "topk": (lambda: torch.topk(x, K), "torch.topk"),
    "full_like": (lambda: torch.full_like(x, scalar(1.5)), "torch.topk"),
    "torch.narrow": (lambda: torch.narrow(x, 0, 0, K), "torch.topk"),
    "pad": (lambda: F.pad(x, (0, K)), "torch.reshape"),
    "fft": (lambda: torch.fft.fft(x, n=K), "torch.reshape"),
    "classes of one_hot": (
        lambda: F.one_hot(torch.tensor([0, 1]), K),
        "torch.nn.functional.one_hot.classes",
    ),
    "length of narrow": (lambda: x.narrow(0, 0, K), "torch.Tensor.narrow"),
    "add": (lambda: torch.add(x, x, alpha=K), "torch.add"),
    "x.add": (lambda: x.add(x, alpha=K), "torch.Tensor.add"),
    "x.addcdiv": (lambda: x.addcdiv(x, x + 1, value=K), "torch.Tensor.add"),
    "masked_fill": (lambda: torch.masked_fill(x, mask, scalar(1.0)), "torch.masked_fill"),
    "x.masked_fill": (lambda: x.masked_fill(mask, scalar(1.0)), "torch.Tensor.masked_fill"),
    "index_fill_": (
        lambda: x.clone().index_fill_(0, torch.tensor([1]), scalar(1.0)),
        "torch.Tensor.index_fill",
    ),
}
PLAIN: dict[str, Callable[[], Any]] = {
    "zeros": lambda: torch.zeros(2, 3, dtype=torch.float64, device="cpu"),
    "zeros of a shape": lambda: torch.zeros(x.shape),
    "zeros into a tensor": lambda: torch.zeros(4, out=torch.empty(4).as_subclass(OnDevice)),
    "view": lambda: x.view(2, -1).view(torch.int32).view(x.shape),
    "view of a tuple": lambda: x.view((2, 2)),
    "expand": lambda: x[:1].expand(-1).expand(x.shape),
    "topk": lambda: (x.topk(2), torch.topk(input=x, k=2)),
    "a size of the host": lambda: x.view(torch.tensor(2), 2),
    "add": lambda: x.add(x, alpha=2).add_(scalar(1.0)).sub(x),
    "add into a tensor": lambda: torch.add(x, x, out=x.clone()),
    "addcmul": lambda: torch.addcmul(x, x, x, value=0.5),
    "masked_fill": lambda: torch.masked_fill(x, mask, 1.0),
    "roll by several": lambda: torch.roll(square, (1, 1), (0, 1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_device_value_where_a_number_is_expected_is_read(name: str) -> None:
    call, api = NUMBERS[name]
    assert waits(call) == {api: 1}


@pytest.mark.parametrize("name", PLAIN)
def test_numbers_and_tensors_in_their_places_are_not(name: str) -> None:
    assert waits(PLAIN[name]) == {}


def scripted(value: torch.Tensor) -> torch.Tensor:
    return torch.where(value > 0, value, torch.zeros(4)) + torch.add(value, value, alpha=2)


def test_torchscript_compiles_what_is_hooked() -> None:
    before = torch.jit._builtins._find_builtin
    with Session(frameworks=["torch"]):
        compiled = torch.jit.script(scripted)
    assert torch.jit._builtins._find_builtin is before
    values = torch.arange(4.0)
    assert torch.equal(compiled(values), scripted(values))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps the hook's entry")
def test_what_a_number_hook_raises_is_torchs_own() -> None:
    with Session(frameworks=["torch"]), pytest.raises(RuntimeError, match="shape") as raised:
        x.view(3)
    assert [entry.name for entry in raised.traceback][-1] != "call"


# What needs a real device to run: the rest is played.
REAL = (
    "cuda", "cpu", "pinned", "big", "buffer", "accelerator", "sparse", ".3f", "svd_lowrank",
    "lobpcg", "driver", "encoder",
)  # fmt: skip


REFUSED_BY_2_6 = {"x.roll(k)", "torch.roll(x, k)", "F.adaptive_avg_pool1d(x[None], k)"}


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.depth == "light" and not any(word in row.call for word in REAL)],
    ids=lambda row: row.call,
)
def test_the_rows_that_a_real_device_is_asked_are_counted_on_a_played_one(row: Row) -> None:
    if row.call in REFUSED_BY_2_6 and versions.matches(torch.__version__, "<2.11"):
        pytest.skip(f"torch {torch.__version__} takes no tensor there")
    names = values(
        torch, lambda tensor: tensor.as_subclass(OnDevice), lambda tensor: tensor, row.call
    )
    assert waits(lambda: eval(row.call, names)) == row.counts
