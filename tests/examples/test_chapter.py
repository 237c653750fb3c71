"""Every script of the chapter runs and prints what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def run(name: str, *arguments: str) -> str:
    require(NEEDS[name])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_known_here_and_in_the_table() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py") if not path.stem.startswith("engine_")}
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
    assert re.search(r"^line 19: mxnet\.\S+ waited \d+ us$", out, re.MULTILINE), out


def test_conversions_name_each_wait() -> None:
    out = run("conversions")
    assert re.search(rf"^line 19: mxnet\S+asnumpy waited {SECONDS}$", out, re.MULTILINE), out
    assert re.search(rf"^line 23: mxnet\S+item waited {SECONDS}$", out, re.MULTILINE), out


def test_memory_is_reported_with_and_without_a_sync() -> None:
    out = run("minibatch_memory", "5")
    assert len(re.findall(r"^increased memory: \d+ MB$", out, re.MULTILINE)) == 2


def test_the_loss_is_the_same_read_each_batch_or_once() -> None:
    out = run("loss_each_batch")
    each, once = re.findall(r"^mean loss (\S+), (\d+) reads in (\d+) steps$", out, re.MULTILINE)
    assert float(each[0]) == pytest.approx(float(once[0]), rel=1e-4)
    assert each[1:] == ("64", "64")
    assert once[1:] == ("1", "64")
