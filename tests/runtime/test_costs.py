"""What a wait and a site cost, counted in calls: no clock says so on a busy machine."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import asyncguard
from asyncguard.engine import np
from asyncguard.model import TraceRecord
from asyncguard.render import Screen, TraceReport, formats
from asyncguard.runtime import compiled, store
from asyncguard.runtime.callers import Callers
from asyncguard.runtime.frames import line_of
from asyncguard.runtime.hub import BATCH, front
from asyncguard.runtime.registry import registry
from asyncguard.runtime.sites import Blocker, ranks

ROUNDS = 64
SIZES = 20, 60, 180  # fewer than the sites that formats show


def calls_of(work: Callable[[], object]) -> int:
    """Do some work; return how many functions it called, those of C included.

    Garbage is not collected meanwhile: whoever listens to collections would be counted too.
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    collects = gc.isenabled()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return count


def function(path: Path, body: str) -> Callable[..., Any]:
    """A function of such a body, in a file of its own."""
    source = f"def run(x, rounds=1):\n    for _ in range(rounds):\n{body}"
    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    found: Callable[..., Any] = names["run"]
    return found


def test_a_collection_of_garbage_is_not_counted() -> None:
    """Hypothesis listens to collections, and some fall into the calls that are counted."""

    def listen(phase: str, info: dict[str, int]) -> None:
        pass

    def work() -> object:
        return [[] for _ in range(100)]

    alone = calls_of(work)
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    gc.callbacks.append(listen)
    try:
        heard = calls_of(work)
    finally:
        gc.callbacks.remove(listen)
        gc.set_threshold(*thresholds)
    assert heard == alone
    assert gc.isenabled()


def test_a_limit_that_is_entered_again_calls_little_for_each_hook() -> None:
    pytest.importorskip("torch")
    with asyncguard.forbid_syncs():  # what is made once is made here
        hooks = sum(len(each.plan().hooks) for each in registry._installed.values())
    calls = []
    for _ in range(2):
        limit = asyncguard.forbid_syncs()
        calls.append(calls_of(limit.__enter__))
        calls.append(calls_of(lambda limit=limit: limit.__exit__(None, None, None)))
    assert max(calls) < 8 * hooks


def test_a_read_is_found_again_wherever_the_one_before_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for it anew each time takes several times the calls of a loop over one read."""
    torch = pytest.importorskip("torch")
    value = torch.ones(())
    turns = function(tmp_path / "turns.py", "        x.item()\n" * 8)
    found: list[int] = []
    way_to = Callers.way_to
    monkeypatch.setattr(Callers, "way_to", lambda *args: found.append(1) or way_to(*args))
    with asyncguard.trace(frameworks=["torch"], count_cpu=True) as trace:
        turns(value, 20 * ROUNDS)  # whatever is found out once is found here
        before = len(found)
        turns(value, ROUNDS)
    assert before >= 8
    assert len(found) - before <= ROUNDS / 8
    assert trace.total_syncs == 8 * 21 * ROUNDS


def test_a_stack_that_is_as_it_was_is_not_looked_at_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only whether it is the same is asked, every so often."""
    torch = pytest.importorskip("torch")
    value = torch.ones(())
    alone = function(tmp_path / "same.py", "        x.item()\n")
    looks: list[int] = []
    look = Callers._look
    monkeypatch.setattr(Callers, "_look", lambda *args: looks.append(1) or look(*args))
    with asyncguard.trace(frameworks=["torch"], count_cpu=True) as trace:
        for _ in range(3):
            before = len(looks)
            alone(value, 20 * ROUNDS)
    assert before > 0
    assert len(looks) == before
    assert trace.total_syncs == 60 * ROUNDS


def test_a_log_is_added_up_before_long_where_no_step_ends(tmp_path: Path) -> None:
    """Else a program that only reads would fill the memory with it."""
    torch = pytest.importorskip("torch")
    value = torch.ones(())
    alone = function(tmp_path / "log.py", "        x.item()\n")
    longest = 0
    with asyncguard.trace(frameworks=["torch"], count_cpu=True) as trace:
        for _ in range(20):
            alone(value, ROUNDS)
            longest = max(longest, len(front.reads.log))
    assert trace.total_syncs == 20 * ROUNDS
    assert longest < 2 * BATCH


