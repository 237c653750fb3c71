"""What the engine reports about itself, with a clock of ours."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from asyncguard import engine
from asyncguard.engine import hooks, np


class Log(hooks.Listener):
    """Keeps all events."""

    def __init__(self) -> None:
        self.enqueues: list[hooks.Enqueue] = []
        self.executions: list[hooks.Execution] = []
        self.syncs: list[hooks.Sync] = []
        self.idle: list[tuple[str, int]] = []

    def enqueued(self, event: hooks.Enqueue) -> None:
        self.enqueues.append(event)

    def executed(self, event: hooks.Execution) -> None:
        self.executions.append(event)

    def synced(self, sync: hooks.Sync) -> None:
        self.syncs.append(sync)

    def settled(self, sync: hooks.Sync) -> None:
        self.idle.append((sync.api, sync.idle_ns))


@pytest.fixture(params=["threaded", "naive"])
def any_engine(request: pytest.FixtureRequest) -> Iterator[engine.Engine]:
    fresh = engine.NaiveEngine() if request.param == "naive" else engine.ThreadedEngine()
    with fresh, engine.use(fresh):
        yield fresh


@pytest.fixture
def log() -> Iterator[Log]:
    listener = Log()
    hooks.attach(listener)
    yield listener
    if listener in hooks.listeners:
        hooks.detach(listener)


HOST = numpy.zeros(3)
BLOCKERS: list[tuple[str, str, Callable[[Any], object]]] = [
    ("barrier", "ndarray.wait_to_read", lambda x: x.wait_to_read()),
    ("barrier", "ndarray.wait_to_write", lambda x: x.wait_to_write()),
    ("barrier", "waitall", lambda x: engine.waitall()),
    ("barrier", "waitall", lambda x: np.waitall()),
    ("barrier", "wait_for_all", lambda x: engine.current().wait_for_all()),
    ("barrier", "wait_for_var", lambda x: engine.current().wait_for_var(x.variable)),
    ("barrier", "wait_to_write", lambda x: engine.current().wait_to_write(x.variable)),
    ("array", "ndarray.asnumpy", lambda x: x.asnumpy()),
    ("array", "ndarray.tolist", lambda x: x.tolist()),
    ("array", "ndarray.__array__", numpy.asarray),
    ("array", "ndarray.__array__", numpy.exp),
    ("array", "ndarray.copyto", lambda x: x.copyto(HOST)),
    ("scalar", "ndarray.item", lambda x: x.item(0)),
    ("scalar", "ndarray.asscalar", lambda x: x[0].asscalar()),
    ("scalar", "ndarray.__int__", lambda x: int(x[0])),
    ("scalar", "ndarray.__float__", lambda x: float(x[0])),
    ("scalar", "ndarray.__complex__", lambda x: complex(x[0])),
    ("scalar", "ndarray.__index__", lambda x: [1, 2][x.astype(int)[0]]),
    ("truth", "ndarray.__bool__", lambda x: bool(x[0])),
    ("truth", "ndarray.__bool__", lambda x: 1 if x[0] > 3 else 2),
    ("truth", "ndarray.__contains__", lambda x: 1.0 in x),
    ("text", "ndarray.__repr__", repr),
    ("text", "ndarray.__str__", str),
    ("text", "ndarray.__str__", print),
    ("text", "ndarray.__format__", lambda x: f"{x[0]:.2f}"),
    ("shape", "ndarray.nonzero", lambda x: x.nonzero()),
    ("shape", "np.nonzero", lambda x: np.nonzero(x)),
    ("shape", "np.nonzero", lambda x: np.where(x)),
    ("shape", "np.unique", lambda x: np.unique(x)),
    ("shape", "ndarray.__getitem__.mask", lambda x: x[x > 0]),
]


@pytest.mark.parametrize(("kind", "api", "block"), BLOCKERS)
def test_each_blocker_is_one_sync_point_under_its_name(
    any_engine: engine.Engine, log: Log, kind: str, api: str, block: Callable[[Any], object]
) -> None:
    x = np.ones(3)
    block(x)
    assert [(sync.kind, sync.api) for sync in log.syncs] == [(kind, f"engine.{api}")]
    assert log.syncs[0].thread == threading.get_ident()
    assert log.syncs[0].t_end >= log.syncs[0].t_begin
    block(x)  # finished already, and a sync point none the less
    assert len(log.syncs) == 2


def test_what_is_known_at_once_is_no_sync_point(any_engine: engine.Engine, log: Log) -> None:
    x = np.ones((3, 4))
    known = (x.shape, x.dtype, x.ndim, x.size, x.nbytes, len(x), x.T.shape, x[0].shape)
    assert known == ((3, 4), numpy.float64, 2, 12, 96, 3, (4, 3), (4,))
    list(x)
    x[1] = 5
    x[x > 3] = 0
    x += x[[0, 1, 2]]
    x.copyto(np.zeros((3, 4)))
    assert log.syncs == []


def test_every_operation_is_reported_enqueued_and_executed(
    any_engine: engine.Engine, log: Log
) -> None:
    x = np.ones(3)
    y = x * x
    y.wait_to_read()
    enqueue = log.enqueues[-1]
    assert (enqueue.name, enqueue.nbytes, enqueue.site.path) == ("multiply", 24, __file__)
    assert enqueue.reads[0] == log.enqueues[0].writes[0]
    assert [event.serial for event in log.enqueues] == [e.serial for e in log.executions]
    assert all(event.t_end >= event.t_begin for event in log.enqueues + log.executions)
    assert not any(event.failed for event in log.executions)


def test_a_failed_execution_says_so(log: Log) -> None:
    with engine.ThreadedEngine() as threaded:
        threaded.push(lambda: [][0], name="bad")
        with pytest.raises(IndexError):
            threaded.wait_for_all()
    assert [(event.name, event.failed) for event in log.executions] == [("bad", True)]


def test_stall_and_idle_time_are_exact() -> None:
    """The operation ends at 100, the wait for it at 110, the next operation starts at 130."""
    log, now, begun = Log(), [0], threading.Event()
    main = threading.get_ident()

    def clock() -> int:
        if threading.get_ident() == main and now[0] == 10:
            begun.set()
            return 10
        return now[0]

    def operation() -> None:
        begun.wait(60)
        now[0] = 100

    with engine.ThreadedEngine() as threaded:
        variable = threaded.new_variable()
        hooks.attach(log, clock)
        threaded.push(operation, writes=[variable])
        now[0] = 10
        threaded.wait_for_var(variable)
        assert (log.syncs[0].t_begin, log.syncs[0].t_end, log.syncs[0].settled) == (10, 100, False)
        now[0] = 130
        threaded.push(int, writes=[variable])
        threaded.wait_for_var(variable)
        hooks.detach(log)
    assert log.idle[0] == ("engine.wait_for_var", 30)
    assert log.syncs[0].settled


def sync_from(begin: int) -> hooks.Sync:
    return hooks.Sync("barrier", "test", begin, 0)


def test_idle_time_runs_from_the_end_of_the_last_operation_to_the_start_of_the_next() -> None:
    meter, sync = hooks.IdleMeter(), sync_from(5)
    meter.enqueued()
    meter.started(3)
    meter.wait_began(sync)
    meter.ended(20)
    sync.t_end = 25
    assert not meter.wait_ended(sync)
    meter.enqueued()
    assert meter.started(31) is sync
    assert sync.idle_ns == 11


def test_a_wait_on_a_dry_engine_pays_for_itself_only() -> None:
    meter, sync = hooks.IdleMeter(), sync_from(50)
    meter.enqueued()
    meter.started(3)
    meter.ended(20)
    meter.wait_began(sync)
    sync.t_end = 54
    assert meter.wait_ended(sync)
    meter.enqueued()
    assert meter.started(90) is None
    assert sync.idle_ns == 4


def test_an_idle_instant_is_paid_for_once() -> None:
    meter, first, second = hooks.IdleMeter(), sync_from(5), sync_from(40)
    meter.enqueued()
    meter.started(3)
    meter.wait_began(first)
    meter.ended(20)
    first.t_end = 25
    meter.wait_ended(first)
    assert meter.wait_began(second) is first
    second.t_end = 42
    assert meter.wait_ended(second)
    assert (first.idle_ns, second.idle_ns) == (20, 2)


def test_time_with_work_in_the_queue_is_not_charged() -> None:
    meter, sync = hooks.IdleMeter(), sync_from(5)
    meter.enqueued()
    meter.enqueued()
    meter.wait_began(sync)
    meter.started(9)
    meter.ended(20)
    meter.started(28)
    meter.ended(30)
    sync.t_end = 33
    meter.wait_ended(sync)
    assert meter.close() is sync
    assert sync.idle_ns == 3  # nothing followed: up to the return of the wait


def test_a_listener_that_raises_is_detached_and_the_program_runs_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Bad(hooks.Listener):
        def synced(self, sync: hooks.Sync) -> None:
            raise ZeroDivisionError

    bad = Bad()
    hooks.attach(bad)
    with caplog.at_level(logging.ERROR, "asyncguard.engine"):
        assert (np.ones(2) + 1).tolist() == [2, 2]
    assert bad not in hooks.listeners
    assert "is detached" in caplog.text


def test_an_exception_that_a_listener_raises_on_purpose_reaches_the_user() -> None:
    class Stop(Exception):
        pass

    class Guard(hooks.Listener):
        raises = (Stop,)

        def begins(self, sync: hooks.Sync) -> None:
            raise Stop(sync.api)

    guard = Guard()
    hooks.attach(guard)
    try:
        x = np.ones(2)
        with pytest.raises(Stop, match="tolist"):
            x.tolist()
        assert guard in hooks.listeners
    finally:
        hooks.detach(guard)


def test_listeners_share_one_clock_and_attach_once(log: Log) -> None:
    with pytest.raises(ValueError, match="another clock"):
        hooks.attach(Log(), lambda: 0)
    with pytest.raises(ValueError, match="already"):
        hooks.attach(log)
    with pytest.raises(ValueError, match="not attached"):
        hooks.detach(Log())


def test_two_listeners_hear_the_same(log: Log) -> None:
    other = Log()
    hooks.attach(other)
    np.ones(2).tolist()
    hooks.detach(other)
    np.ones(2).tolist()
    assert (len(other.syncs), len(log.syncs)) == (1, 2)


def test_operations_enqueued_before_attaching_are_not_reported() -> None:
    log, gate = Log(), threading.Event()
    with engine.ThreadedEngine() as threaded:
        threaded.push(gate.wait)
        hooks.attach(log)
        gate.set()
        threaded.wait_for_all()
        hooks.detach(log)
    assert (log.enqueues, log.executions, len(log.syncs)) == ([], [], 1)
