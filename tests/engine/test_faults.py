"""What goes wrong in operations, in the frontend, and around the process. Nothing may hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Iterator

import numpy
import pytest

from asyncguard import engine
from asyncguard.engine import np
from asyncguard.engine.core import EngineError

TIMEOUT = 60


@pytest.fixture(params=[1, 2])
def threaded(request: pytest.FixtureRequest) -> Iterator[engine.ThreadedEngine]:
    with engine.ThreadedEngine(request.param) as fresh, engine.use(fresh):
        yield fresh


def boom() -> None:
    raise LookupError("boom")


def run_script(source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, for what cannot be undone in this process."""
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )


# ------------------------------------------------------------------------ operations that raise


def test_a_failure_is_raised_at_the_wait_with_its_traceback_and_the_line_that_enqueued_it(
    threaded: engine.ThreadedEngine,
) -> None:
    variable = threaded.new_variable()
    threaded.push(boom, writes=[variable])
    line = sys._getframe().f_lineno - 1
    with pytest.raises(LookupError, match="boom") as caught:
        threaded.wait_for_var(variable)
    assert "boom" in [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    told = str(getattr(caught.value, "__notes__", caught.value.__cause__))
    assert f"{__file__}:{line}" in told
    assert "'boom'" in told


def test_an_array_operation_names_the_users_line(threaded: engine.ThreadedEngine) -> None:
    x = np.arange(3)
    y = x[np.array([7])]
    line = sys._getframe().f_lineno - 1
    with pytest.raises(IndexError) as caught:
        y.wait_to_read()
    assert f"{__file__}:{line}" in str(getattr(caught.value, "__notes__", caught.value.__cause__))


def test_a_poisoned_variable_poisons_what_reads_it_and_nothing_else(
    threaded: engine.ThreadedEngine,
) -> None:
    bad, worse, good = (threaded.new_variable() for _ in range(3))
    ran = []
    threaded.push(boom, writes=[bad])
    threaded.push(lambda: ran.append("worse"), reads=[bad], writes=[worse])
    threaded.push(lambda: ran.append("good"), writes=[good])
    threaded.wait_for_var(good)
    for _ in range(2):  # the result does not exist, however often one asks
        with pytest.raises(LookupError):
            threaded.wait_for_var(worse)
    assert ran == ["good"]


def test_a_write_that_does_not_read_heals_a_variable(threaded: engine.ThreadedEngine) -> None:
    variable = threaded.new_variable()
    threaded.push(boom, writes=[variable])
    threaded.push(int, writes=[variable])
    threaded.wait_for_var(variable)
    with pytest.raises(LookupError):
        threaded.wait_for_all()


def test_waitall_raises_each_failure_once_and_none_that_a_wait_has_raised(
    threaded: engine.ThreadedEngine,
) -> None:
    first, second, third = (threaded.new_variable() for _ in range(3))
    for name, variable in (("first", first), ("second", second), ("third", third)):
        threaded.push(lambda name=name: [][name], writes=[variable], name=name)  # type: ignore
    with pytest.raises(TypeError):
        threaded.wait_for_var(second)
    told = []
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            threaded.wait_for_all()
        told.append(caught.value)
    assert len(set(map(id, told))) == 2
    threaded.wait_for_all()
    assert threaded.depth == 0


def test_waitall_does_not_lose_the_failure_of_an_array_that_is_gone(
    threaded: engine.ThreadedEngine,
) -> None:
    np.arange(3)[np.array([7])]
    with pytest.raises(IndexError):
        engine.waitall()


def test_the_engine_works_on_after_a_failure(threaded: engine.ThreadedEngine) -> None:
    threaded.push(boom)
    with pytest.raises(LookupError):
        threaded.wait_for_all()
    assert (np.ones(3) + 1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_that_is_no_error_travels_too(
    threaded: engine.ThreadedEngine, error: type[BaseException]
) -> None:
    variable = threaded.new_variable()

    def operation() -> None:
        raise error

    threaded.push(operation, writes=[variable])
    with pytest.raises(error):
        threaded.wait_for_var(variable)
    assert (np.ones(2) * 2).tolist() == [2, 2]


def test_the_naive_engine_raises_in_the_line_that_pushed() -> None:
    naive = engine.NaiveEngine()
    with pytest.raises(LookupError):
        naive.push(boom)
    naive.wait_for_all()


# --------------------------------------------------------------- operations that call the engine


def test_an_operation_may_push_and_wait_even_on_a_single_worker(
    threaded: engine.ThreadedEngine,
) -> None:
    outer, inner = threaded.new_variable(), threaded.new_variable()
    done = []

    def operation() -> None:
        threaded.push(lambda: done.append("inner"), writes=[inner])
        threaded.wait_for_var(inner)
        done.append("outer")

    threaded.push(operation, writes=[outer])
    threaded.wait_for_var(outer)
    assert done == ["inner", "outer"]


def test_operations_nested_deeper_than_there_are_workers(threaded: engine.ThreadedEngine) -> None:
    variables = [threaded.new_variable() for _ in range(6)]

    def nest(level: int) -> None:
        if level:
            threaded.push(lambda: nest(level - 1), writes=[variables[level - 1]])
            threaded.wait_for_var(variables[level - 1])

    threaded.push(lambda: nest(5), writes=[variables[5]])
    threaded.wait_for_var(variables[5])
    threaded.wait_for_all()
    assert threaded.depth == 0


def test_an_operation_that_waits_for_itself_fails_instead_of_hanging(
    threaded: engine.ThreadedEngine,
) -> None:
    variable, other = threaded.new_variable(), threaded.new_variable()
    gate = threading.Event()

    def operation() -> None:
        gate.wait(TIMEOUT)
        threaded.wait_for_var(other)

    threaded.push(operation, writes=[variable])
    threaded.push(int, reads=[variable], writes=[other])
    gate.set()
    with pytest.raises(EngineError, match="depends on itself"):
        threaded.wait_for_var(variable)


def test_an_operation_cannot_wait_for_all(threaded: engine.ThreadedEngine) -> None:
    variable = threaded.new_variable()
    threaded.push(threaded.wait_for_all, writes=[variable])
    with pytest.raises(EngineError, match="one of them"):
        threaded.wait_for_var(variable)


# ------------------------------------------------------------------------------------- interrupts


def test_sigint_leaves_a_wait_for_an_operation_that_never_ends() -> None:
    done = run_script(
        """
        import os, signal, threading
        from asyncguard import engine
        e = engine.ThreadedEngine()
        never, started = threading.Event(), threading.Event()
        v, w = e.new_variable(), e.new_variable()
        def once(*_):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, once)
        def operation():
            started.set()
            # CPython loses a signal that comes just before a lock blocks: send until one arrives.
            while not never.wait(0.02):
                os.kill(os.getpid(), signal.SIGINT)
        e.push(operation, writes=[v])
        try:
            e.wait_for_var(v)
        except KeyboardInterrupt:
            print("interrupted", started.is_set())
        never.set()
        e.wait_for_var(v)
        e.push(lambda: print("works on"), writes=[w])
        e.wait_for_all()
        """
    )
    assert (done.stdout, done.stderr) == ("interrupted True\nworks on\n", "")


def test_interrupts_anywhere_in_the_frontend_tear_nothing() -> None:
    """An alarm keeps going off while the frontend enqueues and waits; all is well after each."""
    done = run_script(
        """
        import signal
        from asyncguard import engine
        from asyncguard.engine import np
        got, armed = 0, False
        def interrupt(*_):
            global armed
            if armed:
                armed = False
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
        x = np.ones((1, 2))
        def work():
            y = x
            for _ in range(50):
                y = y + 1
            y.wait_to_read()
            z = y * 2
            z += 1
            engine.waitall()
            return z.tolist(), engine.current().depth
        while got < 300:
            try:
                armed = True
                work()
                armed = False
            except KeyboardInterrupt:
                got += 1
                assert work() == ([[103, 103]], 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_an_error_of_a_signal_handler_is_not_taken_for_one_of_the_operation() -> None:
    done = run_script(
        """
        import signal
        from asyncguard import engine
        from asyncguard.engine import np
        armed = False
        def alarm(*_):
            global armed
            if armed:
                armed = False
                raise TimeoutError("alarm")
        signal.signal(signal.SIGALRM, alarm)
        x, got = np.ones((1, 2)), 0
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while got < 100:
            try:
                armed = True
                for _ in range(100):
                    y = x + 1
                    y.wait_to_read()
                armed = False
            except TimeoutError:
                got += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        engine.waitall()
        print((x + 1).tolist())
        """
    )
    assert (done.stdout, done.stderr) == ("[[2.0, 2.0]]\n", "")


# ------------------------------------------------------------------------------- fork and exit


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_gets_a_clear_error_and_a_fresh_engine() -> None:
    done = run_script(
        """
        import os, sys, threading
        from asyncguard import engine
        from asyncguard.engine import np
        e, gate, started = engine.current(), threading.Event(), threading.Event()
        v = e.new_variable()
        def operation():
            started.set()
            gate.wait()
        e.push(operation, writes=[v])
        started.wait()
        pending = np.ones(2) + 1
        child = os.fork()
        if child == 0:
            try:
                pending.asnumpy()
            except engine.EngineError as error:
                print("child:", str(error), (np.ones(2) + 2).tolist(), e.depth, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        gate.set()
        print("parent:", pending.tolist())
        """,
        "-Wignore::DeprecationWarning",  # Python 3.12 warns of any fork beside threads
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "child: the process forked while this operation was pending [3.0, 3.0] 0",
        "parent: [2.0, 2.0]",
    ]


def test_exit_with_pending_work_drops_it_in_silence() -> None:
    done = run_script(
        """
        import threading
        from asyncguard import engine
        from asyncguard.engine import np
        e, started = engine.current(), threading.Event()
        def forever():
            started.set()
            threading.Event().wait()
        e.push(forever)
        for _ in range(1000):
            x = np.ones((100, 100)).dot(np.ones((100, 100)))
        e.push(lambda: print("never printed"))
        started.wait()
        print("bye")
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("bye\n", "", 0)


def test_a_failure_that_nobody_waited_for_is_logged_at_exit() -> None:
    done = run_script(
        """
        import threading
        from asyncguard import engine
        e, reached = engine.current(), threading.Event()
        def boom():
            raise LookupError("boom")
        e.push(boom)
        e.push(reached.set)
        reached.wait()
        """
    )
    assert done.returncode == 0
    assert "nobody waited for this failure: LookupError('boom')" in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_lets_what_is_running_end() -> None:
    """A BLAS library that is taken down in a product hangs."""
    done = run_script(
        """
        import atexit, threading
        exiting, started = threading.Event(), threading.Event()
        from asyncguard import engine
        def product():
            started.set()
            exiting.wait()
            sum(range(3_000_000))
            print("ended", flush=True)
        engine.current().push(product)
        started.wait()
        atexit.register(exiting.set)  # runs before the engine's own
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)


def test_exit_while_workers_compute_prints_nothing() -> None:
    for _ in range(3):
        done = run_script(
            """
            from asyncguard.engine import np
            x = np.ones((300, 300))
            for _ in range(200):
                x = np.tanh(x.dot(x))
            """
        )
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_sigint_in_a_wait_at_top_level_ends_the_process() -> None:
    done = run_script(
        """
        import os, signal, threading
        from asyncguard import engine
        e = engine.current()
        def once(*_):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, once)
        def operation():
            # CPython loses a signal that comes just before a lock blocks: send until one arrives.
            while not threading.Event().wait(0.02):
                os.kill(os.getpid(), signal.SIGINT)
        e.push(operation)
        engine.waitall()
        """
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


# ---------------------------------------------------------------------------- wrong arguments


def test_bad_shapes_and_types_raise_where_they_are_written(
    threaded: engine.ThreadedEngine,
) -> None:
    x, y = np.ones((2, 3)), np.ones((4, 5))
    for wrong in (
        lambda: x + y,
        lambda: x @ y,
        lambda: np.dot(x, y),
        lambda: np.concatenate([x, y]),
        lambda: np.stack([x, y]),
        lambda: x.reshape(4, 4),
        lambda: x.sum(axis=2),
        lambda: x.__setitem__(0, np.ones(4)),
        lambda: x.__iadd__(np.ones((2, 2, 3))),
        lambda: np.where(x, x, y),
        lambda: np.zeros((0,)).max(),
        lambda: np.zeros(-1),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        np.arange(3).__iadd__(0.5)
    threaded.wait_for_all()
    assert numpy.array_equal(x.asnumpy(), numpy.ones((2, 3)))


def test_a_deleted_variable_cannot_be_used_again(threaded: engine.ThreadedEngine) -> None:
    variable, done = threaded.new_variable(), []
    threaded.push(lambda: done.append("used"), reads=[variable])
    threaded.delete_variable(variable, lambda: done.append("released"))
    for again in (threaded.delete_variable, lambda v: threaded.push(int, reads=[v])):
        with pytest.raises(EngineError, match="deleted"):
            again(variable)
    threaded.wait_for_all()
    assert done == ["used", "released"]


def test_a_closed_engine_takes_no_operations() -> None:
    closed = engine.ThreadedEngine()
    closed.close()
    with pytest.raises(EngineError, match="closed"):
        closed.push(int)
