"""Files as somebody else may hand them over: real ones, changed in a few places.

Each target draws such a file, hands it to the command line and returns whether it was taken. Only
two things may happen: exit status 2 with one line on stderr, or a result that is right. Anything
else (an exception, a traceback, several lines, a wrong status) raises. `tests/test_fuzz.py` runs a
few hundred examples of each, `benchmarks/fuzz.py` as many as one likes.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from hypothesis import strategies as st

from asyncguard import catalogue
from asyncguard.catalogue import CatalogueError
from asyncguard.cli import main
from asyncguard.gate import baseline
from asyncguard.lint.run.settings import load_settings
from asyncguard.model import CallPath, TimelineEvent, TraceRecord
from asyncguard.runtime import store
from tests.records import finding, record, site, steady

ROOT = Path(__file__).parent.parent
DEEP = 100_000
STRANGE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.floats(),
    st.sampled_from([
        2**31, 2**53, 2**63, 10**400, -1, 0, 1e308, float("inf"), float("nan"), "", "\0", "\x1b[2J",
        "\ud800", "[red]", "../../etc/passwd", "a" * 10_000, "\u202e", "%s{0}", [], {}, [[]],
        {"": None}, [None] * 50,
    ]),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip
TOML = st.sampled_from([
    "3", "-1", "true", '""', '"x"', '"ASG102"', "[]", "[1]", '["a"]', "{}", "{ a = 1 }", "inf",
    "1979-05-27", '"\\u0000"', '"\\u001b"', "9" * 5000, "[" * DEEP, "[[[]]]", '"["', '"**"', "",
    "=", '{ "*" = ["ALL"] }', '["ALL"]', '["*"]', "nan", '["scalar-conversion"]',
])  # fmt: skip
HOT = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
CONFIGURATION = """\
[tool.asyncguard]
select = ["ASG1", "truth-test"]
extend-select = ["ASG301"]
ignore = ["ASG107"]
exclude = ["third_party/*"]
extend-exclude = ["old"]
force-exclude = true
respect-gitignore = false
per-file-ignores = { "tests/*" = ["ASG102", "ALL"] }
contexts = ["step", "epoch"]
guarded = true
min-confidence = "low"
assume-device = "accelerator"
jobs = 2
cache = false
cache-dir = ".cache"
"""


class Target(NamedTuple):
    """How to draw a file, and what to do with it in an empty folder: whether it was taken."""

    strategy: st.SearchStrategy[bytes]
    run: Callable[[bytes, Path], bool]


# ---- drawing


@st.composite
def mutated_json(draw: st.DrawFn, originals: list[Any]) -> bytes:
    data = copy.deepcopy(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 3))):
        data = _changed(draw, data)
    return draw(mutated_text(json.dumps(data, indent=1)))


def _changed(draw: st.DrawFn, data: Any) -> Any:
    """Return the data with one value replaced, taken away, doubled or added, at any depth."""
    if not isinstance(data, (dict, list)) or not data or draw(st.integers(0, 9)) == 0:
        return _strange(draw)
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    key = draw(st.sampled_from(keys))
    change = draw(st.sampled_from(["go down"] * 5 + ["replace", "delete", "add"]))
    if change == "delete":
        del data[key]
    elif change == "add" and isinstance(data, list):
        data.append(copy.deepcopy(data[key]))
    elif change == "add":
        data[draw(st.text(max_size=5))] = _strange(draw)
    else:
        data[key] = _changed(draw, data[key]) if change == "go down" else _strange(draw)
    return data


def _strange(draw: st.DrawFn) -> Any:
    """Return a strange value of its own, which later changes may change in place."""
    return copy.deepcopy(draw(STRANGE))


@st.composite
def mutated_text(draw: st.DrawFn, text: str) -> bytes:
    """The text in most cases; else cut, with bytes put in, or nested deeply."""
    data = text.encode("utf-8", "backslashreplace")
    change = draw(st.sampled_from(["none"] * 7 + ["cut", "insert", "nest"]))
    at = draw(st.integers(0, len(data)))
    if change == "cut":
        return data[:at]
    if change == "insert":
        return data[:at] + draw(st.binary(max_size=8)) + data[at:]
    if change == "nest":
        return data[:at] + b'{"a":[' * DEEP + data[at:]
    return data


@st.composite
def mutated_toml(draw: st.DrawFn, originals: list[str]) -> bytes:
    lines = draw(st.sampled_from(originals)).splitlines()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["value"] * 5 + ["key", "delete", "double", "move"]))
        key, separator, _ = lines[at].partition("=")
        if change == "value" and separator:
            lines[at] = f"{key}= {draw(TOML)}"
        elif change == "key" and separator:
            lines[at] = lines[at].replace(key.strip(), draw(st.sampled_from(["x", "''", "a.b"])), 1)
        elif change == "double":
            lines.insert(at, lines[at])
        elif change in ("delete", "move") and len(lines) > 1:
            line = lines.pop(at)
            lines += [line] if change == "move" else []
    return draw(mutated_text("\n".join(lines) + "\n"))


# ---- running


def command(*arguments: str) -> tuple[int, str]:
    """Run one command; returns its status and output, or raises for an answer that is not one."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    text = err.getvalue()
    if status == 2:
        assert re.fullmatch(r"asyncguard: [^\n]+\n", text), text
        assert out.getvalue() == ""
    else:
        assert status in (0, 1), status
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), text
    return status, out.getvalue()


