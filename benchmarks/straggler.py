"""Is the rank that comes late named, and nobody where none does?

    python benchmarks/straggler.py [--runs 20] [-o benchmarks/results/straggler.json]

Two ranks train under DistributedDataParallel on gloo. A step takes 50 ms in which the host does not
need the CPU, as where a device computes, and what the machine takes for the rest; in half of the
runs one of the ranks, in turn, takes 5 % of a step longer (as much as a step takes here, which is
measured first). Nothing but the gradients is exchanged, and those in `backward()`, below Python.
Each run is a trace of each rank; the verdict is that of `asyncguard report`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from asyncguard.advise.ranks import merge
from asyncguard.runtime import store

STEP_S = 0.05
DELAY = 0.05  # of a step
STEPS = 100
RANKS = 2


def late_rank(run: int) -> int | None:
    """Who is late in a run: each rank in turn, and nobody in every other run."""
    return None if run % 2 else run // 2 % RANKS


def train(runs: int, folder: Path) -> None:
    """One rank: all runs, each with a trace of its own."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import asyncguard

    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=RANKS)
    layers = (torch.nn.Linear(64, 64) for _ in range(4))
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.ones(8, 64)

    def steps(number: int, delay: float) -> float:
        """So many of them; how long one took on average."""
        began = time.perf_counter()
        for _ in range(number):
            time.sleep(STEP_S + delay)
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
        return (time.perf_counter() - began) / number

    steps(5, 0)
    calibrated = torch.tensor(steps(STEPS // 2, 0))
    dist.broadcast(calibrated, 0)
    delay = DELAY * calibrated.item()
    for run in range(runs):
        with asyncguard.trace() as trace:
            steps(STEPS, delay if late_rank(run) == rank else 0)
        trace.save(str(folder / f"run{run}.rank{rank}.json"))
    dist.destroy_process_group()


def launch(runs: int, folder: Path) -> None:
    """Run all ranks as a launcher would."""
    command = [sys.executable, __file__, "--runs", str(runs), "--train", str(folder)]
    seats = [
        {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank)}
        for rank in range(RANKS)
    ]
    processes = [subprocess.Popen(command, env={**os.environ, **seat}) for seat in seats]
    ends = [process.wait() for process in processes]
    if any(ends):
        raise SystemExit("a rank failed")


def judged(runs: int, folder: Path) -> list[dict[str, object]]:
    """What a report says of each run."""
    found = []
    for run in range(runs):
        records = [store.load(folder / f"run{run}.rank{rank}.json") for rank in range(RANKS)]
        report = merge(records)
        found.append({"late": late_rank(run), "named": report.straggler, "verdict": report.verdict})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="with a late rank, and without")
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-o", type=Path, default=Path("benchmarks/results/straggler.json"))
    arguments = parser.parse_args()
    if arguments.train is not None:
        train(arguments.runs, arguments.train)
        return
    runs = 2 * arguments.runs
    with tempfile.TemporaryDirectory() as folder:
        launch(runs, Path(folder))
        found = judged(runs, Path(folder))
    right = {
        "named rightly where one was late": sum(
            row["named"] == row["late"] for row in found if row["late"] is not None
        ),
        "nobody named where none was late": sum(
            row["named"] is None for row in found if row["late"] is None
        ),
    }
    result = {
        "step_ms": STEP_S * 1000,
        "delay": DELAY,
        "steps": STEPS,
        "ranks": RANKS,
        "runs_of_each": arguments.runs,
        "load": os.getloadavg()[0],
        **right,
        "runs": found,
    }
    arguments.o.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for words, number in right.items():
        print(f"{words}: {number} of {arguments.runs}")


if __name__ == "__main__":
    main()
