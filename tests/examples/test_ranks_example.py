"""The example of many ranks: run as its docstring says, it names the straggler."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests import warm
from tests.frameworks import require

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCRIPT = EXAMPLES / "ranks_straggler.py"


def python(*arguments: object, folder: Path) -> str:
    done = subprocess.run(
        [*warm.python("torch"), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHON_EXEC": warm.executable("torch"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_ranks_under_torchrun_name_the_straggler(tmp_path: Path) -> None:
    require("torch")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    torchrun += ["--local-addr", "127.0.0.1"]
    traced = ["-m", "asyncguard", "run", "-o", "straggler.json", str(SCRIPT)]
    out = python(*torchrun, *traced, folder=tmp_path)
    # Both write to one pipe, unbuffered: the ends of their lines may come together.
    ranks = re.findall(r"rank (\d): mean 1\.000 after 10 steps", out)
    assert sorted(ranks) == ["0", "1"]
    traces = sorted(path.name for path in tmp_path.glob("straggler*.json"))
    assert traces == ["straggler.rank0.json", "straggler.rank1.json"]
    report = python("-m", "asyncguard", "report", *traces, folder=tmp_path)
    assert "Rank 1 came last" in report
    assert re.search(
        r"^ *[\d.]+ [mun]?s  10 x torch\.distributed\.all_reduce \(collective\)",
        report,
        re.MULTILINE,
    )


def test_the_script_is_in_the_table() -> None:
    assert f"`{SCRIPT.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
