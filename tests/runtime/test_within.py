"""Reads inside calls of which only the result shows whether they waited."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import asyncguard
from asyncguard.runtime.session import Session
from tests.frameworks import require

torch = require("torch")
TorchDispatchMode = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode


class Reading(torch.Tensor):  # type: ignore[misc,name-defined]
    """Looks at its values whenever it is moved, and counts how often; `failing`, then raises."""

    failing = False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.to:
            args[0].as_subclass(torch.Tensor).sum().item()
            if cls.failing:
                raise ValueError("failing")
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def value() -> Any:
    return torch.ones(3).as_subclass(Reading)


def apis(trace: asyncguard.Trace) -> dict[str, int]:
    return {site.api: site.count for site in trace.sites}


@pytest.mark.parametrize("depth", ["light", "full"])
def test_a_read_inside_a_call_that_moves_nothing_is_a_wait_of_its_own(
    value: Any, depth: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asyncguard.trace(depth=depth) as outer, asyncguard.trace() as trace:
        for _ in range(10):
            value.to(torch.float64)
        monkeypatch.setattr(Reading, "failing", True)
        with pytest.raises(ValueError, match="failing"):
            value.to(torch.float64)
    assert apis(trace) == apis(outer) == {"torch.Tensor.item": 11}
    qualified = sys.version_info >= (3, 11)  # the name that code has
    name = "Reading.__torch_function__" if qualified else "__torch_function__"
    assert {site.function for site in trace.sites} == {name}
    assert all(site.inclusive_ns is None for site in trace.sites)


def test_a_read_inside_a_move_is_a_part_of_it(value: Any) -> None:
    with asyncguard.simulate_cuda():
        there = value.cuda()
        with asyncguard.trace() as trace:
            there.to("cpu")
    assert apis(trace) == {"torch.Tensor.to.cpu": 1}


def test_a_limit_raises_before_a_read_inside(value: Any) -> None:
    too_many = pytest.raises(asyncguard.SyncLimitExceeded, match=r"torch\.Tensor\.item waits")
    with too_many, asyncguard.forbid_syncs():
        value.to(torch.float64)
    with asyncguard.limit_syncs(1, on="raise"):
        value.to(torch.float64)
    allowed = asyncguard.allow_syncs("meant")
    with asyncguard.trace() as trace, asyncguard.forbid_syncs(), allowed:
        value.to(torch.float64)
    assert [site.allowed for site in trace.sites] == ["meant"]


class Other(TorchDispatchMode):  # type: ignore[misc]
    """A mode of the program's."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def modes() -> int:
    return int(torch._C._len_torch_dispatch_stack())


def test_full_depth_below_another_mode_goes_with_the_next_operator() -> None:
    session = Session(depth="full").start()
    with Other():
        session.stop()
        assert modes() == 2
        assert torch.ones(2).sum() == 2
        assert modes() == 1
    assert modes() == 0
    assert session.record().total_syncs == 0


def test_full_depth_that_another_thread_ends_goes_with_the_next_operator() -> None:
    session = Session(depth="full").start()
    thread = threading.Thread(target=session.stop)
    thread.start()
    thread.join()
    assert modes() == 1
    with pytest.raises(RuntimeError):
        torch.ones(2) @ torch.ones(3)
    assert torch.ones(2).sum() == 2
    assert modes() == 0
    with asyncguard.trace(depth="full") as again:
        torch.ones(2).sum().item()
    assert (again.total_syncs, modes()) == (1, 0)
