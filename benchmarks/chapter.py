"""The chapter's experiments on this machine, for docs/why.md: the best of several rounds of each.

    python benchmarks/chapter.py        # writes benchmarks/results/chapter.json, chapter_*.json

Runs scripts of examples/ (MXNet and NumPy), and records two timelines on the reference engine: six
operations with a wait after each, and with one wait for all. The documentation draws what is
committed.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy

from asyncguard import engine
from asyncguard.engine import np
from asyncguard.engine.pictures import Recording, timeline

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
SCRIPTS = ("benchmark_mxnet", "increments", "barriers", "conversions")
ROUNDS = 7
TIMED = re.compile(r"^(.*): ([\d.]+) sec$", re.MULTILINE)


def best(script: str) -> dict[str, float]:
    """Return the shortest time of each timed part of a script, in seconds."""
    found: dict[str, float] = {}
    command = [sys.executable, str(ROOT / "examples" / f"{script}.py")]
    for _ in range(ROUNDS):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for label, seconds in TIMED.findall(done.stdout):
            found[label] = min(float(seconds), found.get(label, float("inf")))
    return found


def recorded(wait_each: bool) -> str:
    """Return the timeline of six products on the engine, waited for one by one or all at once."""
    x = np.array(numpy.random.default_rng(0).normal(size=(300, 300)))
    np.dot(x, x)  # starts the worker
    engine.waitall()
    with Recording() as recording:
        for _ in range(6):
            y = np.dot(x, x)
            if wait_each:
                y.wait_to_read()
        y.wait_to_read()
    return timeline(recording)


def shortest(wait_each: bool) -> list[dict[str, object]]:
    """Return the shortest of several such timelines, without the places in this file."""
    rounds = [json.loads(recorded(wait_each))["traceEvents"] for _ in range(ROUNDS)]
    events = min(rounds, key=lambda found: max(e["ts"] + e.get("dur", 0) for e in found))
    return [{k: v for k, v in event.items() if k != "args"} for event in events if "dur" in event]


def main() -> None:
    """Measure, and write the results."""
    result = {
        "machine": {
            "date": date.today().isoformat(),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "numpy": numpy.__version__,
            "mxnet": version("mxnet"),
            "rounds": ROUNDS,
        },
        "seconds": {script: best(script) for script in SCRIPTS},
    }
    (RESULTS / "chapter.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, wait_each in (("each", True), ("one", False)):
        text = json.dumps(shortest(wait_each), indent=1)
        (RESULTS / f"chapter_{name}.json").write_text(f"{text}\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
