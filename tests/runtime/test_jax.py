from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime import store
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
    "np.asanyarray": (lambda x: np.asanyarray(x), "jax.Array.__array__"),
    "np.save": (lambda x: np.save(io.BytesIO(), x), "jax.Array.__array__"),
    "jnp.save": (lambda x: jnp.save(io.BytesIO(), x), "jax.Array.__array__"),
    "np.concatenate": (lambda x: np.concatenate([x[None], x[None]]), "jax.Array.__array__"),
    "np.stack": (lambda x: np.stack([x, x]), "jax.Array.__array__"),
    "dlpack": (lambda x: np.from_dlpack(x), "jax.Array.__dlpack__"),
    "arange": (lambda x: jnp.arange(x), "jax.numpy.arange"),
    "repeat": (lambda x: jnp.repeat(jnp.ones(1), x.astype(int)), "jax.numpy.repeat"),
}
# NumPy converts these in C, through the buffer of an array on the CPU.
IN_C: dict[str, Callable[[Any], Any]] = {
    "ufunc": lambda x: np.add(x, 1),
    "isnan": lambda x: np.isnan(x),
    "scalar type": lambda x: np.float32(x),
    "linalg": lambda x: np.linalg.norm(x[None]),
    "assignment": lambda x: np.ones(3).__setitem__(slice(None), x),
    "bytes": lambda x: bytes(x),
    "memoryview": lambda x: memoryview(x),
    "assert_allclose": lambda x: np.testing.assert_array_equal(x, 1.0),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = jnp.ones(())
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_jax.py"
    assert record.sites[0].device.startswith("cpu")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ came with Python 3.12")
@pytest.mark.parametrize("name", IN_C)
def test_what_numpy_converts_in_c_counts(name: str) -> None:
    value = jnp.ones(())
    record = trace(lambda: IN_C[name](value))
    assert counts(record).keys() == {"jax.Array.__array__"}
    assert record.sites[0].path == "tests/runtime/test_jax.py"


def test_an_array_keeps_its_memory_when_numpy_looks_at_it_in_a_trace() -> None:
    value = jnp.arange(3.0)
    bare = np.asarray(value)
    with Session(frameworks=["jax"]):
        traced = np.asarray(value)
    assert np.shares_memory(bare, traced)


def test_what_does_not_wait_does_not_count() -> None:
    @jax.jit
    def compiled(x: Any) -> Any:
        return jnp.where(x > 0, x, -x).sum()

    def work() -> None:
        x = jnp.arange(4.0)
        y = compiled(x) + x[0] + x[1:2].sum() + len(x)
        y.shape, y.dtype
        np.sum(x), np.mean(x), np.shape(x), np.ones(4) + x
        jnp.repeat(x, 2), jnp.arange(3)
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


def test_reads_of_one_line_count_for_the_device_that_each_waits_for() -> None:
    script = """
import collections, jax, asyncguard
first, last = jax.devices()[0], jax.devices()[-1]
values = [jax.device_put(float(n), first if n % 3 else last) for n in range(300)]
with asyncguard.trace() as trace:
    for value in values:
        value.block_until_ready()
found = collections.Counter()
for site in trace.record.sites:
    found[site.device] += site.count
print(sorted(found.items()))
"""
    several = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **several}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[('cpu:0', 200), ('cpu:1', 100)]\n"


def test_jaxs_own_annotation_of_a_step_marks_one() -> None:
    step = jax.jit(lambda x: x + 1)

    def train() -> None:
        x = jnp.ones(())
        for number in range(4):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                x = step(x)
            x.item()

    record = trace(train)
    assert (record.step_count, record.syncs_per_step) == (4, 1.0)


def test_an_update_ends_a_step_where_it_runs_and_not_where_it_is_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "optax" not in sys.modules:
        optax = types.ModuleType("optax")
        optax.apply_updates = lambda params, updates: jax.tree.map(jnp.add, params, updates)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "optax", optax)
    optax = sys.modules["optax"]
    original = optax.apply_updates

    def update(params: Any) -> Any:
        return optax.apply_updates(params, {"w": jnp.ones(2)})

    for step, expected in ((update, 5), (jax.jit(update), 0)):
        with Session(frameworks=["jax"]) as session:
            params = {"w": jnp.zeros(2)}
            for _ in range(5):
                params = step(params)
        assert session.record().step_count == expected
    assert optax.apply_updates is original


KERAS = """
import keras
import numpy as np

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.ones((36, 3)), np.ones((36, 1)), 4, epochs=2, verbose=0)
"""


@pytest.mark.parametrize("beside", ["", "import tensorflow\n"], ids=["alone", "beside tensorflow"])
def test_each_batch_that_keras_fits_on_jax_is_a_step(tmp_path: Path, beside: str) -> None:
    for module in ("keras", *beside.split()[1:]):  # this process does not import them
        if find_spec(module) is None:
            require(module)
    script, output = tmp_path / "train.py", tmp_path / "trace.json"
    script.write_text(beside + KERAS)
    subprocess.run(
        [sys.executable, "-m", "asyncguard", "run", "-q", "-o", str(output), str(script)],
        check=True,
        env={**os.environ, "KERAS_BACKEND": "jax"},
    )
    record = store.load(output)
    assert record.step_count == 18