def test_reads_that_take_turns_enter_no_frame_of_pythons_where_they_are_compiled(
    tmp_path: Path,
) -> None:
    """Each frame costs a microsecond where other work has filled the caches in between."""
    torch = pytest.importorskip("torch")
    body = "        x.item()\n        x.tolist()\n        float(x)\n        bool(x)\n"
    turns = function(tmp_path / "turns.py", body)
    entered = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        by = frame.f_back
        entered += event == "call" and by is not None and by.f_code is turns.__code__

    with asyncguard.trace(frameworks=["torch"], count_cpu=True):
        turns(torch.ones(()), 20 * ROUNDS)
        sys.setprofile(note)
        turns(torch.ones(()), 4 * ROUNDS)
        sys.setprofile(None)
    reads = 4 * 4 * ROUNDS
    # The whole stack is looked at every so often; the way in Python is a frame for each read.
    assert entered < (reads / 8 if compiled.quick is not None else 1.2 * reads)


def test_the_line_of_a_long_function_is_looked_up_and_not_searched_for(tmp_path: Path) -> None:
    """Python goes through all the lines before it: 100,000 reads would take the square of that."""
    code = function(tmp_path / "long.py", "        x.item()\n" * 2000).__code__

    class Frame:
        f_code = code

        def __init__(self, at: int) -> None:
            self.f_lasti = at

        @property
        def f_lineno(self) -> int:
            raise AssertionError("the lines are gone through")

    for start, _, line in code.co_lines():
        assert line_of(Frame(start), ranks) == (line or 0)  # type: ignore[arg-type]


