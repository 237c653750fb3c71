"""The graph and the timeline of a recorded stretch, and the cost model."""

from __future__ import annotations

import itertools
import json
import shutil
import sys

import pytest

from asyncguard import engine
from asyncguard.engine import costmodel, np, pictures


@pytest.fixture(scope="module")
def recording() -> pictures.Recording:
    with engine.ThreadedEngine() as threaded, engine.use(threaded):
        x, y = np.ones((1, 2)), np.ones((1, 2))
        engine.waitall()
        with pictures.Recording() as recorded:
            z = x * y + 2
            z += 1
            z.wait_to_read()
    return recorded


def test_the_graph_of_x_times_y_plus_2(recording: pictures.Recording) -> None:
    first, second, third = (event.serial for event in recording.enqueues)
    edges = [
        line.strip(" ;") for line in pictures.dot_graph(recording).splitlines() if "->" in line
    ]
    assert edges == [
        f"v1_1 -> op{first}",
        f"v2_1 -> op{first}",
        f"op{first} -> v3_1",
        f"v3_1 -> op{second}",
        f"op{second} -> v4_1",
        f"v4_1 -> op{third}",
        f"op{third} -> v4_2",
    ]
    assert [event.name for event in recording.enqueues] == ["multiply", "add", "add"]
    assert f'op{first} [shape=box, label="multiply"' in pictures.dot_graph(recording)


def test_the_graph_is_drawn_where_dot_is_installed(recording: pictures.Recording) -> None:
    pytest.importorskip("graphviz")
    if shutil.which("dot") is None:
        pytest.skip("the dot program is not installed")
    svg = pictures.svg_graph(recording)
    assert "<svg" in svg
    assert "multiply" in svg


def test_a_missing_dot_program_is_named(
    recording: pictures.Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="`dot` program"):
        pictures.svg_graph(recording)


def test_a_missing_graphviz_package_is_named(
    recording: pictures.Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(RuntimeError, match="pip install graphviz"):
        pictures.svg_graph(recording)


def test_the_timeline_has_tracks_slices_and_arrows(recording: pictures.Recording) -> None:
    events = json.loads(pictures.timeline(recording))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    assert any(name.startswith("frontend") for name in names.values())
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in slices} == set(names)
    assert sorted(event["name"] for event in slices) == [
        "add",
        "add",
        "engine.ndarray.wait_to_read",
        "enqueue add",
        "enqueue add",
        "enqueue multiply",
        "multiply",
    ]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in slices)
    arrows = [(event["ph"], event["id"]) for event in events if event["ph"] in "sf"]
    serials = [event.serial for event in recording.enqueues]
    assert sorted(arrows) == sorted(itertools.product("sf", serials))


def test_an_empty_recording_gives_empty_pictures() -> None:
    with pictures.Recording() as nothing:
        pass
    assert json.loads(pictures.timeline(nothing))["traceEvents"] == []
    assert "->" not in pictures.dot_graph(nothing)


def model(t1: float, t2: float) -> costmodel.CostModel:
    return costmodel.CostModel("test", 10, t1, t2, 0.5, 99.0, 98.0)


def test_the_formulas_of_the_chapter() -> None:
    slow_worker = model(1.0, 4.0)
    assert slow_worker.synchronous == 55.0
    assert slow_worker.asynchronous == 41.5
    assert slow_worker.worker_is_bottleneck
    slow_frontend = model(4.0, 1.0)
    assert not slow_frontend.worker_is_bottleneck
    assert slow_frontend.frontend_bound == 41.5
    assert slow_frontend.serial == 50.5


def test_the_report_says_what_happens_where_the_assumption_fails() -> None:
    assert "holds, the worker is the bottleneck" in costmodel.report(model(1.0, 4.0))
    failing = costmodel.report(model(4.0, 1.0))
    assert "fails, the frontend is the bottleneck" in failing
    assert "n t1 + t2 + t3 = 41,500.00 ms" in failing


def test_measure_reads_all_times_from_the_clock_that_it_is_given() -> None:
    """On the naive engine everything happens in one thread, and the clock ticks once a look."""
    ticks = itertools.count(step=1000)
    with engine.NaiveEngine() as naive, engine.use(naive):
        x = np.ones(2)
        measured = costmodel.measure(lambda: x + 1, 3, name="x + 1", clock=lambda: next(ticks))
    assert (measured.name, measured.n) == ("x + 1", 3)
    assert (measured.t1, measured.t2) == (1e-6, 1e-6)
    assert (measured.measured_synchronous, measured.measured_asynchronous) == (1e-6, 1e-6)
    with pytest.raises(ValueError, match="at least 1"):
        costmodel.measure(lambda: None, 0)
