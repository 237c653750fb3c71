from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import attributes, changed, counts

jax = require("jax")
np = require("numpy")
jnp = jax.numpy


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["jax"]) as session:
        function()
    return session.record()


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "block_until_ready": (lambda x: x.block_until_ready(), "jax.Array.block_until_ready"),
    "function": (lambda x: jax.block_until_ready(x), "jax.block_until_ready"),
    "device_get": (lambda x: jax.device_get(x), "jax.device_get"),
    "np.asarray": (lambda x: np.asarray(x), "jax.Array.__array__"),
    "item": (lambda x: x.item(), "jax.Array.item"),
    "tolist": (lambda x: x.tolist(), "jax.Array.tolist"),
    "float": (lambda x: float(x), "jax.Array.__float__"),
    "int": (lambda x: int(x), "jax.Array.__int__"),
    "bool": (lambda x: bool(x), "jax.Array.__bool__"),
    "if": (lambda x: 1 if x > 0 else 2, "jax.Array.__bool__"),
    "list index": (lambda x: [0, 1, 2, 3][x.astype(int)], "jax.Array.__index__"),
    "repr": (lambda x: repr(x), "jax.Array.__repr__"),
    "str": (lambda x: str(x), "jax.Array.__repr__"),
    "f-string": (lambda x: f"{x:.2f}", "jax.Array.__format__"),
    "mask": (lambda x: jnp.ones(3)[jnp.ones(3) > 0], "jax.Array.__getitem__.mask"),
    "nonzero": (lambda x: jnp.nonzero(jnp.ones(3)), "jax.numpy.nonzero"),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = jnp.ones(())
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_jax.py"
    assert record.sites[0].device.startswith("cpu")


def test_what_does_not_wait_does_not_count() -> None:
    @jax.jit
    def compiled(x: Any) -> Any:
        return jnp.where(x > 0, x, -x).sum()

    def work() -> None:
        x = jnp.arange(4.0)
        y = compiled(x) + x[0] + x[1:2].sum() + len(x)
        y.shape, y.dtype
        copy.copy(jax.device_put(x))
        jax.grad(compiled)(x)

    assert counts(trace(work)) == {}


def test_arrays_pickle_inside_a_trace() -> None:
    x = jnp.arange(3)
    with Session(frameworks=["jax"]):
        assert (np.asarray(pickle.loads(pickle.dumps(x))) == [0, 1, 2]).all()


def test_every_attribute_is_afterwards_the_object_that_it_was() -> None:
    owners = [type(jnp.ones(1)), jnp, jax]
    trace(lambda: None)
    before = [attributes(owner) for owner in owners]
    for _ in range(1000):
        with Session(frameworks=["jax"]):
            pass
    assert [changed(o, b) for o, b in zip(owners, before, strict=True)] == [[]] * len(owners)
