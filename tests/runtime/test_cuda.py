"""On a real GPU: counts against torch's own callbacks, idle times against idle times made to order.

All of it is skipped where there is no CUDA device; what can be tested without one is tested in
`test_bubbles`, `test_device`, `test_cupti` and `test_crosscheck`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.cuda_programs import PROGRAMS, alone, reads
from tests.runtime.helpers import counts

torch = require("torch")
F = torch.nn.functional
HAS_CUPTI = importlib.util.find_spec("cupti") is not None
pytestmark = [
    # Written against sources and simulations: none of these has met a GPU yet.
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
SOURCES = [
    pytest.param(
        "cupti",
        marks=pytest.mark.skipif(not HAS_CUPTI, reason="cupti-python is not installed"),
    ),
    "profiler",
]

EVENT = "torch.cuda.Event.synchronize"
BLOCKING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "item": (lambda x: x.sum().item(), "torch.Tensor.item"),
    "tolist": (lambda x: x.tolist(), "torch.Tensor.tolist"),
    "cpu": (lambda x: x.cpu(), "torch.Tensor.cpu"),
    "to cpu": (lambda x: x.to("cpu"), "torch.Tensor.to.cpu"),
    "bool": (lambda x: bool(x.sum() > 0), "torch.Tensor.__bool__"),
    "float": (lambda x: float(x.sum()), "torch.Tensor.__float__"),
    "int": (lambda x: int(x.sum()), "torch.Tensor.__int__"),
    "repr": (lambda x: repr(x), "torch.Tensor.__repr__"),
    "format": (lambda x: f"{x.sum():.3f}", "torch.Tensor.__format__"),
    "nonzero": (lambda x: x.nonzero(), "torch.nonzero"),
    "masked_select": (lambda x: x.masked_select(x > 0), "torch.masked_select"),
    "mask": (lambda x: x[x > 0], "torch.Tensor.__getitem__.mask"),
    "unique": (lambda x: torch.unique(x), "torch.unique"),
    "one-argument where": (lambda x: torch.where(x > 0), "torch.where"),
    "is_nonzero": (lambda x: torch.is_nonzero(x.sum()), "torch.is_nonzero"),
    "unique_consecutive": (lambda x: torch.unique_consecutive(x), "torch.unique_consecutive"),
    "bincount": (lambda x: torch.bincount(x.long()), "torch.bincount"),
    "repeat_interleave": (
        lambda x: torch.repeat_interleave(x, x.long()),
        "torch.repeat_interleave",
    ),
    "one_hot": (lambda x: F.one_hot(x.long()), "torch.nn.functional.one_hot"),
    "slice bound": (lambda x: x[: x.argmax()], "torch.Tensor.__index__"),
    "index": (lambda x: range(x.argmin()), "torch.Tensor.__index__"),
    "contains": (lambda x: 3.0 in x, "torch.Tensor.__contains__"),
    "allclose": (lambda x: torch.allclose(x, x.clone()), "torch.allclose"),
    "equal": (lambda x: torch.equal(x, x.clone()), "torch.equal"),
    "tensor": (lambda x: torch.tensor([1.0], device="cuda"), "torch.tensor"),
    "list of tensors": (lambda x: torch.tensor([x[0], x[1]]), "torch.tensor.elements"),
    "mask in index_put_": (
        lambda x: x.index_put_((x > 0,), x[:1]),
        "torch.Tensor.__setitem__.mask",
    ),
    "values of the host": (
        lambda x: x.__setitem__(slice(0, 2), torch.ones(2)),
        "torch.Tensor.__setitem__.upload",
    ),
    "narrow": (lambda x: x.narrow(0, x.argmin(), 1), "torch.Tensor.narrow"),
    "cov": (lambda x: torch.cov(x.reshape(8, 8)), "torch.cov"),
    "inverse": (lambda x: torch.eye(8, device="cuda").inverse(), "torch.linalg.inv"),
    "max_norm": (
        lambda x: F.embedding(x.long(), x.reshape(64, 1), max_norm=1.0),
        "torch.embedding_renorm_",
    ),
    "synchronize": (lambda x: torch.cuda.synchronize(), "torch.cuda.synchronize"),
    "stream": (
        lambda x: torch.cuda.current_stream().synchronize(),
        "torch.cuda.Stream.synchronize",
    ),
    "event": (lambda x: torch.cuda.current_stream().record_event().synchronize(), EVENT),
}
FREE: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x * 2 + 1).sum(),
    "isnan": lambda x: torch.isnan(x).any(),
    "three-argument where": lambda x: torch.where(x > 0, x, -x),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "factory": lambda x: torch.zeros(8, device="cuda"),
    "integer index": lambda x: x[0],
    "list of numbers": lambda x: torch.tensor([1.0, 2.0]),
    "stack": lambda x: torch.stack([x[0], x[1]]),
    "device index": lambda x: x[torch.zeros(2, dtype=torch.long, device="cuda")],
    "pinned upload": lambda x: torch.empty(8, pin_memory=True).to("cuda", non_blocking=True),
}


def traced(function: Callable[[], Any], **options: Any) -> TraceRecord:
    torch.cuda.synchronize()
    with Session(frameworks=["torch"], **options) as session:
        function()
    return session.record()


@pytest.fixture
def x() -> Any:
    values = torch.arange(64.0, device="cuda")
    torch.unique(values).tolist()  # loads kernels now, so that this waits in no test
    torch.cuda.synchronize()
    return values


@pytest.mark.parametrize("name", BLOCKING)
def test_torch_itself_waits_where_the_catalogue_says_so(name: str, x: Any) -> None:
    function, api = BLOCKING[name]
    function(x)  # once before, for what is loaded lazily
    record = traced(lambda: function(x), cross_check=True)
    assert counts(record) == {api: 1}
    assert record.extra["cross_check"]["attributed"] >= 1


@pytest.mark.parametrize("name", FREE)
def test_torch_itself_does_not_wait_where_the_catalogue_names_nothing(name: str, x: Any) -> None:
    FREE[name](x)
    record = traced(lambda: FREE[name](x), cross_check=True)
    assert counts(record) == {}
    assert record.extra["cross_check"] == {"attributed": 0, "unattributed": 0}


def test_a_wait_of_which_the_catalogue_knows_nothing_is_unattributed(x: Any) -> None:
    record = traced(lambda: torch._C._cuda_synchronize(), cross_check=True)
    assert counts(record) == {"unattributed": 1}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_device_times_in_a_process_of_their_own(program: str, source: str) -> None:
    alone(program, source)


def test_without_device_times_the_stall_is_none(x: Any) -> None:
    assert traced(lambda: reads(x)).gpu_stall_ns is None


def test_where_the_user_profiles_nothing_is_made_up() -> None:
    alone("nothing_is_made_up_while_the_user_profiles", "auto")


@pytest.mark.skipif(not HAS_CUPTI, reason="cupti-python is not installed")
def test_cupy_and_torch_in_one_process_add_up() -> None:
    pytest.importorskip("cupy")
    alone("cupy_and_torch_add_up", "cupti")