def recorded(path: Path, sites: int) -> tuple[Callable[[], object], Callable[[], TraceRecord]]:
    run = function(path, "        x.item()\n" * sites)
    value = np.ones(1)
    trace = asyncguard.trace(frameworks=["engine"], timeline=100_000)

    def record() -> None:
        with trace:
            run(value, 3)

    return record, lambda: trace.record


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The calls to record, keep and show a trace of each number of sites."""
    folder = tmp_path_factory.mktemp("sites")
    found: dict[str, list[int]] = {}
    for sites in (10, *SIZES):  # once before: whatever is loaded once is loaded there
        record, made = recorded(folder / f"sites_{sites}.py", sites)
        costs = {"record": calls_of(record), "make": calls_of(made)}
        whole = made()
        assert len(whole.sites) == sites
        costs["save"] = calls_of(lambda: store.save(whole, folder / "t.json"))  # noqa: B023
        costs["load"] = calls_of(lambda: store.load(folder / "t.json"))
        for name, show in formats("traces").items():
            report = TraceReport(whole)
            costs[name] = calls_of(lambda: show(report, Screen()))  # noqa: B023
        for name, cost in costs.items():
            found.setdefault(name, []).append(cost)
    return {name: each[1:] for name, each in found.items()}


@pytest.mark.parametrize("what", ["record", "make", "save", "load", *formats("traces")])
def test_each_further_site_costs_a_trace_what_the_one_before_it_cost(
    what: str, costs: dict[str, list[int]]
) -> None:
    (few, more, many), (least, middle, most) = costs[what], SIZES
    first, last = (more - few) / (middle - least), (many - more) / (most - middle)
    again = 6 if what == "html" else 1  # a page is made anew with less detail until it is small
    assert last < first * 1.2 * again + 1


def test_what_is_asked_of_a_running_trace_makes_no_record_and_does_not_grow() -> None:
    """Asked in each step: with a timeline the record is as long as the trace."""
    value = np.ones((2,))
    figures = ("total_syncs", "step_count", "syncs_per_step", "cpu_stall_ns", "gpu_stall_ns",
               "steady_steps", "steady_duration_ns")  # fmt: skip
    asked: list[int] = []
    now = 0  # stands still in a wait: the histogram of their lengths has one bucket
    with asyncguard.trace(frameworks=["engine"], timeline=10_000, clock=lambda: now) as trace:
        for _ in range(4):
            for _ in range(100):
                (value + 1).wait_to_read()
                now += 1000
                asyncguard.step()
            before = trace.suggestions
            asked.append(calls_of(lambda: [getattr(trace, name) for name in figures]))
            asked.append(calls_of(lambda: trace.sites))
            assert trace.suggestions is before
        so_far = [getattr(trace, name) for name in figures]
        record = trace.record
    assert asked[2:4] == asked[4:6] == asked[6:8]
    assert so_far == [getattr(record, name) for name in figures]
    assert trace.suggestions is trace.suggestions


def library(folder: Path, depth: int) -> Callable[[Any], float]:
    """A function of an installed package that reads a value so many calls below its entry."""
    path = folder / "site-packages" / f"lib{depth}.py"
    path.parent.mkdir(exist_ok=True)
    source = "def f0(x):\n    return x.item()\n"
    for at in range(1, depth):
        source += f"def f{at}(x):\n    return f{at - 1}(x)\n"
    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    found: Callable[[Any], float] = names[f"f{depth - 1}"]
    return found


@pytest.mark.parametrize("depth", [1, 3, 12])
def test_a_read_within_a_library_looks_at_the_whole_stack_only_every_so_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    torch = pytest.importorskip("torch")
    read = library(tmp_path, depth)
    body = "        read(x)\n"
    run = function(tmp_path / "user.py", body)
    run.__globals__["read"] = read
    entered = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        by = frame.f_back
        entered += event == "call" and by is not None and by.f_code.co_name == "f0"

    located: list[int] = []
    locate = Blocker._locate
    monkeypatch.setattr(Blocker, "_locate", lambda *args: located.append(1) or locate(*args))
    with asyncguard.trace(frameworks=["torch"], count_cpu=True) as trace:
        for rounds, profile in ((20 * ROUNDS, None), (ROUNDS, note)):
            before = len(located)
            sys.setprofile(profile)
            run(torch.ones(()), rounds)
            sys.setprofile(None)
    assert len(located) - before <= ROUNDS / 8
    if depth <= 3 and compiled.quick is not None:
        assert entered < ROUNDS / 4  # the short way
    (site,) = trace.sites
    assert (site.path, site.line, site.count) == (str(tmp_path / "user.py"), 3, 21 * ROUNDS)
    assert len(site.library) == depth


def test_waits_within_a_library_are_each_charged_to_the_line_that_calls_it(tmp_path: Path) -> None:
    """What is taken for granted between two looks are distant callers, not the line."""
    torch = pytest.importorskip("torch")
    value = torch.ones(())
    for depth in (1, 3, 12):
        read = library(tmp_path, depth)
        run = function(tmp_path / f"user{depth}.py", "        read(x)\n        read(x), read(x)\n")
        run.__globals__["read"] = read
        with asyncguard.trace(frameworks=["torch"], count_cpu=True) as trace:
            run(value, ROUNDS)
            for _ in range(ROUNDS):
                read(value)
        counts = {site.line: site.count for site in trace.sites if site.path.startswith("/")}
        assert (counts[3], counts[4]) == (ROUNDS, 2 * ROUNDS)
        assert trace.total_syncs == 4 * ROUNDS


def test_a_loop_that_runs_elsewhere_does_not_shut_the_short_way(tmp_path: Path) -> None:
    """Nor does Python 3.14, which does not show who runs a task."""
    torch = pytest.importorskip("torch")
    run = function(tmp_path / "user.py", "        x.item()\n")
    entered = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        by = frame.f_back
        entered += event == "call" and by is not None and by.f_code is run.__code__

    async def elsewhere(begun: threading.Event, over: threading.Event) -> None:
        begun.set()
        over.wait()

    begun, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(elsewhere(begun, over)))
    with asyncguard.trace(frameworks=["torch"], count_cpu=True):
        run(torch.ones(()), 20 * ROUNDS)
        thread.start()
        begun.wait()
        try:
            sys.setprofile(note)
            run(torch.ones(()), 2 * ROUNDS)
            sys.setprofile(None)
        finally:
            over.set()
            thread.join()
    assert entered < (ROUNDS / 4 if compiled.quick is not None else 2.4 * ROUNDS)
