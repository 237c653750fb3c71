#!/usr/bin/env python3
"""Many mutated files, for a night: traces, baselines, configurations, notebooks, rules files.

    python benchmarks/fuzz.py [--examples N] [--write] [TARGET...]

Each target runs N examples (default 100,000) of `tests/fuzz.py`, from a new seed each time, which
is printed: `--seed` repeats it. The first example that is neither refused in one line nor
understood ends the run with status 1, reduced to the smallest that still fails. `--write` keeps the
counts in benchmarks/results/fuzz.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests import fuzz

RESULTS = Path(__file__).parent / "results" / "fuzz.json"


def run(name: str, examples: int, start: int) -> dict[str, Any]:
    """Run one target; returns how many files were taken and refused, and the seconds."""
    counts = {True: 0, False: 0}

    @seed(start)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def examine(data: st.DataObject) -> None:
        counts[fuzz.run(name, data.draw(fuzz.TARGETS[name].strategy))] += 1

    began = time.perf_counter()
    examine()
    seconds = round(time.perf_counter() - began, 1)
    return {"understood": counts[True], "refused": counts[False], "seconds": seconds, "seed": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", metavar="TARGET", nargs="*", default=[])
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    figures = {}
    for name in arguments.targets or fuzz.TARGETS:
        print(f"{name}: seed {arguments.seed}", flush=True)
        figures[name] = run(name, arguments.examples, arguments.seed)
        print(f"{name}: {figures[name]}", flush=True)
    if arguments.write:
        before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        today = {"date": datetime.date.today().isoformat()}
        kept = before | {name: today | counts for name, counts in figures.items()}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
