"""warp on the CPU, which stands in for a CUDA device: each read and each barrier counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

np = require("numpy")
wp = require("warp")


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["warp"]) as session:
        function()
    return session.record()


@pytest.fixture(scope="module")
def value() -> Any:
    wp.config.quiet = True
    return wp.ones(3, dtype=float, device="cpu")


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "numpy": (lambda x: x.numpy(), "warp.array.numpy"),
    "list": (lambda x: x.list(), "warp.array.list"),
    "str": (lambda x: str(x), "warp.array.__str__"),
    "f-string": (lambda x: f"{x}", "warp.array.__str__"),
    "array_sum": (lambda x: wp.utils.array_sum(x), "warp.array.numpy"),
    "synchronize": (lambda x: wp.synchronize(), "warp.synchronize"),
    "synchronize_device": (lambda x: wp.synchronize_device("cpu"), "warp.synchronize_device"),
    "timer": (
        lambda x: wp.ScopedTimer("x", synchronize=True, print=False).__enter__(),
        "warp.synchronize",
    ),
}
NO_WAIT: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: (x.shape, x.dtype, x.device, repr(x)),
    "copy": lambda x: wp.copy(wp.zeros_like(x), x),
    "fill": lambda x: x.fill_(1.0),
    "sum on the device": lambda x: wp.utils.array_sum(x, out=wp.zeros(1, dtype=float)),
    "timer": lambda x: wp.ScopedTimer("x", print=False).__enter__(),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str, value: Any) -> None:
    function, api = ONE_WAIT[name]
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].device == "cpu (stand-in)"


@pytest.mark.parametrize("name", NO_WAIT)
def test_what_does_not_wait_does_not_count(name: str, value: Any) -> None:
    assert counts(trace(lambda: NO_WAIT[name](value))) == {}
