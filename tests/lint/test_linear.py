"""The work to analyse a function grows in proportion to its sites, whatever their shape."""

from __future__ import annotations

import cProfile
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.contexts.variables import UNCHANGED, Variables
from asyncguard.lint.domain.values import HOST_VALUE, UNKNOWN_VALUE, device
from asyncguard.lint.interpret import calls
from asyncguard.lint.run import worker
from asyncguard.lint.run.settings import Settings

ROOT = Path(__file__).parents[2]


def _shapes() -> ModuleType:
    path = ROOT / "benchmarks" / "lint_scaling.py"
    spec = importlib.util.spec_from_file_location("lint_scaling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lint_scaling"] = module
    spec.loader.exec_module(module)
    return module


SHAPES = _shapes().SHAPES


SETTINGS = Settings(cache=False, jobs=1)


def calls_of(source: str) -> int:
    """Return how many functions are called to check a source, repairs included."""
    with mock.patch.object(worker, "with_deep_stack", lambda work: work()):
        with cProfile.Profile(subcalls=False) as profile:
            check_source(source, "train.py", SETTINGS)
        return sum(entry.callcount for entry in profile.getstats())


def print_work() -> None:
    """Print how many calls each shape takes, for one, two and three times as many sites."""
    for shape, made in SHAPES.items():
        few = 20 if shape == "nested" else 16  # so many make a group
        sources = [made(few * times) for times in (1, 2, 3)]
        check_source(sources[0], "train.py", SETTINGS)  # once before: names are classified once
        print(json.dumps([shape, *map(calls_of, sources)]))


@pytest.fixture(scope="module")
def work() -> dict[str, list[int]]:
    """Each shape's calls, counted where the order of sets is always the same."""
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import print_work; print_work()"],
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return {shape: calls for shape, *calls in map(json.loads, done.stdout.splitlines())}


def test_the_work_is_in_proportion_to_the_sites(work: dict[str, list[int]]) -> None:
    """As many sites again take as many calls again; at 240 sites that makes 5 % more at most."""
    assert work.keys() == SHAPES.keys()
    more = {
        shape: (three - two) / (two - one)
        for shape, (one, two, three) in work.items()
        if three - two >= (two - one) * 1.01
    }
    assert more == {}


def test_nested_periods_are_not_run_again_for_each_level(work: dict[str, list[int]]) -> None:
    assert work["nested"][0] < 1_000_000  # twice as much with each level, else


def test_a_fork_costs_what_it_changes() -> None:
    variables = Variables()
    for number in range(1000):
        variables[f"value_{number}"] = HOST_VALUE
    with variables.fork() as fork:
        variables["value_1"] = device("torch")
        variables["new.part"] = UNKNOWN_VALUE
        variables.drop_below("new")
        changes = fork.take()
        assert changes == {"value_1": device("torch"), "new.part": None}
        assert variables["value_1"] == HOST_VALUE
        fork.apply(fork.merged(UNCHANGED, changes))
    assert variables["value_1"].kind == "device"
    assert "new.part" not in variables


def test_taking_a_branch_back_restores_what_it_dropped() -> None:
    variables = Variables()
    variables["a.b.c"] = HOST_VALUE
    with variables.fork() as outer:
        with variables.fork() as inner:
            variables.drop_below("a")
            assert not variables
            inner.take()
        assert set(variables) == {"a.b.c"}
        variables.drop_below("a.b")
        outer.take()
    variables.drop_below("a")
    assert not variables


def test_a_call_of_what_calls_give_evaluates_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for calls_in_a_row in (6, 12):
        asked = []
        real = calls.evaluate
        with monkeypatch.context() as patch:
            patch.setattr(calls, "evaluate", lambda f, e, r=real, a=asked: a.append(1) or r(f, e))
            source = f"import torch\ndef f(a):\n    a{'()' * calls_in_a_row}\n"
            check_source(source, "a.py", Settings())
        counts.append(len(asked))
    assert 0 < counts[1] <= 3 * counts[0]
