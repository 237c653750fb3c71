"""Order, parallelism, bounds and figures of the threaded engine. Nothing here looks at a clock."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from typing import Any

import pytest

from asyncguard import engine
from asyncguard.engine import core, default, hooks, np

TIMEOUT = 60


class Blocked:
    """An engine whose workers all stand at a gate, so that what is pushed next stays queued."""

    def __init__(self, **options: Any) -> None:
        workers = options.setdefault("workers", 1)
        self.gate = threading.Event()
        self.engine = engine.ThreadedEngine(**options)
        started = threading.Barrier(workers + 1)
        for _ in range(workers):
            self.engine.push(lambda: (started.wait(TIMEOUT), self.gate.wait(TIMEOUT)))
        started.wait(TIMEOUT)

    def __enter__(self) -> Blocked:
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self.engine.close()


def test_a_write_waits_for_the_reads_before_it_and_a_read_for_the_write() -> None:
    with Blocked(workers=4) as blocked:
        variable, order = blocked.engine.new_variable(), []
        blocked.engine.push(lambda: order.append("write"), writes=[variable])
        for _ in range(3):
            blocked.engine.push(lambda: order.append("read"), reads=[variable])
        blocked.engine.push(lambda: order.append("write"), writes=[variable])
        blocked.gate.set()
        blocked.engine.wait_for_all()
        assert order == ["write", "read", "read", "read", "write"]
        assert variable.version == 2


def test_independent_operations_run_at_the_same_time() -> None:
    with engine.ThreadedEngine(3) as threaded:
        meet = threading.Barrier(3)
        for _ in range(3):
            threaded.push(lambda: meet.wait(TIMEOUT))
        threaded.wait_for_all()


def test_two_reads_of_one_variable_run_at_the_same_time() -> None:
    with engine.ThreadedEngine(2) as threaded:
        variable, meet = threaded.new_variable(), threading.Barrier(2)
        for _ in range(2):
            threaded.push(lambda: meet.wait(TIMEOUT), reads=[variable])
        threaded.wait_for_all()


def test_the_greater_priority_starts_first_and_equals_in_program_order() -> None:
    with Blocked() as blocked:
        order: list[int] = []
        for number, priority in enumerate([0, 5, 0, 9, 5]):
            blocked.engine.push(lambda n=number: order.append(n), priority=priority)  # type: ignore
        blocked.gate.set()
        blocked.engine.wait_for_all()
        assert order == [3, 1, 4, 0, 2]


def test_waiting_for_one_variable_does_not_wait_for_others() -> None:
    with engine.ThreadedEngine(2) as threaded:
        never, done = threading.Event(), threaded.new_variable()
        threaded.push(lambda: never.wait(TIMEOUT))
        threaded.push(int, writes=[done])
        threaded.wait_for_var(done)
        assert threaded.depth == 1
        never.set()


@pytest.mark.parametrize("brief", [False, True])
def test_who_waits_for_an_operation_finds_it_counted_and_reported(brief: bool) -> None:
    class Watched(core.Call):
        """Notes what the engine and its listener say at the moment of being done."""

        @property
        def done(self) -> bool:  # type: ignore[override]
            return bool(seen)

        @done.setter
        def done(self, value: bool) -> None:
            if value:
                seen.append((threaded.depth, threaded.pending_bytes, listener.executions))

    class Counting(hooks.Listener):
        executions = 0

        def executed(self, event: hooks.Execution) -> None:
            self.executions += 1

    seen: list[tuple[int, int, int]] = []
    listener = Counting()
    with engine.ThreadedEngine() as threaded:
        operation = Watched(int, writes=[threaded.new_variable()], nbytes=8)
        operation.brief = brief
        hooks.attach(listener)
        threaded.submit(operation)
        threaded.wait_for_all()
        hooks.detach(listener)
    assert seen == [(0, 0, 1)]


def test_wait_to_write_waits_for_reads_and_wait_for_var_does_not() -> None:
    with engine.ThreadedEngine(1) as threaded:
        variable, gate, read = threaded.new_variable(), threading.Event(), []
        threaded.push(lambda: read.append(gate.wait(TIMEOUT)), reads=[variable])
        threaded.wait_for_var(variable)
        assert not read
        gate.set()
        threaded.wait_to_write(variable)
        assert read
        assert variable.version == 0


def test_a_deleted_variable_lives_until_the_operations_on_it_are_done() -> None:
    with Blocked() as blocked:
        variable, order = blocked.engine.new_variable(), []
        blocked.engine.push(lambda: order.append("read"), reads=[variable])
        blocked.engine.delete_variable(variable, lambda: order.append("released"))
        assert order == []
        blocked.gate.set()
        blocked.engine.wait_for_all()
        assert order == ["read", "released"]


def test_depth_and_pending_bytes_and_their_peaks() -> None:
    with Blocked() as blocked, engine.use(blocked.engine):
        arrays = [np.ones(100) for _ in range(5)]
        assert (blocked.engine.depth, blocked.engine.pending_bytes) == (6, 4000)
        blocked.gate.set()
        arrays[-1].wait_to_read()
        blocked.engine.wait_for_all()
        assert (blocked.engine.depth, blocked.engine.pending_bytes) == (0, 0)
        assert (blocked.engine.peak_depth, blocked.engine.peak_pending_bytes) == (6, 4000)
        blocked.engine.reset_peaks()
        assert (blocked.engine.peak_depth, blocked.engine.peak_pending_bytes) == (0, 0)


@pytest.mark.parametrize("limit", [{"queue_limit": 4}, {"queue_limit_bytes": 3200}])
def test_the_peak_stays_under_the_limit_whatever_several_frontends_do(limit: Any) -> None:
    with engine.ThreadedEngine(2, **limit) as threaded, engine.use(threaded):

        def frontend() -> None:
            x = np.ones(100)
            for n in range(200):
                x = np.sin(x) if n % 3 else np.dot(np.ones((10, 10)), np.ones(10))

        threads = [threading.Thread(target=frontend) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        threaded.wait_for_all()
        assert threaded.peak_depth <= limit.get("queue_limit", 10**9)
        assert threaded.peak_pending_bytes <= limit.get("queue_limit_bytes", 10**9)
        assert threaded.peak_depth > 1


def test_a_full_queue_blocks_the_frontend_and_that_is_a_sync_point_of_kind_queue() -> None:
    class Open(hooks.Listener):
        """Opens the gate as soon as the frontend is told to wait."""

        def __init__(self) -> None:
            self.syncs: list[tuple[str, str]] = []

        def begins(self, sync: hooks.Sync) -> None:
            self.syncs.append((sync.kind, sync.api))
            blocked.gate.set()

    listener = Open()
    with Blocked(queue_limit=2) as blocked:
        hooks.attach(listener)
        blocked.engine.push(int)
        assert listener.syncs == []
        blocked.engine.push(int)
        hooks.detach(listener)
    assert listener.syncs == [("queue", "engine.push")]
    assert blocked.engine.peak_depth == 2


def test_an_operation_may_push_into_a_full_queue() -> None:
    with engine.ThreadedEngine(1, queue_limit=1) as threaded:
        ran = []
        threaded.push(lambda: [threaded.push(lambda: ran.append(1)) for _ in range(5)])
        threaded.wait_for_all()
        assert len(ran) == 5


def test_a_result_that_can_never_fit_raises() -> None:
    with (
        engine.ThreadedEngine(queue_limit_bytes=100) as threaded,
        engine.use(threaded),
        pytest.raises(ValueError, match="limited to 100"),
    ):
        np.ones(1000)


def test_pending_bytes_past_the_threshold_warn_once() -> None:
    with Blocked(warn_bytes=1000) as blocked, engine.use(blocked.engine):
        with pytest.warns(engine.UnboundedQueueWarning, match="ASG401: 1,600 bytes") as caught:
            x = np.ones(100) + np.ones(100)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.ones(1000)
        blocked.gate.set()
        assert x.tolist()[0] == 2


def test_a_waiting_frontend_runs_no_more_than_brief_and_repeatable_operations() -> None:
    with engine.ThreadedEngine() as threaded, engine.use(threaded):
        threads = []
        variable = threaded.new_variable()
        threaded.push(lambda: threads.append(threading.current_thread()), writes=[variable])
        threaded.wait_for_var(variable)
        assert threads[0].name.startswith("asyncguard-worker")


def test_no_thread_is_left_after_close() -> None:
    before = set(threading.enumerate())
    with engine.ThreadedEngine(4) as threaded:
        for _ in range(20):
            threaded.push(int)
    assert set(threading.enumerate()) <= before


def test_several_frontends_may_wait_for_the_same_operation() -> None:
    with Blocked() as blocked:
        variable, done = blocked.engine.new_variable(), []
        blocked.engine.push(int, writes=[variable])

        def wait() -> None:
            blocked.engine.wait_for_var(variable)
            done.append(1)

        threads = [threading.Thread(target=wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        blocked.gate.set()
        for thread in threads:
            thread.join(TIMEOUT)
        assert len(done) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers"),
        ({"queue_limit": 0}, "queue_limit"),
        ({"queue_limit_bytes": -1}, "queue_limit_bytes"),
    ],
)
def test_wrong_arguments_say_which(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        engine.ThreadedEngine(**arguments)


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({}, "ThreadedEngine 1"),
        ({"ASYNCGUARD_ENGINE": "threaded", "ASYNCGUARD_ENGINE_WORKERS": "3"}, "ThreadedEngine 3"),
        ({"ASYNCGUARD_ENGINE": "naive"}, "NaiveEngine -"),
    ],
)
def test_the_environment_chooses_the_engine(variables: dict[str, str], printed: str) -> None:
    script = (
        "from asyncguard import engine; e = engine.current();"
        "print(type(e).__name__, getattr(e, 'workers', '-'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == printed


@pytest.mark.parametrize(
    ("name", "value"), [("ASYNCGUARD_ENGINE", "fast"), ("ASYNCGUARD_ENGINE_WORKERS", "many")]
)
def test_a_wrong_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=name):
        default.create()


def test_use_changes_the_engine_for_the_block_only() -> None:
    before = engine.current()
    with engine.ThreadedEngine() as other, engine.use(other) as given:
        assert engine.current() is other is given
    assert engine.current() is before


def test_an_operation_that_is_done_before_the_push_returns_is_no_trouble() -> None:
    """The worker may be faster than the frontend, between the inbox and the end of the push."""

    class Quick(engine.ThreadedEngine):
        def _enqueue(self, operation: engine.Operation) -> None:
            self._inbox, inbox = _RunsAtOnce(self), self._inbox  # type: ignore[assignment]
            super()._enqueue(operation)
            self._inbox = inbox

    class _RunsAtOnce:
        def __init__(self, owner: engine.ThreadedEngine) -> None:
            self.owner = owner

        def append(self, operation: engine.Operation) -> None:
            self.owner._execute(operation)
            self.owner._count(operation)
            self.owner._retire(operation)

        def __len__(self) -> int:
            return 0

    with Quick() as quick, engine.use(quick):
        y = np.ones(2) + 1
        assert y.tolist() == [2, 2]
