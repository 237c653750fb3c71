"""The Python face of a trace: start and stop, options, tables, predictions of one site."""

from __future__ import annotations

import sys
import types
from itertools import count
from typing import Any

import pytest

import asyncguard
from asyncguard.api import Trace
from asyncguard.model import AsyncguardError
from asyncguard.runtime.options import TIMELINE_EVENTS, Options
from asyncguard.runtime.session import Session
from asyncguard.runtime.simulated import present
from tests.records import record, site, steady

np = pytest.importorskip("asyncguard.engine.np", reason="NumPy is not installed")


def read() -> None:
    float(np.ones(3).sum())


def test_start_and_stop_do_as_the_block() -> None:
    trace = asyncguard.trace(frameworks=["engine"])
    with pytest.raises(RuntimeError, match="has not been started"):
        trace.stop()
    assert trace.start() is trace
    read()
    assert trace.total_syncs == 1
    assert trace.stop() is trace
    read()
    assert trace.stop().total_syncs == 1
    with pytest.raises(RuntimeError, match="already been recorded"):
        trace.start()


def test_a_timeline_without_a_number_keeps_as_much_as_the_command_line_does() -> None:
    assert Options(timeline=True).timeline_events == TIMELINE_EVENTS
    assert Options(timeline=5).timeline_events == 5
    for none in (None, 0, False):
        assert Options(timeline=none).timeline_events is None
    with asyncguard.trace(frameworks=["engine"], timeline=True) as trace:
        read()
    assert "wait" in {event.kind for event in trace.record.timeline}


@pytest.mark.parametrize(
    "fields",
    [
        {"depth": "deep"}, {"warmup": -1}, {"warmup": True}, {"timeline": -1}, {"timeline": 1.5},
        {"frameworks": ["torhc"]}, {"frameworks": 3}, {"clock": 5}, {"clock": lambda: 1.5},
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused_when_they_are_made(fields: dict[str, Any]) -> None:
    with pytest.raises(AsyncguardError, match=next(iter(fields)).removesuffix("s")):
        Options(**fields)


def test_what_fails_at_the_end_leaves_nothing_hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(frameworks=["engine"]).start()
    before = asyncguard.trace(frameworks=["engine"])
    monkeypatch.setattr(session._recorder, "stop", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        session.stop()
    from asyncguard.runtime.hub import hub
    from asyncguard.runtime.registry import registry

    assert not hub._sinks
    assert not hub.marked
    assert not registry.adapters()
    with before:
        read()
    assert before.total_syncs == 1


class Model:
    """A simulated device, as far as a session asks for one."""

    def __init__(self) -> None:
        self._ticks = count(1_000_000)

    def now(self) -> int:
        return next(self._ticks)

    def settle(self) -> None: ...

    def annotate(self, found: Any) -> Any:
        return found


def test_a_trace_goes_by_the_clock_of_the_device_that_is_simulated_where_it_starts() -> None:
    made_before = asyncguard.trace(frameworks=["engine"])
    model: Any = Model()
    present.model, restored = model, present.model
    try:
        with made_before:
            pass
    finally:
        present.model = restored
    assert 0 < made_before.record.duration_ns < 100  # ticks, not nanoseconds


def test_the_table_has_a_line_for_each_site_the_largest_figure_first() -> None:
    trace = Trace(
        record=record(
            site(path="a.py", line=1, count=2, cpu_stall_ns=900),
            site(path="b.py", line=2, count=7, cpu_stall_ns=100, gpu_stall_ns=50),
            site(path="c.py", line=3, count=4, cpu_stall_ns=500),
            step_count=2,
        )
    )

    def order(**how: Any) -> list[str]:
        return [line[:4] for line in trace.table(width=100, **how).splitlines()[1:]]

    assert order() == ["a.py", "c.py", "b.py"]
    assert order(sort_by="count") == order(sort_by="per_step") == ["b.py", "c.py", "a.py"]
    assert order(sort_by="gpu_stall")[0] == "b.py"
    assert order(sort_by="place") == ["a.py", "b.py", "c.py"]
    assert order(limit=1) == ["a.py", "and "]
    assert "3.50" in trace.table(width=100)  # waits a step at b.py
    with pytest.raises(AsyncguardError, match=r"sort_by must be one of cpu_stall, .* not 'speed'"):
        trace.table(sort_by="speed")  # type: ignore[arg-type]


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in its place whose data frame keeps the columns."""
    module = types.ModuleType("pandas")
    module.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", module)


@pytest.mark.usefixtures("pandas")
def test_a_data_frame_has_a_row_for_each_site() -> None:
    trace = Trace(record=record(site(count=4), site(line=20, count=6), step_count=2))
    frame = trace.to_pandas(sort_by="count")
    assert frame["count"] == [6, 4]
    assert frame["per_step"] == [3.0, 2.0]
    assert set(map(len, frame.values())) == {2}


def test_one_site_one_group_and_one_pair_are_predicted_as_lists_of_one() -> None:
    trace = Trace(
        record=record(
            steady(1, line=1),
            steady(1, line=2),
            step_count=11, steady_steps=10, steady_duration_ns=1_000_000,
        )
    )  # fmt: skip
    one, two = trace.sites
    assert trace.predict(remove=one) == trace.predict(remove=[one])
    assert trace.predict(batch=[one, two]) == trace.predict(batch=[[one, two]])
    assert trace.predict(every=(one, 10)) == trace.predict(every=[(one, 10)])
