"""The work to analyse a function grows in proportion to its sites, whatever their shape."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from types import FrameType, ModuleType

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.contexts.variables import UNCHANGED, Variables
from asyncguard.lint.domain.values import HOST_VALUE, UNKNOWN_VALUE, device
from asyncguard.lint.interpret import calls
from asyncguard.lint.run.settings import Settings

SMALL, LARGE = 60, 240
PROPORTION = LARGE / SMALL * 1.05


def _shapes() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "lint_scaling.py"
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
    """Check a source, repairs included; return how many functions were called and resumed."""
    check_source(source, "train.py", SETTINGS)  # once before: names are classified once
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    threading.setprofile(note)  # the analysis runs in a thread of its own
    sys.setprofile(note)
    try:
        check_source(source, "train.py", SETTINGS)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return count


# Repairs ask the analysis of effects of each site, whose groups of names grow with the function.
FASTER_THAN_THE_SITES = {"reads", "sums", "one sum", "own sums", "entries", "display"}


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(
            shape,
            marks=pytest.mark.xfail(
                shape in FASTER_THAN_THE_SITES, reason="the analysis of effects", strict=False
            ),
        )
        for shape in SHAPES
    ],
)
def test_the_work_is_in_proportion_to_the_sites(shape: str) -> None:
    few, many = calls_of(SHAPES[shape](SMALL)), calls_of(SHAPES[shape](LARGE))
    assert many < few * PROPORTION


def test_nested_periods_are_not_run_again_for_each_level() -> None:
    assert calls_of(SHAPES["nested"](20)) < 1_000_000  # twice as much with each level, else


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
