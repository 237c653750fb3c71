"""Random programs give the same result on the threaded engine, the naive one, and on none.

As MXNet's `tests/cpp/engine/threaded_engine_test.cc`. `ENGINE_PROGRAMS=10000` runs that many.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncguard import engine
from asyncguard.engine import np as device_np
from asyncguard.engine.core import Operation

PROGRAMS = int(os.environ.get("ENGINE_PROGRAMS", "60"))
many = settings(max_examples=PROGRAMS, suppress_health_check=list(HealthCheck), database=None)


# ------------------------------------------------------- the engine itself: cells and hash sums


@dataclass(frozen=True)
class Step:
    """One step of a program: an operation, a deletion, or a wait."""

    kind: str  # push, brief, repeatable, delete, wait, wait_to_write, wait_all
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    priority: int
    thread: int


CELLS = 4
cells = st.integers(0, CELLS - 1)
KINDS = [*["push"] * 5, *["brief"] * 4, "delete", "wait", "wait_to_write", "wait_all"]
steps = st.builds(
    Step,
    st.sampled_from(KINDS),
    st.lists(cells, max_size=3).map(tuple),
    st.lists(cells, min_size=1, max_size=2, unique=True).map(tuple),
    st.integers(-2, 2),
    st.integers(0, 2),
)


class Brief(Operation):
    """An operation that whoever finds it may run."""

    __slots__ = ("function",)
    function: Callable[[], None]

    def run(self) -> None:
        self.function()


class World:
    """Cells of numbers behind variables; any two steps in another order leave other numbers."""

    def __init__(self, on: engine.Engine) -> None:
        self.engine = on
        self.boxes = [[n] for n in range(CELLS)]
        self.variables = [on.new_variable() for _ in range(CELLS)]

    def take(self, number: int, step: Step) -> None:
        reads = [self.boxes[n] for n in step.reads]
        writes = [self.boxes[n] for n in step.writes]

        def mix() -> None:
            for box in writes:
                box[0] = hash((number, box[0], *[other[0] for other in reads])) % 1_000_003

        # What it reads of its own writes needs no mention: they are in the write set.
        read = tuple(self.variables[n] for n in step.reads)
        write = tuple(self.variables[n] for n in step.writes)
        if step.kind == "push":
            self.engine.push(mix, read, write, priority=step.priority)
        elif step.kind == "brief":
            operation = Brief(read, write, nbytes=8, brief=True)
            operation.function = mix
            self.engine.submit(operation)
        else:
            self.wait_or_delete(step, step.writes[0])

    def wait_or_delete(self, step: Step, cell: int) -> None:
        if step.kind == "delete":
            box = self.boxes[cell]
            self.engine.delete_variable(self.variables[cell], box.clear)
            self.boxes[cell], self.variables[cell] = [cell], self.engine.new_variable()
        elif step.kind == "wait":
            self.engine.wait_for_var(self.variables[cell])
        elif step.kind == "wait_to_write":
            self.engine.wait_to_write(self.variables[cell])
        else:
            self.engine.wait_for_all()

    def result(self) -> list[list[int]]:
        self.engine.wait_for_all()
        return self.boxes


def in_turns(world: World, program: list[Step]) -> None:
    """Take the steps in program order, each in the thread that it names."""
    turn = threading.Condition()
    at, errors = [0], []

    def frontend(thread: int) -> None:
        for number, step in enumerate(program):
            if step.thread != thread:
                continue
            with turn:
                turn.wait_for(lambda number=number: at[0] == number)
                try:
                    world.take(number, step)
                except Exception as error:  # noqa: BLE001 - shown by the assertion below
                    errors.append(error)
                at[0] += 1
                turn.notify_all()

    threads = [threading.Thread(target=frontend, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@many
@given(st.lists(steps, max_size=40), st.integers(1, 8))
def test_operations_on_shared_variables_keep_their_order(program: list[Step], workers: int) -> None:
    naive = World(engine.NaiveEngine())
    for number, step in enumerate(program):
        naive.take(number, step)
    with engine.ThreadedEngine(workers) as threaded:
        world = World(threaded)
        in_turns(world, program)
        assert world.result() == naive.result()
        assert [v.version for v in world.variables] == [v.version for v in naive.variables]


@many
@given(st.lists(st.lists(steps, max_size=15), min_size=2, max_size=4), st.integers(1, 8))
def test_frontends_with_variables_of_their_own_do_not_disturb_each_other(
    programs: list[list[Step]], workers: int
) -> None:
    def play(world: World, program: list[Step]) -> list[list[int]]:
        for number, step in enumerate(program):
            world.take(number, step)
        return world.result()

    expected = [play(World(engine.NaiveEngine()), program) for program in programs]
    with engine.ThreadedEngine(workers) as threaded:
        found: dict[int, Any] = {}
        start = threading.Barrier(len(programs))

        def frontend(n: int) -> None:
            world = World(threaded)
            start.wait()
            found[n] = play(world, programs[n])

        threads = [threading.Thread(target=frontend, args=(n,)) for n in range(len(programs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [found.get(n) for n in range(len(programs))] == expected


# ----------------------------------------------------------------- the array frontend: NumPy


@dataclass(frozen=True)
class Line:
    """One line of an array program: what to do, with which two arrays, and a small number."""

    what: str
    x: int
    y: int
    number: float


def binary(name: str) -> Callable[..., Any]:
    return lambda np, x, y, number: getattr(np, name)(x, y)


def slice_assign(np: Any, x: Any, y: Any, number: float) -> None:
    x[1:, ::2] = number


def row_update(np: Any, x: Any, y: Any, number: float) -> None:
    row = x[0]
    row += y[1]  # through a view


def in_place(np: Any, x: Any, y: Any, number: float) -> None:
    x -= y


def read(np: Any, x: Any, y: Any, number: float) -> Any:
    return np.array(x.tolist()) + x.max().item()


LINES: dict[str, Callable[..., Any]] = {
    **{name: binary(name) for name in ("add", "subtract", "maximum", "less")},
    "scale": lambda np, x, y, number: x * number - 1.0,
    "reversed": lambda np, x, y, number: number - x,
    "dot": lambda np, x, y, number: np.tanh(np.dot(x, y.T)) if x.ndim == 2 else x,
    "matmul": lambda np, x, y, number: np.sin(x @ y),
    "sum": lambda np, x, y, number: np.sin(x).sum(axis=0, keepdims=True) + y,
    "mean": lambda np, x, y, number: x.mean() + np.cos(y),
    "transpose": lambda np, x, y, number: x.T + 0.5,
    "reshape": lambda np, x, y, number: np.sin(x).reshape(2, 8).reshape(-1, 4) + y,
    "stack": lambda np, x, y, number: np.stack([x, y])[1],
    "concatenate": lambda np, x, y, number: np.concatenate([x, y], axis=1)[:, 2:6],
    "pick": lambda np, x, y, number: x[[3, 1, 0, 3]],
    "where": lambda np, x, y, number: np.where(x > y, x, number),
    "single": lambda np, x, y, number: x.astype(np.float32).astype(np.float64),
    "view": lambda np, x, y, number: x[::-1, ::-1],
    "iadd": in_place,
    "assign": slice_assign,
    "row": row_update,
    "read": read,
}
lines = st.builds(
    Line,
    st.sampled_from(sorted(LINES)),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0.5, -0.0, 2.0, 1e300]),
)


def play_arrays(np: Any, program: list[Line]) -> list[bytes]:
    """Run an array program; a line with a result replaces (deletes) the array that it read.

    Results of the engine are contiguous. NumPy keeps the order of its operands in memory, and sums
    in that order, so there the results are made contiguous.
    """
    plain = numpy.ascontiguousarray if np is numpy else lambda x: x
    arrays = [np.array((numpy.arange(16.0) * (n + 1) / 7).reshape(4, 4)) for n in range(4)]
    for line in program:
        result = LINES[line.what](np, arrays[line.x], arrays[line.y], line.number)
        if result is not None:
            arrays[line.x] = plain(np.sin(result * 1.0))
    return [numpy.array(x).tobytes() for x in arrays]


@many
@given(st.lists(lines, max_size=25), st.integers(1, 8))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_array_programs_give_bit_for_bit_what_numpy_gives(
    program: list[Line], workers: int
) -> None:
    expected = play_arrays(numpy, program)
    for other in (engine.NaiveEngine(), engine.ThreadedEngine(workers)):
        with other, engine.use(other):
            assert play_arrays(device_np, program) == expected