TRACE = record(
    steady(2, steps=10, callers=("main.py:1 <module>",), library=("lib.py:8 f",),
           paths=(CallPath(("main.py:1 <module>",), 15, 900, ("lib.py:8 f",)),
                  CallPath((), 5, 9)), device="cuda:0",
           first_step=0, last_step=9, stall_histogram={7: 10}, thread="MainThread"),
    site(line=20, function="log", api="torch.Tensor.tolist", allowed="every 100", gpu_stall_ns=3),
    step_count=11, steady_steps=10, steady_duration_ns=10**7, step_syncs=(2,) * 10,
    command="train.py", root="/nowhere", frameworks={"torch": "2.13.0"}, notes=("a note",),
)  # fmt: skip
TRACES = [
    *(
        json.loads(path.read_bytes())
        for path in sorted((ROOT / "tests/runtime/data").glob("*.json"))
    ),
    store.to_json(TRACE),
    store.to_json(TraceRecord(TRACE.sites, 11, 10**7, extra={"rank": 0, "world_size": 2})),
]
FORMATS = ("text", "json", "markdown", "perfetto", "speedscope", "folded")


def run_trace(data: bytes, folder: Path) -> bool:
    """Report it in each format and gate it; what was taken is saved and loaded unchanged."""
    path = folder / "trace.json"
    path.write_bytes(data)
    accepted = folder / "baseline.json"
    baseline.save(baseline.Baseline({}, baseline.of_traces([TRACE])), accepted)
    statuses = [command("report", "--format", name, str(path))[0] for name in FORMATS]
    status, _ = command("gate", "--baseline", str(accepted), str(path))
    taken = statuses[0] == 0
    assert taken == (status in (0, 1))
    if taken:
        loaded = store.load(path)
        store.save(loaded, folder / "again.json")
        assert store.load(folder / "again.json") == loaded
    return taken


def run_baseline(data: bytes, folder: Path) -> bool:
    """Gate the trace with it; what was taken is saved and loaded unchanged."""
    store.save(TRACE, folder / "trace.json")
    path = folder / "baseline.json"
    path.write_bytes(data)
    arguments = ("gate", "--baseline", str(path), str(folder / "trace.json"))
    status, _ = command(*arguments)
    if status == 2:
        return False
    loaded = baseline.load(path)
    baseline.save(loaded, path)
    assert baseline.load(path) == loaded
    assert command(*arguments)[0] == status
    return True


def run_configuration(data: bytes, folder: Path) -> bool:
    """Check a file under it; what was taken is shown as a configuration that says the same."""
    (folder / "pyproject.toml").write_bytes(data)
    (folder / "a.py").write_text("x = 1\n")
    with mock.patch("os.cpu_count", return_value=1):
        status, _ = command("check", "--no-cache", str(folder / "a.py"))
    if status == 2:
        return False
    _, shown = command("check", "--show-settings", str(folder / "a.py"))
    before = load_settings(folder)
    if before.source != folder / "pyproject.toml":
        return False
    (folder / "pyproject.toml").unlink()
    (folder / "asyncguard.toml").write_text(shown, encoding="utf-8")
    after = load_settings(folder)
    assert vars(after) | {"source": 0} == vars(before) | {"source": 0}
    return True


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": "# title"},
        {"cell_type": "code", "source": HOT.splitlines(keepends=True), "outputs": []},
        {"cell_type": "code", "source": "%time x = 1\nprint(x)  # asyncguard: ignore[ASG102]"},
    ],
    "metadata": {"kernelspec": {"language": "python"}, "language_info": {"name": "python"}},
    "nbformat": 4,
}


