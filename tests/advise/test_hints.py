from __future__ import annotations

import re

import asyncguard
from asyncguard.advise import hints
from asyncguard.engine import np
from tests.records import record, site, steady


def test_a_program_without_a_framework_is_told() -> None:
    (hint,) = hints(record())
    assert "imported none of the frameworks that asyncguard knows (" in hint
    assert "torch" in hint


def test_a_program_without_steps_is_told_how_to_mark_them() -> None:
    (hint,) = hints(record(site(), frameworks={"torch": "2.13.0"}))
    assert "asyncguard.steps(loader)" in hint


def test_where_nothing_is_missing_nothing_is_said() -> None:
    assert hints(record(steady(1), step_count=11, frameworks={"torch": "2"})) == ()
    assert hints(record(frameworks={"torch": "2"})) == ()


def test_a_trace_that_was_not_to_watch_what_was_imported_says_so() -> None:
    with asyncguard.trace(frameworks=["tensorflow"]) as trace:
        np.ones(1).wait_to_read()
    (hint,) = hints(trace.record)
    assert re.match(r"The program imported .*\bengine\b.*, which this trace was not to watch", hint)
