from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import attributes, changed, counts

tf = require("tensorflow")
np = require("numpy")


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["tensorflow"]) as session:
        function()
    return session.record()


DLPACK = "tf.experimental.dlpack.to_dlpack"


def in_async_scope() -> None:
    with tf.experimental.async_scope():
        tf.ones(3) + 1


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "numpy": (lambda x: x.numpy(), "tf.Tensor.numpy"),
    "variable": (lambda x: tf.Variable(1.0).numpy(), "tf.Tensor.numpy"),
    "np.asarray": (lambda x: np.asarray(x), "tf.Tensor.__array__"),
    "np.array": (lambda x: np.array(x), "tf.Tensor.__array__"),
    "float": (lambda x: float(x), "tf.Tensor.__float__"),
    "int": (lambda x: int(x), "tf.Tensor.__int__"),
    "bool": (lambda x: bool(x > 0), "tf.Tensor.__bool__"),
    "repr": (lambda x: repr(x), "tf.Tensor.__repr__"),
    "str": (lambda x: str(x), "tf.Tensor.__repr__"),
    "f-string": (lambda x: f"{x}", "tf.Tensor.__format__"),
    "where of one": (lambda x: tf.where(tf.ones(3) > 0), "tf.where"),
    "boolean_mask": (lambda x: tf.boolean_mask(tf.ones(3), tf.ones(3) > 0), "tf.boolean_mask"),
    "mask": (lambda x: tf.ones(3)[tf.ones(3) > 0], "tf.Tensor.__getitem__.mask"),
    "cond": (lambda x: tf.cond(x > 0, lambda: 1, lambda: 2), "tf.cond"),
    "case": (lambda x: tf.case([(x > 0, lambda: 1)]), "tf.cond"),
    "complex": (lambda x: complex(x), "tf.Tensor.__complex__"),
    "complex variable": (lambda x: complex(tf.Variable(1.0)), "tf.Tensor.__complex__"),
    "np.asanyarray": (lambda x: np.asanyarray(x), "tf.Tensor.__array__"),
    "np.stack": (lambda x: np.stack([x, x]), "tf.Tensor.__array__"),
    "np.save": (lambda x: np.save(io.BytesIO(), x), "tf.Tensor.__array__"),
    "static value": (lambda x: tf.get_static_value(x), "tf.Tensor.__array__"),
    "dlpack": (lambda x: tf.experimental.dlpack.to_dlpack(x), DLPACK),
    "np.from_dlpack": (lambda x: np.from_dlpack(x), DLPACK),
    "sync_devices": (
        lambda x: tf.test.experimental.sync_devices(),
        "tf.test.experimental.sync_devices",
    ),
    "async scope": (lambda x: in_async_scope(), "tf.experimental.async_scope"),
    "clear error": (lambda x: tf.experimental.async_clear_error(), "tf.experimental.async_scope"),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = tf.constant(1.0)
    record = trace(lambda: function(value))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_tensorflow.py"


def test_what_does_not_wait_does_not_count() -> None:
    @tf.function
    def compiled(x: Any) -> Any:
        if x[0] > 0:
            return x * 2
        return x

    def work() -> None:
        x = tf.constant([1.0, 2.0])
        tf.reduce_mean(compiled(x) + x[0])
        x.shape, x.dtype
        x[0:1], x[1]
        tf.cond(True, lambda: 1, lambda: 2)
        np.asarray([1.0, 2.0])

    assert counts(trace(work)) == {}


def test_variables_are_indexed_as_without_a_trace() -> None:
    """By a function of TensorFlow's that gives the variable along, for `v[0].assign(...)`."""

    def work() -> list[Any]:
        variable = tf.Variable([1.0, 2.0, 3.0])
        variable[0].assign(5.0)
        parts = variable[0], variable[1:], variable[tf.constant(1)], variable[variable > 2.5]
        return [part.numpy().tolist() for part in parts]

    with Session(frameworks=["tensorflow"]) as session:
        found = work()
    assert found == work() == [5.0, [2.0, 3.0], 2.0, [5.0, 3.0]]
    assert counts(session.record()) == {"tf.Tensor.numpy": 4, "tf.Tensor.__getitem__.mask": 1}
    assert not session.record().faults


def test_the_optimizer_marks_steps_and_its_own_reads_do_not_count() -> None:
    import keras

    def train() -> None:
        model = keras.Sequential([keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam()
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(tf.ones((2, 3))) ** 2)
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            loss.numpy()

    record = trace(train)
    assert counts(record) == {"tf.Tensor.numpy": 4}
    assert (record.step_count, record.syncs_per_step) == (4, 1.0)


def test_every_attribute_is_afterwards_the_object_that_it_was() -> None:
    owners = [type(tf.constant(1)), tf, np]
    trace(lambda: None)
    before = [attributes(owner) for owner in owners]
    for _ in range(1000):
        with Session(frameworks=["tensorflow"]):
            pass
    assert [changed(o, b) for o, b in zip(owners, before, strict=True)] == [[]] * len(owners)


def test_a_compiled_training_step_ends_a_step_each_time_it_is_called() -> None:
    import keras

    model = keras.Sequential([keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train_step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    @tf.function
    def evaluate(x: Any) -> Any:
        return tf.reduce_mean(model(x))

    def train() -> None:
        for _ in range(4):
            train_step(tf.ones((2, 3))).numpy()
            evaluate(tf.ones((2, 3)))

    record = trace(train)
    assert (record.step_count, record.syncs_per_step) == (4, 1.0)


def test_each_batch_that_keras_fits_is_a_step() -> None:
    import keras

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    record = trace(lambda: model.fit(np.ones((16, 3)), np.ones((16, 1)), 4, epochs=2, verbose=0))
    assert record.step_count == 8


def test_the_error_of_a_compiled_function_passes_with_its_own_traceback() -> None:
    @tf.function
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    def names() -> list[str]:
        with pytest.raises(KeyError) as caught:
            fails(tf.ones(()))
        return [entry.name for entry in caught.traceback]

    bare = names()
    with Session(frameworks=["tensorflow"]):
        traced = names()
    if sys.version_info >= (3, 11):
        assert traced == bare


def test_leaving_asynchronous_execution_is_a_wait() -> None:
    run_synchronously = tf.config.experimental.set_synchronous_execution
    tf.ones(1)

    def work() -> None:
        run_synchronously(False)
        tf.ones(3) + 1
        run_synchronously(True)

    sites = {site.source: site.count for site in trace(work).sites}
    assert sites["run_synchronously(True)"] == 1
