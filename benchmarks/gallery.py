#!/usr/bin/env python3
"""Each pair of programs of examples/gallery, before and after: waits, stall, and outputs.

    python benchmarks/gallery.py [--rounds N] [--keep] [NAME...]

Programs of torch run on the simulated H200: waits are a GPU's, times are modelled and the same on
every machine. Those of MXNet and JAX run on the CPU, which is asynchronous there: their times are
measured in one thread of OpenMP, the median of the rounds, before and after in turn. Waits and
stall are those of the whole run, the read at the end included, over its steps. Pairs whose
framework is missing here are left out, and with --keep stay in results/gallery.json as they are
(torch and MXNet need NumPy < 2, JAX NumPy >= 2: run it in both environments).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from asyncguard.runtime import store
from asyncguard.tune.outputs import compare

HERE = Path(__file__).parent
PAIRS = HERE.parent / "examples" / "gallery"
RESULTS = HERE / "results" / "gallery.json"
SIDES = ("before", "after")
FRAMEWORKS = ("torch", "mxnet", "jax")


class Run(NamedTuple):
    """One run of a program: what it printed, and what its trace holds."""

    output: str
    steps: int
    waits: int
    stall_ns: int
    device: str
    basis: str
    version: str


def names() -> list[str]:
    """Return the pairs, those of torch first."""
    found = sorted(path.parent.name for path in PAIRS.glob("*/before.py"))
    return sorted(found, key=lambda name: FRAMEWORKS.index(framework(name)))


def framework(name: str) -> str:
    """Return which framework a pair is of: the one that its source names."""
    source = (PAIRS / name / "before.py").read_text(encoding="utf-8")
    return next(each for each in FRAMEWORKS if f"import {each}" in source or f"_{each}()" in source)


def run(name: str, side: str, folder: Path, python: Sequence[str] = (sys.executable,)) -> Run:
    """Run one program under the trace; raises CalledProcessError if it fails."""
    of = framework(name)
    trace = folder / f"{name}.{side}.json"
    simulated = ["--sim", "cuda:h200"] if of == "torch" else []
    command = [*python, "-m", "asyncguard", "run", "--quiet", *simulated, "-o", str(trace)]
    script = PAIRS / name / f"{side}.py"
    done = subprocess.run(
        [*command, str(script)], cwd=HERE.parent, env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    record = store.load(trace)
    stall = sum(site.cpu_stall_ns for site in record.sites)
    return Run(
        done.stdout, record.step_count, record.total_syncs, stall, record.device, record.basis,
        record.frameworks[of],
    )  # fmt: skip


def figures(runs: Sequence[Run]) -> dict[str, float]:
    """Return the figures of some runs of one program: counts of one, the median of the times."""
    first = runs[0]
    return {
        "steps": first.steps,
        "waits_per_step": round(first.waits / first.steps, 3),
        "stall_us_per_step": round(statistics.median(r.stall_ns / r.steps for r in runs) / 1e3, 1),
    }


def measure(name: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Return what one pair did; raises SystemExit where the programs print different results."""
    runs: dict[str, list[Run]] = {side: [] for side in SIDES}
    for _ in range(1 if framework(name) == "torch" else rounds):
        for side in SIDES:
            runs[side].append(run(name, side, folder))
    first, second = (runs[side][0] for side in SIDES)
    told = compare(first.output, second.output)
    if not told.equal:
        raise SystemExit(f"{name}: the programs print different results: {told.first}")
    return {
        "framework": framework(name),
        "version": first.version,
        "device": first.device,
        "basis": first.basis,
        "date": datetime.now(timezone.utc).date().isoformat(),
        **{side: figures(runs[side]) for side in SIDES},
        "largest_difference": told.difference,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pairs (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of a program that is timed")
    parser.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    kept: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or names():
            if importlib.util.find_spec(framework(name)) is None:
                print(f"{name}: left out, {framework(name)} is not installed")
                continue
            kept[name] = measure(name, options.rounds, Path(folder))
            told = [
                f"{kept[name][side]['waits_per_step']:.2f} waits, "
                f"{kept[name][side]['stall_us_per_step']:.1f} us a step"
                for side in SIDES
            ]
            print(f"{name}: {' -> '.join(told)}, outputs equal", flush=True)
            if options.keep:
                ordered = {each: kept[each] for each in names() if each in kept}
                RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
