"""Kineto traces: recorded by torch's profiler, and with CUDA's calls as its format has them."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.advise import kineto
from asyncguard.cli import main
from asyncguard.runtime import store
from tests.frameworks import require

torch = require("torch")

BASE = 1_700_000_000_000_000_000


def event(cat: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": ts, "dur": dur, **more}


def cuda_trace(steps: int = 4) -> dict[str, Any]:
    """A training loop that reads its loss in every step, and logs it in a library."""
    events = [
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
        event("python_function", "train.py(30): <module>", 0, 1e6),
        event("python_function", "train.py(12): main", 1, 1e6 - 2),
    ]
    for at in range(steps):
        t = 1000.0 * (at + 1)
        events += [
            event("user_annotation", f"ProfilerStep#{at}", t, 900),
            event("cpu_op", "aten::item", t + 100, 220),
            event("cpu_op", "aten::_local_scalar_dense", t + 110, 200),
            event("cuda_runtime", "cudaMemcpyAsync", t + 120, 10),
            event("cuda_runtime", "cudaStreamSynchronize", t + 130, 150),
            event("python_function", "/v/site-packages/lib/log.py(5): write", t + 500, 300),
            event("cuda_runtime", "cudaDeviceSynchronize", t + 600, 50.5),
            event("kernel", "gemm", t + 10, 100, tid="stream 7"),
        ]
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE, "traceEvents": events}


def saved(folder: Path, data: Any) -> Path:
    path = folder / "kineto.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_cudas_waits_become_a_trace(tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    assert main(["import", "kineto", str(saved(tmp_path, cuda_trace())), "-o", str(out)]) == 0
    record = store.load(out)
    item, barrier = record.sites
    assert (item.api, item.kind.value, item.count, item.cpu_stall_ns) == (
        "aten::item", "scalar", 4, 600_000,
    )  # fmt: skip
    assert (item.path, item.line, item.function) == ("train.py", 12, "main")
    assert item.callers == ("train.py:30 <module>",)
    assert (barrier.api, barrier.count, barrier.cpu_stall_ns) == (
        "cudaDeviceSynchronize", 4, 202_000,
    )  # fmt: skip
    assert barrier.library == ("/v/site-packages/lib/log.py:5 write",)
    assert (record.step_count, record.steady_steps, record.step_syncs) == (4, 3, (2, 2, 2))
    assert record.syncs_per_step == 2
    assert [e.kind for e in record.timeline].count("wait") == 8
    assert main(["report", str(out)]) == 0


def test_a_gzipped_trace_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "k.json.gz"
    path.write_bytes(gzip.compress(json.dumps(cuda_trace()).encode()))
    assert len(kineto.record(kineto.load(path), "k").sites) == 2


def test_a_trace_of_the_cpu_alone_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch.profiler.profile() as profile:
        torch.ones(3).sum().item()
    path = tmp_path / "k.json"
    profile.export_chrome_trace(str(path))
    out = tmp_path / "t.json"
    assert main(["import", "kineto", str(path), "-o", str(out)]) == 2
    assert "holds no CUDA events" in capsys.readouterr().err
    assert not out.exists()


def test_a_profile_and_a_trace_are_laid_over_each_other(tmp_path: Path) -> None:
    """The operator of a read lies within the wait that we timed: one clock for both."""
    value = torch.ones(200, 200)
    torch.profiler.profile().__enter__().__exit__(None, None, None)
    with asyncguard.trace(timeline=100) as trace, torch.profiler.profile() as profile:
        (value @ value).sum().item()
    trace.save(tmp_path / "t.json")
    profile.export_chrome_trace(str(tmp_path / "k.json"))
    merged = tmp_path / "both.json"
    arguments = ["--with-kineto", str(tmp_path / "k.json"), "-o", str(merged)]
    assert main(["report", str(tmp_path / "t.json"), *arguments]) == 0
    events = json.loads(merged.read_text())["traceEvents"]
    wait = next(e for e in events if e.get("cat") == "wait")
    item = next(e for e in events if e.get("name") == "aten::item")
    slack = 2000.0  # microseconds between the two clocks at most
    assert wait["ts"] - slack <= item["ts"]
    assert item["ts"] + item["dur"] <= wait["ts"] + wait["dur"] + slack
    assert wait["pid"] != item["pid"]
    assert wait["pid"] not in {e.get("pid") for e in events if e.get("cat") == "cpu_op"}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"traceEvents": 3}', '{"traceEvents": [3]}', '{"a":' * 100_000,
        '{"traceEvents": [], "baseTimeNanoseconds": "x"}', "\0",
        '{"traceEvents": [{"ph": "X", "ts": NaN}]}',
    ],
)  # fmt: skip
def test_what_is_no_kineto_trace_is_refused_in_one_line(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.json"
    out.write_text("before")
    assert main(["import", "kineto", str(saved(tmp_path, text)), "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert out.read_text() == "before"


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"plain", gzip.compress(b"{}" * 9, mtime=0)[:-9]])
def test_a_cut_gzip_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "k.json.gz"
    path.write_bytes(data)
    with pytest.raises(asyncguard.AsyncguardError, match="not a Kineto trace"):
        kineto.load(path)


def test_events_that_make_no_sense_are_skipped(tmp_path: Path) -> None:
    data = cuda_trace()
    strange = ({"ts": "x"}, {"dur": -1}, {"ts": 1e300}, {"name": None}, {"tid": [1]}, {"cat": {}})
    data["traceEvents"] += [
        event("cuda_runtime", "cudaDeviceSynchronize", 1, 1) | each for each in strange[:3]
    ] + [event("cpu_op", "x", 1, 1) | each for each in strange[3:]]
    found = kineto.record(kineto.load(saved(tmp_path, data)), "k")
    assert found.total_syncs == 8


def test_the_trace_says_when_it_began() -> None:
    before = time.time_ns()
    with asyncguard.trace() as trace:
        pass
    assert before <= trace.record.extra["started_ns"] <= time.time_ns()