def run_notebook(data: bytes, folder: Path) -> bool:
    """Check it: what cannot be read as a notebook is a finding, never an error."""
    (folder / "n.ipynb").write_bytes(data)
    shown = [
        command("check", "--no-cache", "--output-format", name, str(folder))
        for name in ("json", "text", "markdown")
    ]
    assert len({status for status, _ in shown}) == 1
    found = json.loads(shown[0][1])
    assert (shown[0][0] == 1) == bool(found)
    assert not any("could not be analysed" in each["message"] for each in found)
    return all(each["code"] != "ASG000" for each in found)


def run_catalogue(data: bytes, folder: Path) -> bool:
    """Load it as a rules file of its own."""
    (folder / "toy.toml").write_bytes(data)
    try:
        loaded = catalogue.load_directory(folder)
    except CatalogueError as error:
        message = str(error)
    else:
        assert all(point.id and point.framework in loaded.frameworks for point in loaded)
        return True
    assert str(folder) in message
    return False


def _baselines() -> list[Any]:
    accepted = baseline.Baseline(
        baseline.of_findings([finding(), finding(code="ASG103")]), baseline.of_traces([TRACE])
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "b.json")
        baseline.save(accepted, path)
        whole = json.loads(path.read_bytes())
    return [whole, whole | {"findings": None}]


def kineto_trace() -> dict[str, Any]:
    """Two steps, each with a wait of CUDA's under an operator and frames of Python's."""
    times = (
        ("python_function", "train.py(3): main", 0, 900),
        ("user_annotation", "ProfilerStep#0", 1, 300),
        ("cpu_op", "aten::item", 10, 50), ("cuda_runtime", "cudaStreamSynchronize", 20, 30),
        ("user_annotation", "ProfilerStep#1", 400, 300),
        ("cuda_runtime", "cudaDeviceSynchronize", 500, 9.5),
    )  # fmt: skip
    events = [
        {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": dur}
        for cat, name, at, dur in times
    ]
    return {"baseTimeNanoseconds": 10**18, "traceEvents": [*events, {"ph": "M", "pid": 1}]}


def run_kineto(data: bytes, folder: Path) -> bool:
    """Import it, and lay a trace over it: what is refused leaves everything as it was."""
    path, out = folder / "kineto.json", folder / "trace.json"
    path.write_bytes(data)
    out.write_text("before")
    status, _ = command("import", "kineto", str(path), "-o", str(out))
    taken = status == 0
    if taken:
        loaded = store.load(out)
        command("report", "--format", "text", str(out))
        store.save(loaded, folder / "again.json")
        assert store.load(folder / "again.json") == loaded
    else:
        assert out.read_text() == "before"
    store.save(TIMED, folder / "timed.json")
    merged = ("report", str(folder / "timed.json"), "--with-kineto", str(path))
    status, text = command(*merged)
    assert status == 2 or json.loads(text)["traceEvents"]
    return taken


TIMED = TraceRecord(
    TRACE.sites, 11, 10**7, extra={"started_ns": 10**18},
    timeline=(TimelineEvent("wait", "torch.Tensor.item", 1, 2, "MainThread", 0),),
)  # fmt: skip


def run_fleet(data: bytes, folder: Path) -> bool:
    """Put it beside a whole trace, in each format that shows many."""
    store.save(TRACE, folder / "a.json")
    (folder / "b.json").write_bytes(data)
    every = [str(folder / "a.json")] * 9 + [str(folder / "b.json")]
    statuses = [command("report", "--format", name, *every)[0] for name in ("text", "json")]
    assert len(set(statuses)) == 1
    return statuses[0] == 0


RULES = [
    (ROOT / "rules" / f"{name}.toml").read_text(encoding="utf-8")
    for name in ("engine", "cupy", "numpy", "python")
]
TARGETS: Mapping[str, Target] = {
    "traces": Target(mutated_json(TRACES), run_trace),
    "kineto": Target(mutated_json([kineto_trace()]), run_kineto),
    "fleet": Target(mutated_json(TRACES), run_fleet),
    "baselines": Target(mutated_json(_baselines()), run_baseline),
    "configuration": Target(mutated_toml([CONFIGURATION]), run_configuration),
    "notebooks": Target(mutated_json([NOTEBOOK]), run_notebook),
    "catalogue": Target(mutated_toml(RULES), run_catalogue),
}


def run(name: str, data: bytes) -> bool:
    """Run one example of a target in a folder of its own; returns whether the file was taken."""
    with tempfile.TemporaryDirectory() as folder:
        return TARGETS[name].run(data, Path(folder).resolve())
