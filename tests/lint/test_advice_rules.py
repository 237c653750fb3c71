"""The advice rules at their edges, and their fixes on real torch: the program means the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import apply, choose
from asyncguard.model import Finding
from tests.frameworks import require

ADVICE = Settings(extend_select=("ASG203", "ASG301", "ASG302"), cache=False)
DEFAULT = Settings(cache=False)


def found(source: str, code: str, settings: Settings = ADVICE) -> list[Finding]:
    return [f for f in check_source(source, "train.py", settings) if f.code == code]


def fixed(source: str, settings: Settings = ADVICE) -> str:
    findings = check_source(source, "train.py", settings)
    return apply(source, choose(findings, unsafe=True).values())


# ---- fixes mean the same on real torch

SUM = """\
import torch
def train(model, loader, device):
    total = {start}
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        total {add}
    return total
"""
KEPT = """\
import torch
def train(model, loader, device):
    history = []
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        history.append({value})
    return [float(value) for value in history]
"""
CONSTANT = """\
import torch
def train(model, loader, device):
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        made = torch.tensor({arguments}, device=device)
    return made
"""


def run(source: str, steps: int) -> Any:
    torch = require("torch")
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(source, names)
    loader = [(torch.randn(4, 3), torch.randn(4, 2)) for _ in range(steps)]
    return names["train"](torch.nn.Linear(3, 2), loader, torch.device("cpu"))


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize(
    ("start", "add"),
    [
        ("0.0", "+= loss.item()"),
        ("0", "+= loss.item() * len(x)"),
        ("0.0", "= total + float(loss)"),
        ("0", "+= (loss > 0.5).sum().item()"),
        ("3", "+= loss.detach().item() / 2"),
        ("0.0", "+= (loss * 2).item()"),
    ],
)
def test_a_sum_on_the_device_is_the_same_number(start: str, add: str, steps: int) -> None:
    before = SUM.format(start=start, add=add)
    after = fixed(before)
    assert after != before
    assert found(after, "ASG102") == []
    expected, got = run(before, steps), run(after, steps)
    assert got == expected  # bit for bit: both sum in double precision
    if steps:  # a loop without steps makes 0.0 of a start of 0
        assert type(got) is type(expected)


@pytest.mark.parametrize("value", ["loss", "loss * 2", "-loss", "loss.mean() / len(x)"])
def test_what_is_kept_without_its_graph_is_the_same_number(value: str) -> None:
    before = KEPT.format(value=value)
    after = fixed(before)
    assert ".detach()" in after
    assert run(after, 3) == run(before, 3)


@pytest.mark.parametrize(
    "arguments",
    ["0.", "0", "1.0", "1", "-0.0", "2.5", "-3", "0, dtype=torch.float16", "1, dtype=torch.bool",
     "7, dtype=torch.int8", "0.0, requires_grad=True", "1.5, dtype=torch.float64", "True",
     "float('inf')", "torch.finfo(torch.float16).min", "len(x)", "-2.5e-3", "[0.0]", "[1]"],
)  # fmt: skip
def test_a_constant_made_on_the_device_is_the_same_tensor(arguments: str) -> None:
    torch = require("torch")
    before = CONSTANT.format(arguments=arguments)
    after = fixed(before)
    assert "torch.tensor" not in after
    expected, got = run(before, 1), run(after, 1)
    assert (got.dtype, got.shape, got.requires_grad) == (
        expected.dtype,
        expected.shape,
        expected.requires_grad,
    )
    assert torch.equal(got, expected)
    assert str(got) == str(expected)  # -0.0 stays negative


@pytest.mark.parametrize("arguments", ["value", "0.0, pin_memory=True", "float(value)", "*value"])
def test_other_uploads_are_left_to_the_reader(arguments: str) -> None:
    source = CONSTANT.format(arguments=arguments)
    assert fixed(source) == source


# ---- edges

LOOP = """\
import torch
def train(model, loader, optimizer):
    {before}
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        optimizer.step()
{body}
    return total
