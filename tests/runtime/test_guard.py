"""What limits count, and what they do: by kind, API and device; warnings; a whole process."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard import SyncLimitExceeded, SyncLimitWarning, allow_syncs, forbid_syncs, limit_syncs
from asyncguard.model import SyncKind

np = pytest.importorskip("asyncguard.engine.np", reason="NumPy is not installed")


def scalar() -> float:
    return float(np.ones(3).sum())


def array() -> Any:
    return np.ones(3).asnumpy()


def waits_too_often(block: Callable[[], Any], limit: limit_syncs) -> bool:
    try:
        with limit:
            block()
    except SyncLimitExceeded:
        return True
    return False


@pytest.mark.parametrize(
    ("which", "scalars", "arrays"),
    [
        ({}, True, True),
        ({"kinds": {"scalar"}}, True, False),
        ({"kinds": "array"}, False, True),
        ({"kinds": [SyncKind.ARRAY, "scalar"]}, True, True),
        ({"kinds": ()}, False, False),
        ({"apis": "engine.ndarray.asnumpy"}, False, True),
        ({"apis": ["engine.ndarray.__float__", "torch.*"]}, True, False),
        ({"apis": "engine.*"}, True, True),
        ({"device": "cpu"}, True, True),
        ({"device": "cuda"}, False, False),
        ({"device": "cp"}, False, False),
        ({"device": "cpu:1"}, False, False),
        ({"kinds": {"scalar"}, "device": "cuda"}, False, False),
    ],
    ids=str,
)
def test_a_limit_counts_what_it_names(which: dict[str, Any], scalars: bool, arrays: bool) -> None:
    assert waits_too_often(scalar, forbid_syncs(**which)) is scalars
    assert waits_too_often(array, forbid_syncs(**which)) is arrays
    assert waits_too_often(scalar, limit_syncs(1, **which)) is False
    decorated = limit_syncs(0, **which)(scalar)
    assert waits_too_often(decorated, limit_syncs(9)) is scalars


@pytest.mark.parametrize(
    ("which", "named"),
    [
        ({"kinds": {"scalars"}}, "unknown 'scalars'; one of array, barrier"),
        ({"apis": "engine.ndarray.as_numpy"}, "no 'engine.ndarray.as_numpy'"),
        ({"apis": "torhc.*"}, "no 'torhc"),
        ({"on": "ignore"}, "on must be 'raise' or 'warn', not 'ignore'"),
    ],
)
def test_what_a_limit_can_never_meet_is_refused(which: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        forbid_syncs(**which)


def test_a_limit_that_warns_lets_the_program_go_on_and_warns_once_a_line() -> None:
    with warnings.catch_warnings(record=True) as caught, limit_syncs(1, on="warn"):
        warnings.simplefilter("default")
        for _ in range(5):
            scalar()
        array()
    assert [each.category for each in caught] == [SyncLimitWarning] * 2
    assert {each.filename for each in caught} == {__file__}
    lines = [Path(__file__).read_text().splitlines()[each.lineno - 1] for each in caught]
    assert [line.strip() for line in lines] == [
        "return float(np.ones(3).sum())",
        "return np.ones(3).asnumpy()",
    ]
    assert "at most 1 allowed" in str(caught[0].message)


def test_an_inner_limit_holds_within_what_an_outer_block_allows() -> None:
    with allow_syncs("logging"):
        with pytest.raises(SyncLimitExceeded), forbid_syncs():
            scalar()
        scalar()
    with forbid_syncs(), allow_syncs("logging"):
        scalar()


def test_a_class_is_no_function_to_limit() -> None:
    with pytest.raises(TypeError, match="above the methods of Model"):

        @forbid_syncs()
        class Model: ...


PROGRAM = """
import threading, warnings
import asyncguard
from asyncguard.engine import np

def read():
    print("read", float(np.ones(2).sum()))

thread = threading.Thread(target=read)
with asyncguard.allow_syncs("meant"):
    read()
thread.start()
thread.join()
with asyncguard.forbid_syncs():
    read()
print("end")
"""


def under(value: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "ASYNCGUARD_GUARD": value},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_variable_guards_the_whole_process() -> None:
    warned = under("warn")
    assert warned.stdout.count("read 2.0") == 3
    assert warned.stdout.endswith("end\n")
    assert warned.stderr.count("SyncLimitWarning") == 2  # the limit's own, once
    assert warned.returncode == 0
    raised = under("raise")
    assert raised.stdout == "read 2.0\n"
    assert raised.stderr.count("SyncLimitExceeded: <string>:") == 2  # in the thread, and at the end
    assert raised.returncode == 1
    wrong = under("yes")
    assert wrong.stderr == "asyncguard: ASYNCGUARD_GUARD must be 'warn' or 'raise', not 'yes'\n"
    assert (wrong.stdout, wrong.returncode) == ("", 2)


def test_the_variable_decides_for_limits_that_do_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forbid_syncs().on == "raise"
    monkeypatch.setenv("ASYNCGUARD_GUARD", "warn")
    assert forbid_syncs().on == limit_syncs(2, per="step").on == "warn"
    assert asyncguard.limit_syncs(2, on="raise").on == "raise"
