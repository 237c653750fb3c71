"""Traces tell where torch.compile breaks its graphs, by what dynamo keeps."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import asyncguard
from asyncguard.model import TraceRecord
from asyncguard.runtime import graph_breaks
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.graph_breaks import GraphBreaks, Newer
from asyncguard.runtime.session import Session
from tests.frameworks import require

torch = require("torch")


@pytest.fixture
def dynamo() -> Iterator[Any]:
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    logging.disable(logging.WARNING)
    yield torch._dynamo
    logging.disable(logging.NOTSET)
    torch._dynamo.reset()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = torch.compile(function, backend="eager")
    return made


def splits(x: Any) -> Any:
    y = x.sin()
    scale = y.sum().item()
    return y * scale


def branches(x: Any) -> Any:
    if x.sum() > 0:
        return x + 1
    return x - 1


def loops(x: Any) -> Any:
    for _ in range(2):
        x = x * 2
        torch._dynamo.graph_break()
    return x


def line_of(function: Callable[..., Any], text: str) -> int:
    first = function.__code__.co_firstlineno
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(at for at in range(first, first + 9) if text in lines[at - 1])


def test_breaks_have_places_and_reasons(dynamo: Any) -> None:
    with asyncguard.trace() as trace:
        compiled(splits)(torch.ones(3))
        compiled(branches)(torch.ones(3))
        compiled(loops)(torch.ones(3))
    found = {(each["function"], each["line"], each["effect"]): each for each in trace.graph_breaks}
    assert found.keys() == {
        ("splits", line_of(splits, ".item()"), "split"),
        ("branches", line_of(branches, "if "), "split"),
        ("loops", line_of(loops, "graph_break()"), "uncompiled"),
    }
    item = found["splits", line_of(splits, ".item()"), "split"]
    assert item["path"].endswith("tests/runtime/test_graph_breaks.py")
    assert item["source"] == "scale = y.sum().item()"
    assert "item" in item["reason"]
    assert "\n" not in item["reason"]
    assert (item["count"], item["before"]) == (1, 0)


def test_each_compilation_counts_and_those_before_are_told_apart(dynamo: Any) -> None:
    function = compiled(splits)
    function(torch.ones(3))
    with asyncguard.trace() as trace:
        function(torch.ones(3))  # compiled already
    assert [(each["count"], each["before"]) for each in trace.graph_breaks] == [(0, 1)]
    with asyncguard.trace() as trace:
        function(torch.ones(4))  # compiled anew, for sizes that change
    assert [(each["count"], each["before"]) for each in trace.graph_breaks] == [(1, 1)]
    with asyncguard.trace() as trace:
        compiled(lambda x: x + 1)(torch.ones(3))
        running = trace.graph_breaks
    assert [each["count"] for each in running] == [0]
    function(torch.ones(2, 2))  # after the trace
    assert trace.graph_breaks == running


def test_what_dynamo_forgets_is_said(dynamo: Any) -> None:
    compiled(splits)(torch.ones(3))
    with asyncguard.trace() as trace:
        dynamo.reset()
        compiled(branches)(torch.ones(3))
    assert graph_breaks.LOST_NOTE in trace.record.notes
    assert [each["function"] for each in trace.graph_breaks if each["count"]] == ["branches"]
    with asyncguard.trace() as trace:
        compiled(lambda x: x + 1)(torch.ones(3))
    assert graph_breaks.LOST_NOTE not in trace.record.notes


@pytest.mark.parametrize(
    ("kept", "added", "new", "lost"),
    [
        ([], [1, 2], [1, 2], False),
        ([1, 2], [], [], False),
        ([1, 2], [3], [3], False),
        (deque([1, 2], 3), [3, 4], [3, 4], False),
        (deque([1, 2], 3), [3, 4, 5], [3, 4, 5], True),
        (deque(maxlen=3), [3, 4, 5], [3, 4, 5], True),
    ],
)
def test_what_is_new_in_lists_that_may_forget(
    kept: Any, added: list[int], new: list[int], lost: bool
) -> None:
    newer = Newer(kept)
    kept.extend(added)
    assert newer.of(kept) == (new, lost)


def test_a_list_that_was_emptied_is_noticed() -> None:
    kept = ["a", "b"]
    newer = Newer(kept)
    kept[:] = ["c"]
    assert newer.of(kept) == (["c"], True)


def made(reason: Any, *stack: tuple[str, int, str]) -> Any:
    frames = [SimpleNamespace(filename=path, lineno=line, name=name) for path, line, name in stack]
    return SimpleNamespace(reason=reason, user_stack=frames)


def test_a_break_belongs_to_the_programs_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    own, library = str(Path(__file__)), str(Path(torch.__file__))
    reasons = [
        made("why\n  Explanation:  because \n", (own, 3, "torch_dynamo_resume_in_step_at_2"),
             (library, 9, "inner")),
        made("only a library", (library, 9, "inner")),
        made("nowhere"),
        made("x" * 1000, (own, 3, "step")),
    ]  # fmt: skip
    monkeypatch.setattr(private, "kept_breaks", lambda: (reasons, []))
    breaks = GraphBreaks(str(Path(__file__).parent))
    breaks._newer = (Newer(()), Newer(()))
    record = breaks.annotate(TraceRecord((), 0, 1))
    told = [
        (each["path"], each["line"], each["function"], each["reason"], each["explanation"])
        for each in record.extra["graph_breaks"]
    ]
    assert told == [
        ("test_graph_breaks.py", 3, "step", "why", "because"),
        (library, 9, "inner", "only a library", ""),
        ("", 0, "", "nowhere", ""),
        ("test_graph_breaks.py", 3, "step", "x" * graph_breaks.LONGEST, ""),
    ]


def test_a_torch_that_does_not_tell_is_named(dynamo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["torch._dynamo.utils"], "_compilation_metrics")
    with asyncguard.trace() as trace:
        pass
    assert graph_breaks.UNTOLD_NOTE in trace.record.notes
    assert not trace.graph_breaks


def test_traces_that_do_not_watch_torch_tell_of_none(dynamo: Any) -> None:
    with Session(frameworks=["engine"]) as session:
        compiled(splits)(torch.ones(3))
    assert "graph_breaks" not in session.record().extra


def test_no_program_imports_dynamo_for_a_trace() -> None:
    code = (
        "import sys, asyncguard, torch\n"
        "with asyncguard.trace() as trace: torch.ones(2).sum().item()\n"
        "trace.to_text()\n"
        "assert not trace.graph_breaks\n"
        "assert 'torch._dynamo.utils' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reports_show_them(dynamo: Any, tmp_path: Path) -> None:
    with asyncguard.trace() as trace:
        compiled(splits)(torch.ones(3))
    path = tmp_path / "trace.json"
    trace.save(path)
    loaded = asyncguard.load_trace(path)
    assert loaded.graph_breaks == trace.graph_breaks
    where = f"test_graph_breaks.py:{line_of(splits, '.item()')} in splits"
    for text in (loaded.to_text(), reported(path, "markdown")):
        assert "1 graph break of torch.compile at 1 place (1 found during the trace" in text
        assert where in text
        assert "scale = y.sum().item()" in text
        assert "splits the graph: " in text
    told = json.loads(reported(path, "json"))["extra"]["graph_breaks"]
    assert [each["line"] for each in told] == [line_of(splits, ".item()")]


def reported(path: Path, to: str) -> str:
    command = [sys.executable, "-m", "asyncguard", "report", str(path), "--format", to]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_hostile_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with asyncguard.trace() as trace:
        pass
    trace.save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["extra"]["graph_breaks"] = [{"path": "a.py", "line": -1}]
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(asyncguard.AsyncguardError, match="graph_breaks"):
        asyncguard.load_trace(path)