"""


def loop(body: str, before: str = "total = 0.0") -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return LOOP.format(before=before, body=lines)


@pytest.mark.parametrize(
    "body",
    [
        "total += loss.item()\nprint(total)",
        "total += loss.item()\nbar.set_postfix(total / step)",
        "value = loss.item()\ntotal += value",
        "total += loss.item() if step else 0.0",
        "total *= loss.item()",
        "total += max(loss.item(), 1.0)",
    ],
)
def test_no_host_sum(body: str) -> None:
    assert found(loop(body), "ASG302") == []


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("total += loss.item()", "total = start()"),
        ("total += loss.item()", "global total\n    total = 0.0"),
        ("total.append(loss.item())", "total = start()"),
    ],
)
def test_a_host_sum_that_only_a_reader_can_move(body: str, before: str) -> None:
    source = loop(body, before)
    assert len(found(source, "ASG302")) == 1
    assert fixed(source) == source


def test_the_read_goes_behind_the_whole_loop() -> None:
    source = loop("total += loss.item()\nif x:\n    pass\n\n# done").replace("return", "yield")
    after = fixed(source)
    assert after.index("total = float(total)") > after.index("pass")
    assert after.splitlines()[-1].strip() == "yield total"


def test_a_rule_that_is_off_lends_its_advice_and_its_fix() -> None:
    (plain,) = found(loop("total += loss.item()"), "ASG102", DEFAULT)
    assert "`total`" in plain.advice
    assert plain.fix is not None
    assert not plain.fix.safe
    assert found(loop("total += loss.item()"), "ASG302", DEFAULT) == []


@pytest.mark.parametrize(
    ("between", "count"),
    [("", 1), ("loss = loss * float(a)", 0), ("x = 3", 1), ("if x:\n    y = float(loss)", 1)],
)
def test_reads_of_values_that_exist_at_the_first(between: str, count: int) -> None:
    source = loop(f"a = float(loss)\n{between}\nb = float(loss.abs())")
    assert len(found(source, "ASG301")) == count


def test_what_one_call_reads_is_batched_where_it_is_read() -> None:
    helper = "def log(loss: torch.Tensor):\n    print(loss.item())\n    save(loss.mean().item())\n"
    source = helper + loop("log(loss)")
    assert [f.line for f in found(source, "ASG301")] == [2]


def test_the_other_lines_are_named() -> None:
    (finding,) = found(
        loop("a = loss.item()\nb = loss.mean().item()\nc = y.mean().item()"), "ASG301"
    )
    assert (finding.line, "line 9" in finding.message) == (8, True)


@pytest.mark.parametrize(
    "body",
    [
        "total = []\ntotal.append(loss)",
        "total.append(loss)\ntotal.clear()",
        "total += loss.detach()",
        "total += loss.item()",
        "total += torch.argmax(loss)",
        "loss = float(loss)\ntotal += loss",
        "with torch.no_grad():\n    total += loss",
        "def later():\n    total.append(loss)",
        "n = len(x)\nloss = loss * n\ntotal += n",
        "loss = loss * weight\ntotal += weight",
        "n = x.count\nloss /= n\ntotal += n",
        "total += loss\ntotal.backward()",
    ],
)
def test_no_graph_is_kept(body: str) -> None:
    assert found(loop(body), "ASG403") == []


def test_a_bounded_queue_forgets() -> None:
    assert found(loop("total.append(loss)", "total = deque(maxlen=9)"), "ASG403") == []


CLOCK = """\
import time
import torch
def measure(model, x):
    start = time.time()
    {first}
    {second}
    return time.time() - start
"""


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("y = model(x)", "pass", 1),
        ("y = model(x)", "print(y)", 0),
        ("y = model(x)", "my_synchronize()", 0),
        ("y = model(x)", "evaluate(y)", 0),
        ("print(x)", "y = model(x)", 1),
        ("y = model(x)", "x = 3", 1),
        ("y = model(x)", "start = time.time()", 0),
        ("for x, y in torch.utils.data.DataLoader(x): model(x).sum().backward()", "pass", 0),
    ],
)
def test_clocks(first: str, second: str, count: int) -> None:
    assert len(found(CLOCK.format(first=first, second=second), "ASG402", DEFAULT)) == count


@pytest.mark.parametrize(
    "body",
    [
        "value = loss.item()\nif step % 9 == 0:\n    print(value)\nprint(value)",
        "value = loss.item()\nloss = loss * 2\nif step % 9 == 0:\n    print(value)",
        "value = loss.item()\nif step % 9 == value:\n    print(value)",
        "value = loss.item(); x = 1\nif step % 9 == 0:\n    print(value)",
        "value = loss.item()\nif step > x:\n    print(value)",
        "value = other = loss.item()\nif step % 9 == 0:\n    print(value)",
    ],
)
def test_a_read_that_cannot_move_into_the_log_gate(body: str) -> None:
    source = loop(body)
    assert fixed(source) == source


# ---- notebooks


def test_a_notebook_is_checked_and_places_name_the_cell(tmp_path: Path) -> None:
    source = loop("total += loss.item()")
    cells = [
        {"cell_type": "markdown", "source": ["# Train"]},
        {"cell_type": "code", "source": "%matplotlib inline\nimport torch"},
        {"cell_type": "code", "source": source.partition("\n")[2]},
    ]
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}}))
    (finding,) = check_paths([path], DEFAULT).findings
    assert (finding.code, finding.cell, finding.line) == ("ASG102", 3, 7)
    assert finding.fix is not None


def test_times_that_are_added_up_measure_more_than_one_enqueue() -> None:
    source = """
import time
import torch
def train(model: torch.nn.Module, x: torch.Tensor):
    total = 0.0
    for step in range(100):
        start = time.time()
        model(x)
        total {} time.time() - start
"""
    codes = [
        {f.code for f in check_source(source.format(sign), "a.py", Settings(cache=False))}
        for sign in ("=", "+=")
    ]
    assert [("ASG402" in found) for found in codes] == [True, False]
