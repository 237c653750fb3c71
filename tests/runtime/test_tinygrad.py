"""tinygrad: each read of a lazy tensor counts once, and an optimizer's step is a step.

Its device PYTHON needs neither a GPU nor a compiler.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

tinygrad = require("tinygrad")


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    """Compute in Python."""
    if os.environ.get("DEV"):
        yield
        return
    with tinygrad.Context(DEV="PYTHON"):
        yield


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["tinygrad"]) as session:
        function()
    return session.record()


def value() -> Any:
    return (tinygrad.Tensor([1.0, 2.0]) * 2).sum()


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "item": (lambda x: x.item(), "tinygrad.Tensor.item"),
    "tolist": (lambda x: x.tolist(), "tinygrad.Tensor.tolist"),
    "numpy": (lambda x: x.numpy(), "tinygrad.Tensor.numpy"),
    "data": (lambda x: x.data(), "tinygrad.Tensor.data"),
    "synchronize": (
        lambda x: tinygrad.Device[tinygrad.Device.DEFAULT].synchronize(),
        "tinygrad.Device.synchronize",
    ),
}
NO_WAIT: dict[str, Callable[[Any], Any]] = {
    "realize": lambda x: x.realize(),
    "repr": lambda x: repr(x),
    "shape": lambda x: (x.shape, x.dtype, x.device),
    "arithmetic": lambda x: x * 2 + 1,
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    tensor = value()
    record = trace(lambda: function(tensor))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_tinygrad.py"
    assert record.sites[0].device == tinygrad.Device.DEFAULT


@pytest.mark.parametrize("name", NO_WAIT)
def test_what_does_not_wait_does_not_count(name: str) -> None:
    tensor = value()
    assert counts(trace(lambda: NO_WAIT[name](tensor))) == {}


def test_a_training_loop_waits_as_often_as_it_says() -> None:
    weight = tinygrad.Tensor([1.0, 2.0])
    weight.is_param_(True)
    optimizer = tinygrad.nn.optim.SGD([weight], lr=0.1)

    def train() -> None:
        with tinygrad.Context(TRAINING=1):
            for _ in range(3):
                optimizer.zero_grad()
                loss = (weight * 2).sum().backward()
                optimizer.step()
                loss.item()

    record = trace(train)
    assert counts(record) == {"tinygrad.Tensor.item": 3}
    assert record.step_count == 3
