"""Is a simulated trace the same on every run? `python benchmarks/sim_gate.py [--runs N] [--keep]`.

1. A training script runs ten times under `asyncguard run --sim cuda --timeline`, each in a process
   of its own: the traces must be equal but for their headers.
2. The script is traced N times (200) in this process and gated against its first trace, which must
   pass every time; and N times with one `.item()` added, which must fail every time.

With --keep the figures go to `results/sim_gate.json`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import torch

import asyncguard
from asyncguard.gate import baseline, compare
from asyncguard.model import TraceRecord

PLACE = Path(__file__).parent / "results" / "sim_gate.json"
HEADER = {"command", "extra", "created", "asyncguard_version"}
PROCESSES, RUNS = 10, 200
SCRIPT = """\
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    optimizer.zero_grad()
    x = torch.randn(16, 32).to("cuda")
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        print(f"{loss:.4f}")
    kept = x[x > 0]
"""
ADDED = SCRIPT + "    loss.item()\n"


def in_a_process(folder: Path, number: int) -> dict[str, Any]:
    """The trace of one run, without its header."""
    target = folder / f"{number}.json"
    options = ["--sim", "cuda", "--timeline", "-q", "-o", str(target)]
    command = [sys.executable, "-m", "asyncguard", "run", *options, str(folder / "train.py")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    data = json.loads(target.read_text())
    return {name: value for name, value in data.items() if name not in HEADER}


def equal_traces(runs: int) -> bool:
    """Whether all runs give one and the same trace."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(SCRIPT)
        traces = [in_a_process(folder, number) for number in range(runs)]
    return all(trace == traces[0] for trace in traces)


def trace(program: CodeType) -> TraceRecord:
    """One run in this process."""
    with asyncguard.simulate_cuda(), asyncguard.trace() as traced:
        exec(program, {"__name__": "__main__", "print": str})
    return traced.record


def failures(text: str, runs: int) -> Iterator[bool]:
    """Whether the gate fails, run by run, against one trace of the unchanged script."""
    accepted = baseline.of_traces([trace(compile(SCRIPT, "train.py", "exec"))])
    program = compile(text, "train.py", "exec")
    for _ in range(runs):
        yield bool(compare.grown_sites([trace(program)], accepted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each script at the gate")
    parser.add_argument("--keep", action="store_true", help="write the figures to results/")
    arguments = parser.parse_args()
    figures = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "torch": torch.__version__,
        "processes": PROCESSES,
        "equal": equal_traces(PROCESSES),
        "runs": arguments.runs,
        "failed_unchanged": sum(failures(SCRIPT, arguments.runs)),
        "failed_with_one_item": sum(failures(ADDED, arguments.runs)),
    }
    print(json.dumps(figures, indent=1))
    if arguments.keep:
        PLACE.write_text(json.dumps(figures, indent=1) + "\n")
    good = figures["equal"] and not figures["failed_unchanged"]
    return 0 if good and figures["failed_with_one_item"] == arguments.runs else 1


if __name__ == "__main__":
    sys.exit(main())
