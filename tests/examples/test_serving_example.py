"""The example of a serving engine: one read for all keeps the budget, one for each does not."""

from __future__ import annotations

import asyncio
import runpy
import subprocess
from pathlib import Path

import pytest

import asyncguard
from tests import warm
from tests.frameworks import require

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCRIPT = EXAMPLES / "serving_engine.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    require("torch")
    return subprocess.run(
        [*warm.python("torch"), str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def line_of(text: str) -> int:
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


def test_one_read_for_all_requests_keeps_the_budget() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    served, turns, requests = done.stdout.splitlines()
    assert served.startswith("12 requests, ")
    assert (turns, requests) == ("1.00 waits a turn", "0 waits in the requests' own tasks")


def test_a_read_for_each_request_goes_over_it_and_says_where() -> None:
    done = run("--naive")
    place = f"serving_engine.py:{line_of('.item() if made')}"
    assert done.returncode == 1
    assert done.stderr.startswith("over the budget: ")
    assert len(done.stderr.splitlines()) == 1
    assert f"{place} torch.Tensor.item x2" in done.stderr
    assert "at most 1 allowed a token; 2 waits in this token" in done.stderr


def test_answers_do_not_depend_on_who_shares_the_batch() -> None:
    require("torch")
    engine = runpy.run_path(str(SCRIPT))
    with asyncguard.simulate_cuda():
        crowded = asyncio.run(engine["serve"](9, 3))
        alone = asyncio.run(engine["serve"](9, 1))
        with pytest.raises(asyncguard.SyncLimitExceeded):
            asyncio.run(engine["serve"](9, 3, naive=True))
    assert crowded == alone
    assert len({len(answer) for answer in crowded}) > 1


def test_the_script_is_in_the_table() -> None:
    assert f"`{SCRIPT.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
