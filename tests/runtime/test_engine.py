from __future__ import annotations

import asyncio
import threading

import numpy
import pytest

import asyncguard
from asyncguard import engine
from asyncguard.engine import np
from asyncguard.runtime.limits import SyncLimitExceeded, allow_syncs, forbid_syncs
from asyncguard.runtime.session import Session, step, steps
from asyncguard.timeline.program import play, recorded
from tests.runtime.helpers import counts


def test_each_blocking_call_counts_once_at_its_line() -> None:
    with Session() as session:
        x = np.ones((2, 2))
        y = x + 1
        y.wait_to_read()
        y.asnumpy()
        float(y[0, 0])
        print(y)
        numpy.asarray(y)
        y[y > 1]
        engine.waitall()
    assert counts(session.record()) == {
        "engine.ndarray.wait_to_read": 1,
        "engine.ndarray.asnumpy": 1,
        "engine.ndarray.__float__": 1,
        "engine.ndarray.__repr__": 1,
        "engine.ndarray.__array__": 1,
        "engine.ndarray.__getitem__.mask": 1,
        "engine.waitall": 1,
    }
    assert {site.path for site in session.record().sites} == {"tests/runtime/test_engine.py"}


def test_idle_time_of_the_device_is_measured() -> None:
    with Session(timeline=100) as session:
        x = np.ones((50, 50))
        for _ in range(5):
            x = np.dot(x, x) * 0.01
            x.wait_to_read()
            step()
        np.ones(1).wait_to_read()
    record = session.record()
    assert all(site.gpu_stall_ns is not None for site in record.sites)
    kinds = {event.kind for event in record.timeline}
    assert kinds >= {"step", "wait", "enqueue", "run"}
    for event in record.timeline:
        assert event.begin_ns <= event.end_ns
        if event.kind == "idle" and event.cause is not None:
            assert record.timeline[event.cause].kind == "wait"
            assert record.timeline[event.cause].site == event.site


def test_a_full_queue_is_a_wait_of_its_own_kind() -> None:
    with engine.use(engine.ThreadedEngine(queue_limit=1)), Session() as session:
        x = np.ones((100, 100))
        for _ in range(20):
            np.dot(x, x)
        engine.waitall()
    kinds = {site.api: site.kind.value for site in session.record().sites}
    assert kinds.get("engine.push", "queue") == "queue"
    assert kinds["engine.waitall"] == "barrier"


def test_limits_hold_for_the_engine_too() -> None:
    x = np.ones(3)
    message = r"test_engine\.py:\d+: engine\.ndarray\.asnumpy"
    with pytest.raises(SyncLimitExceeded, match=message), forbid_syncs():
        x.asnumpy()
    with forbid_syncs(), allow_syncs("a test"):
        x.asnumpy()


def test_a_limit_on_the_engine_refuses_before_the_wait() -> None:
    may_end = threading.Event()
    with engine.use(engine.ThreadedEngine()) as busy:
        busy.push(lambda: may_end.wait(5), writes=[busy.new_variable()])
        with pytest.raises(SyncLimitExceeded), forbid_syncs():
            engine.waitall()
        assert not may_end.is_set()
        may_end.set()
        engine.waitall()


def test_each_item_of_a_loader_is_a_step() -> None:
    loader = steps([1, 2, 3])
    assert len(loader) == 3
    with Session() as session:
        for _ in range(2):
            for item in loader:
                for _ in range(item):
                    np.ones(1).wait_to_read()
    record = session.record()
    assert (record.step_count, record.step_syncs) == (6, (2, 3, 1, 2, 3))


def test_an_item_that_is_left_by_break_is_no_whole_step() -> None:
    with Session() as session:
        for item in steps(range(9)):
            if item == 4:
                break
    assert session.record().step_count == 4


def test_a_loader_marks_the_steps_of_one_trace_alone() -> None:
    with asyncguard.trace() as outer, asyncguard.trace() as inner:
        for _ in inner.steps(range(3)):
            np.ones(1).wait_to_read()
        asyncguard.step()
    assert (outer.step_count, inner.step_count) == (1, 4)
    assert (outer.total_syncs, inner.total_syncs) == (3, 3)


def test_traces_of_two_tasks_overlap_and_each_counts_the_whole_process() -> None:
    async def traced(waits: int) -> tuple[int, int]:
        with asyncguard.trace() as trace:
            for _ in trace.steps(range(waits)):
                np.ones(1).wait_to_read()
                await asyncio.sleep(0)
            own = [s for s in trace.sites if asyncio.current_task().get_name() in s.thread]  # type: ignore[union-attr]
            return trace.step_count, sum(site.count for site in own)

    async def main() -> list[tuple[int, int]]:
        return await asyncio.gather(*map(traced, (2, 3)))

    assert asyncio.run(main()) == [(2, 2), (3, 3)]


def test_sessions_in_a_row_leave_the_engine_alone() -> None:
    from asyncguard.engine import hooks

    for _ in range(3):
        with Session(), Session():
            np.ones(1).wait_to_read()
        assert hooks.listeners == ()


def test_the_record_says_how_much_was_pending_at_most_where_no_step_waited() -> None:
    may_begin = threading.Event()
    with engine.use(engine.ThreadedEngine(1)) as busy, asyncguard.trace() as trace:
        busy.push(lambda: may_begin.wait(60), writes=[busy.new_variable()])
        for _ in trace.steps(range(200)):
            np.ones((64, 64))
        may_begin.set()
        engine.waitall()
    assert trace.record.extra["peak_pending_bytes"] == 200 * 64 * 64 * 8
    (suggestion,) = trace.suggestions
    assert "6.2 MiB at most here" in suggestion.advice


def test_replay_of_an_unchanged_run_gives_back_its_stall_and_its_idle_time() -> None:
    with Session(frameworks=["engine"], timeline=10_000) as session:
        for _ in range(8):
            x = np.dot(np.ones((200, 200)), np.ones((200, 200)))
            x.sum().item()
            sum(range(10_000))
            session.step()
    record = session.record()
    program = recorded(record.timeline, first_step=1)
    assert program is not None
    played = play(program)
    warm = next(event.end_ns for event in record.timeline if event.name == "step 0")
    measured = {"wait": 0, "idle": 0}
    for event in record.timeline:
        if event.kind in measured and event.begin_ns >= warm:
            measured[event.kind] += event.end_ns - event.begin_ns
    assert sum(w.end_ns - w.begin_ns for w in played.waits) == pytest.approx(
        measured["wait"], rel=0.05
    )
    assert sum(b.end - b.begin for b in played.bubbles) == pytest.approx(measured["idle"], rel=0.05)
