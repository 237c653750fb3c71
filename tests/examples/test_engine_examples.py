"""Every script about the reference engine runs and prints what it promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_cost_model_prints_predictions_beside_totals_for_each_workload() -> None:
    out = run("engine_cost_model", "0.05")
    for line in (r"t1 enqueue .* us, t2 execute .* us, t3 return", r"n\(t1 \+ t2 \+ t3\) .* ms",
                 r"t1 \+ n t2 \+ t3 .* ms, measured with one wait"):  # fmt: skip
        assert len(re.findall(line, out)) == 3, out
    assert "500 x 500 dot, n = 2" in out


def test_wait_to_read_leaves_the_intermediate_result_pending() -> None:
    assert run("engine_barriers").splitlines() == [
        "wait_to_read returned with 1 operation still pending",
        "waitall returned with 0 operations pending",
    ]


def test_the_pictures_are_written(tmp_path: Path) -> None:
    out = run("engine_pictures", str(tmp_path))
    assert "[[3. 3.]]" in out
    assert '[shape=box, label="multiply"' in (tmp_path / "graph.dot").read_text()
    assert json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]


def test_a_queue_limit_bounds_the_pending_bytes() -> None:
    lines = run("engine_memory", "30").splitlines()
    peaks = [float(re.search(r": ([\d.]+) MiB", line)[1]) for line in lines]  # type: ignore[index]
    assert len(peaks) == 3
    assert peaks[2] <= 4.0


def test_cpu_torch_against_the_engine() -> None:
    pytest.importorskip("torch")
    out = run("engine_torch_cpu", "200")
    assert re.fullmatch(r"(?:(?:engine|torch on cpu): returned after \d+% of [\d.]+ sec\n){2}", out)
