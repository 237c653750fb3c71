"""mlx on the CPU: each read of a lazy array counts once, and an optimizer's update is a step."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

np = require("numpy")
mx = require("mlx.core")
require("mlx.nn")
nn = require("mlx.nn")
optimizers = require("mlx.optimizers")


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["mlx"]) as session:
        function()
    return session.record()


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "eval": (lambda x: mx.eval(x), "mlx.core.eval"),
    "synchronize": (lambda x: mx.synchronize(), "mlx.core.synchronize"),
    "item": (lambda x: x.item(), "mlx.core.array.item"),
    "tolist": (lambda x: x.tolist(), "mlx.core.array.tolist"),
    "float": (lambda x: float(x), "mlx.core.array.__float__"),
    "int": (lambda x: int(x), "mlx.core.array.__int__"),
    "complex": (lambda x: complex(x), "mlx.core.array.__complex__"),
    "list index": (lambda x: [0, 1, 2, 3][x.astype(mx.int32)], "mlx.core.array.__index__"),
    "range": (lambda x: range(x.astype(mx.int32)), "mlx.core.array.__index__"),
    "bool": (lambda x: bool(x), "mlx.core.array.__bool__"),
    "if": (lambda x: 1 if x > 0 else 2, "mlx.core.array.__bool__"),
    "repr": (lambda x: repr(x), "mlx.core.array.__repr__"),
    "str": (lambda x: str(x), "mlx.core.array.__repr__"),
    "f-string": (lambda x: f"{x:.2f}", "mlx.core.array.__format__"),
    "np.array": (lambda x: np.array(x), "mlx.core.array.__array__"),
    "np.asarray": (lambda x: np.asarray(x), "mlx.core.array.__array__"),
    "pickle": (lambda x: pickle.dumps(x), "mlx.core.array.__reduce__"),
}
NO_WAIT: dict[str, Callable[[Any], Any]] = {
    "async_eval": lambda x: mx.async_eval(x),
    "shape": lambda x: (x.shape, x.dtype, x.ndim),
    "arithmetic": lambda x: x * 2 + 1,
    "array of NumPy's": lambda x: mx.array(np.ones(2)),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = mx.ones(()) * 3
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_mlx.py"
    assert record.sites[0].device in ("cpu", "gpu")


@pytest.mark.parametrize("name", NO_WAIT)
def test_what_does_not_wait_does_not_count(name: str) -> None:
    value = mx.ones(()) * 3
    assert counts(trace(lambda: NO_WAIT[name](value))) == {}


def test_saving_counts(tmp_path: Path) -> None:
    value = mx.ones(()) * 3
    record = trace(lambda: mx.save(str(tmp_path / "x.npy"), value))
    assert counts(record) == {"mlx.core.save": 1}


def test_a_training_loop_waits_as_often_as_it_says() -> None:
    model = nn.Linear(2, 1)
    optimizer = optimizers.SGD(learning_rate=0.1)
    step = nn.value_and_grad(model, lambda x: model(x).sum())

    def train() -> None:
        for _ in range(5):
            loss, grads = step(mx.ones((4, 2)))
            optimizer.update(model, grads)
            mx.eval(model.parameters(), optimizer.state)
            loss.item()

    record = trace(train)
    assert counts(record) == {"mlx.core.eval": 5, "mlx.core.array.item": 5}
    assert record.step_count == 5


def test_the_hooks_leave_nothing_behind() -> None:
    before = {name: getattr(mx.array, name) for name in ("item", "__bool__", "__array__")}
    trace(lambda: mx.ones(()).item())
    assert {name: getattr(mx.array, name) for name in before} == before
    assert mx.eval.__name__ == "eval"
