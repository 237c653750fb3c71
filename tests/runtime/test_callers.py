"""Who asked: a line's waits by call path, and the library's line beside the user's."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.runtime import callers as callers_module
from asyncguard.runtime.callers import NOT_TOLD_APART, Callers
from asyncguard.runtime.frames import Ranks
from tests.frameworks import require

torch = require("torch")

import asyncguard  # noqa: E402


def read(value: Any) -> float:
    return value.item()


def log(value: Any) -> None:
    read(value)


def train(value: Any, times: int) -> None:
    for _ in range(times):
        log(value)


def evaluate(value: Any, times: int) -> None:
    for _ in range(times):
        log(value)


def by_caller(site: Any, depth: int = 1) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in site.call_paths:
        found[path.callers[depth].rpartition(" ")[2]] += path.count
    return found


def test_a_helper_has_its_waits_by_caller() -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        train(value, 20)
        evaluate(value, 10)
        for _ in range(5):
            train(value, 1)
            evaluate(value, 2)
    (site,) = trace.sites
    assert by_caller(site) == {"train": 25, "evaluate": 20}
    assert sum(path.cpu_stall_ns for path in site.paths) == site.cpu_stall_ns
    assert site.callers == site.paths[0].callers


def test_one_call_path_is_kept_once() -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        train(value, 50)
    (site,) = trace.sites
    assert site.paths == ()
    assert [entry.rpartition(" ")[2] for entry in site.callers[:2]] == ["log", "train"]
    assert site.stack[0] == site.place


def deep(levels: int, then: Callable[[], object]) -> None:
    if levels:
        deep(levels - 1, then)
    else:
        then()


def test_callers_beyond_the_nearest_are_found_before_long() -> None:
    value = torch.ones(())

    def above(times: int, who: Callable[[int], None]) -> None:
        who(times)

    def one(times: int) -> None:
        for _ in range(times):
            deep(callers_module.NEAREST + 2, lambda: read(value))

    with asyncguard.trace() as trace:
        above(500, one)
        above(500, one)
    (site,) = trace.sites
    counts = sorted(path.count for path in site.call_paths)
    assert sum(counts) == 1000
    assert len(counts) == 2
    assert 500 - counts[0] <= callers_module.LONGEST


def test_lines_with_the_same_nearest_callers_tell_those_beyond_apart_each() -> None:
    value = torch.ones(())

    def both(times: int) -> None:
        for _ in range(times):
            value.item()
            value.tolist()

    def run(times: int) -> None:
        deep(callers_module.NEAREST, lambda: both(times))

    with asyncguard.trace() as trace:
        run(500)
        run(500)
    for site in trace.sites:
        counts = sorted(path.count for path in site.call_paths)
        assert sum(counts) == 1000
        assert len(counts) == 2
        assert 500 - counts[0] <= callers_module.LONGEST


def test_the_number_of_call_paths_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers_module, "MOST_PATHS", 4)
    known = Callers(Ranks())
    found = set()
    for levels in range(12):
        deep(levels, lambda: found.add(known.way_to(sys._getframe(), sys._getframe())[1]))
    assert NOT_TOLD_APART in found
    assert len(found) <= 5


def test_the_call_paths_of_one_line_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncguard.runtime.sites.MOST_PATHS", 3)
    value = torch.ones(())
    with asyncguard.trace() as trace:
        for levels in range(12):
            deep(levels, lambda: value.item())
    (site,) = trace.sites
    assert site.count == 12
    assert len(site.paths) == 5  # the first, three others, and the rest
    assert NOT_TOLD_APART in {path.callers for path in site.paths}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([train, evaluate]), st.integers(1, 9)), max_size=30))
def test_paths_add_up_to_the_site_and_are_exact_among_near_callers(
    calls: list[tuple[Callable[[Any, int], None], int]],
) -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        for function, times in calls:
            function(value, times)
    expected: Counter[str] = Counter()
    for function, times in calls:
        expected[function.__name__] += times
    found = Counter()
    for site in trace.sites:
        assert sum(path.count for path in site.call_paths) == site.count
        found += by_caller(site)
    assert found == expected


LIBRARY = """
def inner(value):
    return value.item()

def fit(value, steps):
    for _ in range(steps):
        if value:
            pass
        inner(value)

def call(function):
    return function()
"""


@pytest.fixture
def library(tmp_path: Path) -> ModuleType:
    path = tmp_path / "site-packages" / "fitter" / "trainer.py"
    path.parent.mkdir(parents=True)
    path.write_text(LIBRARY)
    module = ModuleType("fitter.trainer")
    exec(compile(LIBRARY, str(path), "exec"), vars(module))
    return module


def test_a_wait_inside_a_library_has_the_users_line_and_the_librarys(library: Any) -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        library.fit(value, 3)
        library.fit(value, 2)
    places = {(s.source, s.library[0].rpartition("/")[2], s.count) for s in trace.sites}
    assert places == {
        ("library.fit(value, 3)", "trainer.py:7 fit", 3),
        ("library.fit(value, 3)", "trainer.py:3 inner", 3),
        ("library.fit(value, 2)", "trainer.py:7 fit", 2),
        ("library.fit(value, 2)", "trainer.py:3 inner", 2),
    }
    inner = next(site for site in trace.sites if "inner" in site.library[0])
    assert [entry.rpartition(" ")[2] for entry in inner.library] == ["inner", "fit"]


def test_the_users_own_line_below_a_library_is_the_users(library: Any) -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        library.call(lambda: value.item())
    (site,) = trace.sites
    assert site.library == ()
    assert site.callers[0].endswith(" call")


def test_allowed_waits_keep_their_call_paths() -> None:
    value = torch.ones(())
    with asyncguard.trace() as trace:
        train(value, 3)
        with asyncguard.allow_syncs("meant"):
            train(value, 4)
            evaluate(value, 5)
    allowed = next(site for site in trace.sites if site.allowed)
    assert by_caller(allowed) == {"train": 4, "evaluate": 5}


def in_file(path: str, source: str) -> dict[str, Any]:
    """Code that says it is from that file."""
    names: dict[str, Any] = {}
    exec(compile(source, path, "exec"), names)
    return names


RUNNER = "/env/lib/site-packages/runner/core.py"
USER = "/home/me/train.py"


def test_what_runs_the_program_is_not_part_of_it() -> None:
    """A notebook's kernel or a test runner: library frames outside of all of the user's."""
    cell = in_file(USER, "def log(x):\n    x.item()\ndef cell(x, through):\n    through(log, x)\n")
    library = in_file(RUNNER, "def call(then, *given):\n    then(*given)\n")
    with asyncguard.trace() as trace:
        library["call"](cell["cell"], torch.ones(()), library["call"])
    (site,) = trace.sites
    ours = [entry.rpartition(" ")[2] for entry in site.callers]
    # This test's own function is the user's as well; pytest, which called it, is not.
    assert ours == ["call", "cell", "call", "test_what_runs_the_program_is_not_part_of_it"]


def test_a_program_that_is_all_library_keeps_its_callers() -> None:
    names = in_file(RUNNER, "def read(x):\n    x.item()\ndef run(x):\n    read(x)\n")
    with asyncguard.trace() as trace:
        thread = threading.Thread(target=names["run"], args=(torch.ones(()),))
        thread.start()
        thread.join()
    (site,) = trace.sites
    assert [entry.rpartition(" ")[2] for entry in site.callers] == ["run"]
