"""benchmarks/truth: what is seen of a package's lines, and how it is joined with findings."""

from __future__ import annotations

import hashlib
import importlib
import json
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchmarks.truth import audit, cases, joined, labels, table, truth  # noqa: E402
from benchmarks.truth.collector import Collector, Own  # noqa: E402
from benchmarks.truth.drivers import optimizers, programs  # noqa: E402

SOURCE = """\
import torch

def train(device, steps=3):
    weight = torch.ones(4, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for step in range(steps):
        loss = (weight * 2).sum()
        loss.backward()
        optimizer.step()
        text = f"{loss.item():.1f}" + str(float(loss)) + str(loss.shape)
        kept = torch.ones(2).sum().item()
    loss = loss.item()
    return loss if steps else torch.ones(1, device=device).item()

def stop(device):
    value = torch.ones(1, device=device)
    if value.is_cuda:
        raise RuntimeError("no such\\nthing")
    return value

def differ(device):
    return 1.0 if device == "cpu" else 2.0

def branch(device, by=1e-9):
    values = torch.linspace(0, 1, 5, device=device)
    if values.is_cuda:
        values = values + by
    return [values, "done"]

def unfit(device):
    raise ValueError(device)

def ask(device):
    value = torch.ones(1, device=device)
    if value < 0:
        return 1
    elif value > 0 and value:
        return 2
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("foreign")
    del sys.modules["foreign"]


def seen(package: Any, name: str, seconds: int = 60, *, needs_cpu: bool = True) -> dict[str, Any]:
    asked = {"foreign/__init__.py": range(1, 99)}
    collector = Collector(Own([Path(package.__file__).parent]), asked)
    run = getattr(package, name)
    return cases.examine(run, collector, seconds, needs_cpu=needs_cpu)


def test_lines_waits_and_steps_of_a_package_are_counted(package: Any) -> None:
    found = seen(package, "train")
    assert (found["outcome"], found["steps"], found["faults"]) == ("same", 3, [])
    assert found["enqueued"] > 0
    lines = dict(found["lines"]["foreign/__init__.py"])
    assert (lines[4], lines[7], lines[12]) == (1, 3, 1)
    assert 17 not in lines
    waits = {tuple(row[:5]): row[5:] for row in found["waits"]}
    row = SOURCE.splitlines()[9]
    at = row.index("loss.item()") + 1
    if sys.version_info >= (3, 11):
        place = ("foreign/__init__.py", 10, at, 10, at + len("loss.item()"))
        assert waits[place] == [True, "torch.Tensor.item", "scalar", 3, 3]
        assert [place[1] for place in waits] == [10, 10, 12]
    assert sum(row[-2] for row in found["waits"]) == 7
    assert [row[1] for row in found["host"]] == [11]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python keeps no columns")
def test_a_truth_belongs_to_the_test_and_not_to_all_of_the_if(package: Any) -> None:
    waits = seen(package, "ask")["waits"]
    rows = SOURCE.splitlines()
    asked = [rows[line - 1][column - 1 : end - 1] for _, line, column, _, end, *_ in waits]
    assert sorted(asked) == ["value", "value < 0", "value > 0"]


def test_a_case_ends_in_one_of_several_ways(package: Any) -> None:
    stopped = seen(package, "stop")
    assert stopped["outcome"] == "stopped"
    assert stopped["reason"].startswith("RuntimeError: no such thing [")
    assert stopped["reason"].endswith("[__init__.py:18]")
    assert seen(package, "differ")["outcome"] == "differs"
    assert seen(package, "unfit")["outcome"] == "unfit"
    assert seen(package, "unfit", needs_cpu=False)["outcome"] == "unfit"
    assert "lines" not in seen(package, "unfit")
    package.differ = lambda device: object() if device == "cuda" else unfit(device)
    assert seen(package, "differ", needs_cpu=False)["outcome"] == "alone"
    package.count = iter(range(9))
    package.differ = lambda device: next(package.count)
    assert seen(package, "differ")["outcome"] == "random"


def test_a_package_may_compute_in_other_lines_on_a_device(package: Any) -> None:
    assert seen(package, "branch")["outcome"] == "branches"
    package.branch.__defaults__ = (0.5,)
    assert seen(package, "branch")["outcome"] == "differs"


def test_torch_may_compute_in_other_lines_on_a_device(package: Any) -> None:
    """As its optimizers do, which take many parameters at once there."""
    with torch.random.fork_rng():
        weights = torch.randn(64)
    package.branch = lambda device: _updated(weights, device)
    assert seen(package, "branch")["outcome"] in ("branches", "same")
    package.branch = lambda device: torch.ones(3) + (device == "cuda") * 1e-6
    assert seen(package, "branch")["outcome"] == "differs"


def _updated(weights: Any, device: str) -> Any:
    parts = [part.clone().to(device).requires_grad_() for part in weights.split(16)]
    optimizer = torch.optim.NAdam(parts, lr=0.1, weight_decay=0.01)
    for _ in range(3):
        sum((part**2).sum() for part in parts).backward()
        optimizer.step()
    return parts


def unfit(device: str) -> object:
    raise ValueError(device)


def spin() -> None:
    while True:
        pass


def test_the_limit_of_a_case_is_in_cpu_time() -> None:
    with pytest.raises(cases.OutOfTime), cases.limited(0.02):
        spin()
    with cases.limited(5):
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def finding(code: str, line: int, column: int, end_column: int) -> dict[str, Any]:
    return {
        "path": "foreign/__init__.py", "code": code, "line": line, "column": column,
        "end_line": line, "end_column": end_column, "confidence": "medium",
    }  # fmt: skip


def test_findings_and_waits_are_joined_by_expression(package: Any) -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 12):  # packages are run on 3.11
        pytest.skip("Python 3.10 keeps no columns, and 3.13 traces instructions otherwise")
    row = SOURCE.splitlines()[9]
    item = row.index("loss.item()") + 1
    branch = SOURCE.splitlines()[12]
    untaken = branch.index("torch.ones") + 1
    shape = row.index("str(loss.shape)") + 1
    found = [
        finding("ASG102", 10, item, item + 11),
        finding("ASG101", 10, shape, shape + 15),
        finding("ASG102", 11, 16, 42),
        finding("ASG104", 17, 8, 21),
        finding("ASG102", 12, 12, 23),
        finding("ASG301", 10, item, item + 11),
        finding("ASG102", 13, untaken, len(branch) + 1),
        finding("ASG102", 13, branch.index("steps") + 1, branch.index("steps") + 6),
    ]
    record = joined.record([{"case": "train", **seen(package, "train")}], found)
    verdicts = [row[-1] for row in record["files"]["foreign/__init__.py"]["findings"]]
    assert verdicts == ["repeated", "false", "host", "unseen", "confirmed", "unseen", "false"]
    (missed,) = record["missed"]
    assert missed[:2] == ["foreign/__init__.py", 10]
    assert row[missed[2] - 1 : missed[4] - 1] == "float(loss)"
    totals = record["totals"]
    assert (totals["waiting_lines"], totals["missed_repeated"], totals["waits"]) == (2, 1, 7)
    assert (table.precision(totals), table.recall(totals)) == (0.4, 0.5)
    assert table.row({"package": "foreign", "half": "dev", "totals": totals}).count("|") == 14
    assert "loss" not in json.dumps(record)


def test_what_was_never_on_the_device_says_nothing(package: Any) -> None:
    package.differ = lambda device: package.train("cpu")
    record = joined.record([{"case": "cpu", **seen(package, "differ")}], [])
    assert record["totals"]["executed_lines"] == 0
    assert record["totals"]["outcomes"] == {"same": 1}


def test_a_run_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    on_device = {"on_device": True}
    rows = [
        {"begin": "a"}, on_device, {"case": "a", "outcome": "same"}, {"begin": "b"}, on_device,
        {"begin": "c"},
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    output.write_text(text + '{"case": "c", "outc')
    shard = truth.Shard(Path(sys.executable), {"share": [0, 1]}, output)
    assert [(row["case"], row["outcome"]) for row in shard.rows()] == [
        ("a", "same"),
        ("b", "killed"),
        ("c", "unfit"),
    ]


def test_a_third_of_the_packages_is_the_test_half() -> None:
    assert truth.half("timm") == "test"
    assert truth.half("transformers") == "dev"


def test_programs_are_the_public_functions_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.ModuleType("benchmarks.truth.programs.some")
    exec("def run(device): return device\ndef _help(device): ...\ndef more(a, b): ...", vars(made))
    vars(made)["CASES"] = {"other": len}
    monkeypatch.setitem(sys.modules, made.__name__, made)
    found = programs.cases(file="some")
    assert list(found) == ["run", "other"]
    assert found["run"]("cpu") == "cpu"


def test_optimizers_take_their_steps() -> None:
    found = optimizers.cases(module="torch.optim", without=["LBFGS", "SparseAdam"])
    assert {"SGD", "Adam", "Adagrad weight_decay foreach"} <= set(found)
    losses = found["Adam"]("cpu")[:3]
    assert losses[2] < losses[0]


def test_runs_are_held_against_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    known = {
        "complete": True,
        "site": [
            {"line": 1, "code": "ASG102"},
            {"line": 2, "code": "ASG104"},
            {"line": 9, "code": "ASG102"},
        ],
        "negative": [{"line": 3}, {"line": 4}],
    }
    digest = hashlib.sha256(b"x = 1\n").hexdigest()
    monkeypatch.setattr(labels, "by_source", lambda: {digest: known})
    waits = [[line, 1, line, 9, True, "item", "scalar", 1, 1, 0] for line in (1, 4, 5)]
    ran = {"lines": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "waits": waits}
    record = {"package": "foreign", "files": {"foreign/a.py": ran, "foreign/b.py": ran}}
    found = labels.compared([record], {"foreign": [folder]})
    assert found.files == 1
    assert found.agreed == {"waits": 1, "does not wait": 1}
    assert [each[2:] for each in found.disagreements] == [
        (2, "waits", ""),
        (4, "does not wait", "item"),
        (5, "", "item"),
    ]


def test_lines_to_audit_are_the_same_for_a_seed() -> None:
    wait = [2, 1, 2, 9, True, "item", "scalar", 1, 1, 0]
    files = {"a.py": {"lines": [1, 4, 1, 3, 5, 1], "waits": [wait]}, "b.py": {}}
    record = {"package": "foreign", "files": files}
    drawn = audit.drawn([record], seed=1, each=1)
    assert drawn == audit.drawn([record], seed=1, each=1)
    assert drawn[0] == ("foreign", "a.py", 2, ("item",))
    assert (drawn[1].line in (1, 7), drawn[1].apis) == (True, ())
