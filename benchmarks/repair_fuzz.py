#!/usr/bin/env python3
"""Random training loops, run before and after their repairs: ten thousand, once.

    python benchmarks/repair_fuzz.py [--framework torch|mxnet|jax] [--programs N] [--seed S]
        [--show N] [--write]

Draws N programs (default 10,000) of `tests/repairs/loops.py`, repairs each with `--fix` and with
`--fix --unsafe-fixes`, and runs them in this process: torch on a simulated device, MXNet and JAX as
they are. Prints how many programs and repairs of each text there were, and how many programs do
something else: after safe repairs anything at all, after unsafe ones what their texts do not say;
the first of them are shown. `--write` adds the counts to benchmarks/results/repair_fuzz.json, under
the framework and the seed; runs of other seeds stay there, so that a run may be made in parts.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import platform
import random
import re
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.repairs import loops, same

RESULTS = Path(__file__).parent / "results" / "repair_fuzz.json"


class Run:
    """The counts of one run, and the programs that do something else."""

    def __init__(self) -> None:
        self.programs = 0
        self.repaired: Counter[str] = Counter()  # programs, by "safe" and "unsafe"
        self.repairs: dict[str, Counter[str]] = {"safe": Counter(), "unsafe": Counter()}
        self.ends: Counter[str] = Counter()
        self.different: dict[str, list[same.Difference]] = {"safe": [], "unsafe": []}

    def examine(self, source: str) -> None:
        """Count what comes of one program."""
        self.programs += 1
        for done, safe, difference in same.compare(source):
            grade = "safe" if safe else "unsafe"
            self.repaired[grade] += 1
            self.ends[done.end.partition(":")[0]] += safe
            self.repairs[grade].update(map(_family, dict.fromkeys(f.message for f in done.fixes)))
            if difference is not None:
                self.different[grade].append(difference)

    def result(self, framework: str) -> dict[str, Any]:
        """Return the counts as they are kept."""
        return {
            "date": datetime.date.today().isoformat(),
            "python": platform.python_version(),
            framework: metadata.version(framework),
            "programs": self.programs,
            "programs with repairs": dict(self.repaired),
            "ends of programs with safe repairs": dict(self.ends.most_common()),
            "violations": {grade: len(found) for grade, found in self.different.items()},
            "repairs": {grade: dict(found.most_common()) for grade, found in self.repairs.items()},
        }


def _family(message: str) -> str:
    """Return the text of a repair without what it names."""
    return re.sub(r"`[^`]*`", "...", re.sub(r"\d+", "n", message))


def run(framework: str, programs: int, start: int) -> Run:
    """Draw programs from a seed and examine each."""
    found = Run()
    sources = loops.drawn(framework, programs, start)
    with same.device_of(framework):
        gc.freeze()  # what is imported is searched for cycles once, and not after each check
        for source in sources:
            found.examine(source)
    return found


def main() -> int:
    """Run, print and keep; return 1 if a program did something else."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", choices=loops.FRAMEWORKS, default="torch")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    print(f"{arguments.framework}: seed {arguments.seed}", flush=True)
    found = run(arguments.framework, arguments.programs, arguments.seed)
    for grade, different in found.different.items():
        for difference in different[: arguments.show]:
            print(f"---- {grade}\n{difference}\n")
    result = found.result(arguments.framework)
    print(json.dumps(result, indent=1))
    if arguments.write:
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        kept.setdefault(arguments.framework, {})[str(arguments.seed)] = result
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(any(found.different.values()))


if __name__ == "__main__":
    sys.exit(main())
