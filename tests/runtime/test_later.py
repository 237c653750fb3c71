"""`asyncguard.later` in programs of six frameworks; the same programs on each."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import asyncguard
from tests.frameworks import require
from tests.runtime.later_backends import BACKENDS, Backend

RESULT = "asyncguard.Handle.result"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made = BACKENDS[request.param]()
    with made.running():
        yield made
        made.patch.undo()
        made.finish()


@pytest.fixture
def waiting(backend: Backend) -> Backend:
    if not backend.waits:
        pytest.skip("what is on the CPU is copied at once")
    return backend


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass(frozen=True)
class Metrics:
    loss: Any
    name: str = "train"
    parts: tuple[Any, ...] = ()


def test_a_nesting_comes_back_with_host_values(backend: Backend) -> None:
    loss, grid = backend.array(0.5), backend.array([[1, 2], [3, 4]], "int32")
    given = {
        "loss": loss,
        "pair": Pair(grid, 7),
        "list": [backend.array(2.0), (None, "text")],
        "record": Metrics(backend.array(3.0), parts=(grid,)),
        "ordered": OrderedDict(b=backend.array(4, "int32")),
    }
    with asyncguard.trace() as trace:
        handle = asyncguard.later(given)
        backend.finish()
        found = handle.result(default=None)
    assert trace.total_syncs == 0
    assert (found["loss"], type(found["loss"])) == (0.5, float)
    assert type(found["pair"]) is Pair
    assert found["pair"].second == 7
    assert type(found["pair"].first) is numpy.ndarray
    assert found["pair"].first.dtype == numpy.int32
    assert found["pair"].first.tolist() == [[1, 2], [3, 4]]
    assert found["list"] == [2.0, (None, "text")]
    assert (type(found["record"]), found["record"].loss) == (Metrics, 3.0)
    assert found["record"].parts[0].tolist() == [[1, 2], [3, 4]]
    assert type(found["ordered"]) is OrderedDict
    assert found["ordered"]["b"] == 4
    assert type(found["ordered"]["b"]) is int
    assert handle.result() is found


def test_values_are_those_of_the_moment_of_the_call(backend: Backend) -> None:
    arrays = backend.array([1, 2]), backend.array(3.0), backend.array(4.0)
    with backend.held(*arrays) as (alone, first, second):
        handles = asyncguard.later(alone), asyncguard.later([first, second])
        for array in (alone, first, second):
            backend.change(array)
        backend.finish()
    assert handles[0].result().tolist() == [1, 2]
    assert handles[1].result() == [3, 4]


def test_arrays_are_the_callers_own(backend: Backend) -> None:
    array = backend.array([1, 2])
    handles = [asyncguard.later([array, array]) for _ in range(2)]
    backend.finish()
    one, other = handles[0].result()
    one[:] = 5
    assert other.tolist() == [1, 2]
    assert handles[1].result()[0].tolist() == [1, 2]


def test_bfloat16_becomes_float32(backend: Backend) -> None:
    if backend.name in ("engine", "cupy", "mxnet"):
        pytest.skip("it has no bfloat16")
    number, array = backend.array(1.5, backend.bfloat16), backend.array([0.25, 3], backend.bfloat16)
    handle = asyncguard.later({"number": number, "array": array})
    backend.finish()
    assert handle.result()["number"] == 1.5
    assert handle.result()["array"].dtype == numpy.float32
    assert handle.result()["array"].tolist() == [0.25, 3]


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float16", "float64"])
def test_dtypes_stay(backend: Backend, dtype: str) -> None:
    if backend.name == "jax" and dtype.endswith("64"):
        pytest.skip("jax has it only on request")
    handle = asyncguard.later([backend.array(1, dtype), backend.array([0, 1], dtype)])
    backend.finish()
    number, array = handle.result()
    assert type(number) is type(numpy.ones((), dtype).item())
    assert (array.dtype, array.tolist()) == (dtype, [0, 1])


def test_what_is_empty(backend: Backend) -> None:
    handle = asyncguard.later([backend.array([]), backend.array(1.0)])
    backend.finish()
    empty, one = handle.result()
    assert (empty.shape, one) == ((0,), 1)


def test_a_result_that_is_not_there_counts_as_one_wait_at_its_line(waiting: Backend) -> None:
    arrays = waiting.array(1.0), waiting.array([2, 3], "int32")
    with asyncguard.trace() as trace, waiting.held(*arrays) as held:
        handle = asyncguard.later(held)
        assert not handle.done()
        assert handle.result(default="late") == "late"
        assert repr(handle) == "<asyncguard.Handle: under way>"
        waiting.opened_by(handle)
        line = sys._getframe().f_lineno + 1
        one, two = handle.result()
        handle.result()
    assert (one, two.tolist()) == (1, [2, 3])
    (site,) = trace.sites
    assert (site.api, site.count, site.line) == (RESULT, 1, line)
    assert __file__.endswith(site.path)
    assert (site.framework, site.kind.value) == (waiting.framework, "barrier")


def test_a_limit_forbids_the_wait_and_nothing_else(waiting: Backend) -> None:
    arrays = waiting.array(1.0), waiting.array([2])
    with waiting.held(*arrays) as (one, two):
        with asyncguard.forbid_syncs():
            handle = asyncguard.later({"loss": one, "array": two})
            assert handle.result(default=None) is None
        with pytest.raises(asyncguard.SyncLimitExceeded, match=RESULT), asyncguard.forbid_syncs():
            handle.result()
        waiting.finish()
        with asyncguard.forbid_syncs():
            assert handle.result()["loss"] == 1


def test_a_wait_within_allow_syncs_counts_as_allowed(waiting: Backend) -> None:
    array = waiting.array(1.0)
    with asyncguard.trace() as trace, asyncguard.limit_syncs(0), waiting.held(array) as (held,):
        handle = asyncguard.later(held)
        waiting.opened_by(handle)
        with asyncguard.allow_syncs("reads it at once"):
            assert handle.result() == 1
    (site,) = trace.sites
    assert (site.count, site.allowed) == (1, "reads it at once")


def test_a_loop_that_reads_late_never_waits(backend: Backend) -> None:
    """Each step takes what is there: all comes, in order, once, and only `drain` may wait."""
    queue = asyncguard.Later(every=2)
    losses = [backend.array(float(step)) for step in range(20)]
    weight, seen = backend.array([0.5, 0.5]), []
    with asyncguard.trace() as trace:
        for step in range(20):
            queue.put(step, {"loss": losses[step], "weight": weight, "step": step})
            seen += queue.ready()
        backend.finish()
        seen += queue.drain()
    assert trace.total_syncs == 0
    assert [step for step, _ in seen] == list(range(0, 20, 2))
    assert all(values["loss"] == step == values["step"] for step, values in seen)
    assert all(values["weight"].tolist() == [0.5, 0.5] for _, values in seen)


def test_at_most_so_many_copies_are_under_way(waiting: Backend) -> None:
    queue = asyncguard.Later(limit=2)
    arrays = [waiting.array(float(step)) for step in range(3)]
    with asyncguard.trace() as trace, waiting.held(*arrays) as held:
        for step in range(2):
            queue.put(step, held[step])
        waiting.opened_by(queue._under_way[0][1])
        line = sys._getframe().f_lineno + 1
        queue.put(2, held[2])
        waiting.finish()
    assert [(site.line, site.count) for site in trace.sites] == [(line, 1)]
    assert len(queue) == 3
    assert list(queue.drain()) == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_any_thread_may_read(backend: Backend) -> None:
    handle = asyncguard.later([backend.array(2.0)])
    found: list[Any] = []
    with asyncguard.trace():
        threads = [threading.Thread(target=lambda: found.append(handle.result())) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == [[2.0]] * 3
    assert found[0] is found[1] is found[2]


def test_traced_functions_of_jax_are_told_where_it_belongs() -> None:
    jax = require("jax")
    with pytest.raises(TypeError, match="in traced code"):
        jax.jit(lambda x: asyncguard.later(x))(jax.numpy.ones(()))


def test_jax_arrays_over_several_dtypes_and_weak_types() -> None:
    jnp = require("jax").numpy
    handle = asyncguard.later([jnp.sin(1.0), jnp.ones((2, 2)), jnp.arange(2), jnp.float16(2)])
    one, grid, counts, half = handle.result()
    assert (round(one, 4), grid.shape, counts.tolist(), half) == (0.8415, (2, 2), [0, 1], 2.0)


def test_traced_functions_of_tensorflow_are_told_where_it_belongs() -> None:
    tf = require("tensorflow")
    with pytest.raises(TypeError, match="in traced code"):
        tf.function(lambda x: [asyncguard.later(x), x][1])(tf.ones(()))


def test_tensorflow_on_the_cpu_has_computed_and_is_copied_at_once() -> None:
    tf = require("tensorflow")
    value = tf.Variable([1.0, 2.0])
    handle = asyncguard.later([value, tf.reduce_sum(value)])
    value.assign([0, 0])
    assert handle.done()
    assert handle.result()[0].tolist() == [1, 2]


def test_both_arrays_of_mxnet_and_what_it_records() -> None:
    mx = require("mxnet")
    weight = mx.nd.ones((2, 2))
    weight.attach_grad()
    with mx.autograd.record():
        loss = (weight * weight).sum()
        handle = asyncguard.later({"loss": loss, "weight": weight, "np": mx.np.ones((3,))})
        assert mx.autograd.is_recording()
    loss.backward()
    assert weight.grad.asnumpy().tolist() == [[2, 2], [2, 2]]
    assert handle.result()["loss"].tolist() == [4]  # mx.nd knows no array without axes
    assert handle.result()["np"].tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="tostype"):
        asyncguard.later(weight.tostype("csr"))


def test_mxnets_flags_serve_again() -> None:
    mx = require("mxnet")
    from asyncguard.runtime.adapters import mxnet as adapter

    array = mx.nd.ones((1,))
    for at in range(200):
        asyncguard.later(array)
        if at % 20 == 0:
            mx.nd.waitall()  # these are done, however busy the machine is
    assert len(adapter._taken) < 200


@pytest.fixture
def numpy_of_mxnet() -> Iterator[Any]:
    mx = require("mxnet")
    with BACKENDS["mxnet"]().running():
        yield mx


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_each_copy_of_mxnets_holds_memory_of_its_own(
    numpy_of_mxnet: Any, shape: tuple[int, ...]
) -> None:
    arrays = [numpy_of_mxnet.np.full(shape, at) for at in range(50)]
    handles = [asyncguard.later(array) for array in arrays]
    for array in arrays:
        array[() if shape == () else slice(None)] = 99
    for at, handle in enumerate(handles):
        assert numpy.array_equal(handle.result(), numpy.full(shape, at))


def test_mxnets_contexts_of_the_host_travel_together(numpy_of_mxnet: Any) -> None:
    full, cpu = numpy_of_mxnet.np.full, numpy_of_mxnet.cpu
    values = [full((), at, ctx=cpu(at)) for at in range(3)]
    handle = asyncguard.later([*values, full((2,), 1, dtype="int32", ctx=cpu(1))])
    assert len(handle._copies) == 2
    assert handle.result()[:3] == [0, 1, 2]
    assert handle.result()[3].tolist() == [1, 1]


def test_a_scalar_of_mxnets_takes_few_calls(numpy_of_mxnet: Any) -> None:
    loss, calls = numpy_of_mxnet.np.ones(()), 0
    asyncguard.later(loss).result()

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        handle = asyncguard.later(loss)
    finally:
        sys.setprofile(None)
    assert handle.result() == 1
    assert calls < 50  # an operator alone takes more by mxnet's own Python
