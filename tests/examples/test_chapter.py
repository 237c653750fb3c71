"""Every script of the chapter runs and prints what it promises."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests import warm
from tests.frameworks import require

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NEEDS = {
    "benchmark_mxnet": "mxnet",
    "benchmark_torch": "torch",
    "multiply_add": "mxnet",
    "barriers": "mxnet",
    "conversions": "mxnet",
    "increments": "mxnet",
    "minibatch_memory": "mxnet",
    "loss_each_batch": "mxnet",
}
SECONDS = r"\d+\.\d{4} sec"


def line_of(name: str, text: str) -> int:
    """The line of a script that holds `text`."""
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.strip() == text)


def run(name: str, *arguments: str) -> str:
    require(NEEDS[name])
    done = subprocess.run(
        [
            *warm.python(warm.MXNET if NEEDS[name] == "mxnet" else "torch"),
            str(EXAMPLES / f"{name}.py"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_known_here_and_in_the_table() -> None:
    elsewhere = ("engine_", "ranks_", "ray_", "agent_", "serving_")  # not of the chapter
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if not path.stem.startswith(elsewhere)}
    assert scripts == NEEDS.keys()
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in table for name in NEEDS)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("benchmark_mxnet", ["numpy", "mxnet.np, enqueued", "mxnet.np, finished"]),
        ("benchmark_torch", ["numpy", "torch on cpu, not synchronised"]),
        ("barriers", ["waitall", "wait_to_read", "waitall, with another result pending"]),
        ("conversions", ["numpy conversion", "scalar conversion"]),
    ],
)  # fmt: skip
def test_timed_scripts_print_a_time_for_each_case(name: str, lines: list[str]) -> None:
    out = run(name)
    for line in lines:
        assert re.search(rf"^{re.escape(line)}: {SECONDS}$", out, re.MULTILINE), out


def test_increments_are_timed_both_ways() -> None:
    out = run("increments", "500")
    assert re.search(rf"^synchronous, 500 waits: {SECONDS}$", out, re.MULTILINE)
    assert re.search(rf"^asynchronous, one wait: {SECONDS}$", out, re.MULTILINE)


def test_multiply_add_prints_the_value_and_who_waited() -> None:
    out = run("multiply_add")
    assert "[[3. 3.]]" in out
    line = line_of("multiply_add", "print(z)")
    assert re.search(rf"^line {line}: mxnet\.\S+ waited \d+ us$", out, re.MULTILINE), out


@pytest.mark.parametrize(("text", "api"), [("b.asnumpy()", "asnumpy"), ("b.sum().item()", "item")])
def test_conversions_name_each_wait(text: str, api: str) -> None:
    out = run("conversions")
    line = line_of("conversions", text)
    assert re.search(rf"^line {line}: mxnet\S+{api} waited {SECONDS}$", out, re.MULTILINE), out


def test_memory_grows_only_without_a_sync_each_mini_batch() -> None:
    found = re.findall(r"^increased memory: (\d+) MB$", run("minibatch_memory", "12"), re.MULTILINE)
    bounded, unbounded = map(int, found)
    assert bounded < unbounded


def test_the_loss_is_the_same_read_each_batch_or_once() -> None:
    out = run("loss_each_batch")
    each, once = re.findall(r"^mean loss (\S+), (\d+) reads in (\d+) steps$", out, re.MULTILINE)
    assert float(each[0]) == pytest.approx(float(once[0]), rel=1e-4)
    assert each[1:] == ("64", "64")
    assert once[1:] == ("1", "64")
