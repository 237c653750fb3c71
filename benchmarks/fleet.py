"""What a report of a fleet costs: `python benchmarks/fleet.py [--ranks N] [--sites N] [--keep]`.

As many traces as there are ranks, each with so many sites, and `asyncguard report FOLDER` in each
format, in a process of its own: CPU time, the clock on the wall, and the highest memory. With
--keep the figures go to `results/fleet.json`.
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

from asyncguard.model import SiteStats, SyncKind, TraceRecord
from asyncguard.runtime import store

FORMATS = ("text", "markdown", "json", "html")
SECONDS, MEGABYTES = 10, 500  # that a report may take
MEASURED = """\
import resource, sys, time
from asyncguard.cli import main
assert main(["report", sys.argv[1], "--format", sys.argv[2], "-o", sys.argv[3]]) == 0
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write(folder: Path, ranks: int, sites: int) -> None:
    """Write the traces of a run."""
    made = tuple(
        SiteStats(
            f"package/module{at % 10}.py", at + 1, "train", "torch.Tensor.item", "torch",
            SyncKind.SCALAR, 100, 1000 * at + 7, source="loss.item()", device="cuda:0",
            stall_histogram={at % 30: 100}, callers=("main.py:3 main", "main.py:9 <module>"),
        )
        for at in range(sites)
    )  # fmt: skip
    extra = {"rank": 0, "world_size": ranks, "host": "node", "job": "1"}
    first = folder / "first"
    store.save(TraceRecord(made, 100, 10**10, extra=extra), first)
    text = first.read_text()
    first.unlink()
    for rank in range(ranks):
        (folder / f"rank{rank}.json").write_text(text.replace('"rank": 0', f'"rank": {rank}', 1))


def measure(folder: Path, name: str) -> dict[str, float]:
    """Seconds of CPU time and on the wall, and megabytes, of one report."""
    began = time.perf_counter()
    arguments = [sys.executable, "-c", MEASURED, str(folder), name, str(folder / "report")]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - began
    cpu, megabytes = map(float, done.stdout.split())
    return {"cpu_s": round(cpu, 2), "wall_s": round(wall, 2), "megabytes": round(megabytes)}


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="keep the figures in results/")
    options = parser.parse_args()
    figures: dict[str, object] = {"ranks": options.ranks, "sites": options.sites}
    figures["cores"] = os.cpu_count()
    holds = True
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), options.ranks, options.sites)
        for each in FORMATS:
            found = figures[each] = measure(Path(name), each)
            holds &= found["cpu_s"] <= SECONDS and found["megabytes"] <= MEGABYTES
            print(
                f"{each:10} {found['cpu_s']:6} s CPU {found['wall_s']:6} s {found['megabytes']} MB"
            )
    if options.keep:
        target = Path(__file__).parent / "results" / "fleet.json"
        target.write_text(json.dumps(figures, indent=2) + "\n")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
