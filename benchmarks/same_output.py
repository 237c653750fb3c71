"""Whether programs do the same under a trace: `python benchmarks/same_output.py [NAME...]`.

Runs each program of `programs/`, which drive models, trainers and scripts of other people, twice
without and once with `asyncguard run`, and compares what they print, bit for bit, and the exit
status. A program that prints something else each time by itself is told of and does not count.
Those whose framework is not installed are left out. With --keep the outcome goes to
`results/same_output.json`, with the date, beside that of other environments. Exit status 1: one
differs.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
RESULTS = HERE / "results" / "same_output.json"
LIMIT = 600  # seconds for one run


class Ran(NamedTuple):
    """What one run has shown of itself."""

    status: int
    output: str
    error: str  # the last line, where it ended by an exception


def run(program: Path, *around: str) -> Ran:
    """Run a program in a fresh interpreter."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(PROGRAMS), str(HERE.parent)]),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }
    done = subprocess.run(
        [sys.executable, *around, str(program)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
    )
    lines = done.stderr.strip().splitlines()
    return Ran(done.returncode, done.stdout, lines[-1] if done.returncode and lines else "")


def compare(program: Path) -> dict[str, object]:
    """One program's outcome."""
    bare, again = run(program), run(program)
    if bare.status and "ModuleNotFoundError" in bare.error:
        return {"outcome": "left out", "why": bare.error}
    if bare != again:
        return {"outcome": "not repeatable by itself"}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        traced = run(program, "-m", "asyncguard", "run", "--quiet", "-o", str(trace))
        record = json.loads(trace.read_text()) if trace.exists() else {}
    waits = sum(site["count"] for site in record.get("sites", ()))
    return {
        "outcome": "same" if traced == bare else "differs",
        "date": datetime.date.today().isoformat(),
        "exit_status": bare.status,
        "output_lines": len(bare.output.splitlines()),
        "output_sha256": hashlib.sha256(bare.output.encode()).hexdigest(),
        "waits_traced": waits,
    }


def main() -> int:
    """Compare all, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="programs to run; none: all")
    parser.add_argument("--keep", action="store_true", help="keep the outcome in results/")
    options = parser.parse_args()
    names = options.names or sorted(p.stem for p in PROGRAMS.glob("*.py") if p.stem != "digest")
    found = {}
    for name in names:
        found[name] = compare(PROGRAMS / f"{name}.py")
        print(f"{name:30} {found[name]}", flush=True)
        if options.keep and found[name]["outcome"] != "left out":
            before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            kept = {**before, name: found[name]}
            RESULTS.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")
    return int(any(each["outcome"] == "differs" for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
