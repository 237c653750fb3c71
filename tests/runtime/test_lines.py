"""Which lines of the user's own files ran."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime import lines
from asyncguard.runtime.session import Session
from tests.records import record

HERE = "tests/runtime/test_lines.py"


def ran(record: TraceRecord) -> set[int]:
    """The lines of this file, counted from each function's first."""
    return set(record.extra["lines"][HERE])


def branch(x: int) -> str:
    if x:
        return "yes"
    return "no"


FIRST = branch.__code__.co_firstlineno


def test_lines_that_ran_are_told_from_those_that_did_not() -> None:
    with Session(frameworks=[], lines=True) as session:
        branch(1)
    assert {FIRST + 1, FIRST + 2} <= ran(session.record())
    assert FIRST + 3 not in ran(session.record())


def test_lines_of_threads_count_and_those_of_libraries_do_not() -> None:
    with Session(frameworks=[], lines=True) as session:
        thread = threading.Thread(target=branch, args=(0,))
        thread.start()
        thread.join()
    assert FIRST + 3 in ran(session.record())
    assert not any("threading" in path for path in session.record().extra["lines"])


def test_the_function_that_starts_the_trace_goes_on_being_watched() -> None:
    with Session(frameworks=[], lines=True) as session:
        number = sys._getframe().f_lineno
    assert number in ran(session.record())


def test_nothing_is_left_behind() -> None:
    with Session(frameworks=[], lines=True) as session:
        pass
    branch(1)
    assert sys.gettrace() is None
    assert threading.gettrace() is None
    assert FIRST + 1 not in session.record().extra["lines"].get(HERE, [])


def test_without_the_option_nothing_is_recorded() -> None:
    with Session(frameworks=[]) as session:
        branch(1)
    assert lines.KEY not in session.record().extra


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has room for several")
def test_a_debugger_keeps_its_place() -> None:
    def debugger(*_: object) -> None:
        return None

    sys.settrace(debugger)
    try:
        with Session(frameworks=[], lines=True) as session:
            branch(1)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(None)
    assert lines.TAKEN in session.record().notes
    assert lines.KEY not in session.record().extra


def test_a_tool_that_is_there_is_named_in_the_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines.Lines(str(Path.cwd()))
    monkeypatch.setattr(found, "_trace", lambda: None)
    monkeypatch.setattr(found, "_monitor", lambda: None)
    found.start()
    found.stop()
    assert found.annotate(record()).notes[-1] == lines.TAKEN
