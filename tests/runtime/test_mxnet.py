from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import attributes, changed, counts

mx = require("mxnet")
onp = require("numpy")
np, npx = mx.np, mx.npx


@pytest.fixture(autouse=True)
def numpy_semantics() -> Any:
    npx.set_np()
    yield
    npx.reset_np()


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["mxnet"]) as session:
        function()
    return session.record()


def test_ten_thousand_waits_at_one_line_are_one_site() -> None:
    def increments() -> None:
        x = np.ones((3, 3))
        for _ in range(10_000):
            y = x + 1
            y.wait_to_read()

    record = trace(increments)
    (site,) = record.sites
    assert (record.total_syncs, site.count, site.source) == (10_000, 10_000, "y.wait_to_read()")
    assert site.device == "cpu(0)"
    assert sum(site.stall_histogram.values()) == 10_000


@pytest.mark.parametrize("barrier", ["mx.nd.waitall", "npx.waitall", "mx.npx.waitall"])
def test_one_barrier_after_the_loop_is_one_wait(barrier: str) -> None:
    def increments() -> None:
        x = np.ones((3, 3))
        for _ in range(10_000):
            x + 1
        eval(barrier, globals())()

    record = trace(increments)
    assert counts(record) == {"mxnet.waitall": 1}


ONE_WAIT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "asnumpy": (lambda x: x.asnumpy(), "mxnet.NDArray.asnumpy"),
    "item": (lambda x: x.item(), "mxnet.np.ndarray.item"),
    "tolist": (lambda x: x.tolist(), "mxnet.np.ndarray.tolist"),
    "float": (lambda x: float(x), "mxnet.np.ndarray.__float__"),
    "int": (lambda x: int(x), "mxnet.np.ndarray.__int__"),
    "bool": (lambda x: bool(x), "mxnet.NDArray.__bool__"),
    "repr": (lambda x: repr(x), "mxnet.NDArray.__repr__"),
    "str": (lambda x: str(x), "mxnet.NDArray.__repr__"),
    "f-string": (lambda x: f"{x:.2f}", "mxnet.NDArray.__format__"),
    "asscalar": (lambda x: x.as_nd_ndarray().asscalar(), "mxnet.NDArray.asscalar"),
    "mask": (lambda x: np.ones(3)[np.ones(3) > 0], "mxnet.np.ndarray.__getitem__.mask"),
    "nonzero": (lambda x: np.nonzero(np.ones(3)), "mxnet.np.nonzero"),
    "write from the host": (
        lambda x: np.ones(3).__setitem__(slice(None), onp.zeros(3)),
        "mxnet.NDArray.__setitem__.host",
    ),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    value = np.ones(())
    assert counts(trace(lambda: function(value))) == {api: 1}


def test_what_does_not_wait_does_not_count() -> None:
    def work() -> None:
        x = np.array([1.0, 2.0])
        y = np.dot(x, x) + x[0] + len(x) + x[0:1].sum()
        y.shape, y.dtype, y.copy()
        mx.nd.array([1, 2])

    assert counts(trace(work)) == {}


def test_the_gluon_trainer_marks_steps_and_its_own_reads_do_not_count() -> None:
    def train() -> None:
        net = mx.gluon.nn.Dense(1)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), "adam")
        loss_of = mx.gluon.loss.L2Loss()
        for _ in range(6):
            with mx.autograd.record():
                loss = loss_of(net(np.ones((4, 2))), np.ones((4, 1)))
            loss.backward()
            trainer.step(4)
            float(loss.mean())

    record = trace(train)
    assert counts(record) == {"mxnet.np.ndarray.__float__": 6}
    assert (record.step_count, record.syncs_per_step) == (6, 1.0)


def test_every_attribute_is_afterwards_the_object_that_it_was() -> None:
    owners = [mx.nd.NDArray, mx.np.ndarray, mx.nd, mx.npx, mx.gluon.Trainer]
    trace(lambda: None)
    before = [attributes(owner) for owner in owners]
    for _ in range(1000):
        with Session(frameworks=["mxnet"]):
            pass
    assert [changed(o, b) for o, b in zip(owners, before, strict=True)] == [[]] * len(owners)


def test_a_timeline_tells_how_busy_the_backend_was_beside_the_host() -> None:
    x = np.ones((600, 600))
    with Session(frameworks=["mxnet"], timeline=1_000) as session:
        for _ in range(8):
            np.dot(x, x).wait_to_read()
            session.step()
    assert 0 <= session.record().extra["backend_overlap"] <= 1
    with Session(frameworks=["mxnet"]) as session:
        np.dot(x, x).wait_to_read()
    assert "backend_overlap" not in session.record().extra
