"""paddle on the CPU, which stands in for a GPU: each read counts once, a step is an optimizer's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

np = require("numpy")
paddle = require("paddle")


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["paddle"]) as session:
        function()
    return session.record()


TENSOR = "paddle.Tensor."
ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "item": (lambda x: x.item(), TENSOR + "item"),
    "tolist": (lambda x: x.tolist(), TENSOR + "tolist"),
    "numpy": (lambda x: x.numpy(), TENSOR + "numpy"),
    "cpu": (lambda x: x.cpu(), TENSOR + "cpu"),
    "float": (lambda x: float(x), TENSOR + "__float__"),
    "int": (lambda x: int(x), TENSOR + "__int__"),
    "list index": (lambda x: [0, 1, 2, 3][x.astype("int64")], TENSOR + "__index__"),
    "bool": (lambda x: bool(x), TENSOR + "__bool__"),
    "if": (lambda x: 1 if x > 0 else 2, TENSOR + "__bool__"),
    "repr": (lambda x: repr(x), TENSOR + "__repr__"),
    "str": (lambda x: str(x), TENSOR + "__repr__"),
    "f-string": (lambda x: f"{x:.2f}", TENSOR + "__format__"),
    "np.array": (lambda x: np.array(x), TENSOR + "__array__"),
    "nonzero": (lambda x: paddle.nonzero(x.reshape([1])), "paddle.nonzero"),
    "one-argument where": (lambda x: paddle.where(x.reshape([1]) > 0), "paddle.where"),
    "masked_select": (lambda x: x.reshape([1]).masked_select(x > 0), "paddle.masked_select"),
    "unique": (lambda x: paddle.unique(x.reshape([1])), "paddle.unique"),
    "mask": (lambda x: x.reshape([1])[x.reshape([1]) > 0], TENSOR + "__getitem__.mask"),
}
NO_WAIT: dict[str, Callable[[Any], Any]] = {
    "three-argument where": lambda x: paddle.where(x > 0, x, -x),
    "shape": lambda x: (x.shape, x.dtype, x.ndim, x.place),
    "index": lambda x: x.reshape([1])[0],
    "arithmetic": lambda x: x * 2 + 1,
    "from NumPy": lambda x: paddle.to_tensor(np.ones(2)),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = paddle.ones([]) * 3
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_paddle.py"
    assert record.sites[0].device == "cpu (stand-in)"


@pytest.mark.parametrize("name", NO_WAIT)
def test_what_does_not_wait_does_not_count(name: str) -> None:
    value = paddle.ones([]) * 3
    assert counts(trace(lambda: NO_WAIT[name](value))) == {}


def test_saving_counts(tmp_path: Path) -> None:
    value = paddle.ones([2])
    record = trace(lambda: paddle.save({"x": value}, str(tmp_path / "x.pdparams")))
    assert counts(record) == {"paddle.save": 1}


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_a_training_loop_waits_as_often_as_it_says(kind: str) -> None:
    model = paddle.nn.Linear(2, 1)
    optimizer = getattr(paddle.optimizer, kind)(0.1, parameters=model.parameters())

    def train() -> None:
        for _ in range(5):
            loss = model(paddle.ones([4, 2])).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            loss.item()

    record = trace(train)
    assert counts(record) == {"paddle.Tensor.item": 5}
    assert record.step_count == 5
