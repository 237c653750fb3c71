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
from tests.runtime.cuda_rows import ROWS, Row, values
from tests.runtime.helpers import counts

torch = require("torch")
HAS_CUPTI = importlib.util.find_spec("cupti") is not None
pytestmark = [
    # All passed on an H200 with torch 2.11.0+cu130 and cupti-python 13.2 (2026-11-27).
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


def traced(function: Callable[[], Any], **options: Any) -> TraceRecord:
    torch.cuda.synchronize()
    with Session(frameworks=["torch"], **options) as session:
        function()
    return session.record()


@pytest.fixture
def names() -> dict[str, Any]:
    return values(torch, lambda tensor: tensor.cuda(), lambda tensor: tensor.pin_memory())


@pytest.fixture
def x(names: dict[str, Any]) -> Any:
    return names["x"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.call)
def test_torch_itself_waits_where_the_catalogue_says_so_and_nowhere_else(
    row: Row, names: dict[str, Any]
) -> None:
    eval(row.call, names)  # once before, for what is loaded lazily
    record = traced(lambda: eval(row.call, names), cross_check=True, depth=row.depth)
    found, check = counts(record), record.extra["cross_check"]
    assert found.pop("unattributed", 0) == check["unattributed"]
    assert found == row.counts
    told, other = ("attributed", "unattributed")[:: 1 if row.counted else -1]
    assert row.is_told(check[told])
    assert not check[other]


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
