#!/usr/bin/env python3
"""What libcst's own parser would cost the linter, against the nodes that it builds from `ast`.

    python benchmarks/parsers.py --sources DIR [--only WHEEL ...]

DIR holds unpacked wheels. Each is checked cold by one process, with the time that goes into nodes
taken apart. Then libcst parses the text of each function that got a tree, each text once, without
looking for positions and without what stands outside of functions: the least that it would cost.
Figures are seconds of CPU; `ruff check --select ALL --no-cache` runs beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import libcst as cst

from asyncguard.lint.check import check_paths
from asyncguard.lint.modules import analysis
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.syntax import tree

COLUMNS = ("check", "nodes", "libcst", "with libcst", "ruff")
LINE = "{:24} {:>10} {:>10} {:>10} {:>12} {:>10}"


class Units:
    """The units that a check asks for: their texts, and the time to build them."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.seconds = 0.0

    def timed(self, build: Callable[..., tree.Unit]) -> Callable[..., tree.Unit]:
        """Return a function that builds a unit, and counts it."""

        def built(lines: Sequence[str], *rest: Any) -> tree.Unit:
            if build is tree_function_unit:
                first, last = rest[:2]
                self.texts.add(textwrap.dedent("\n".join(lines[first - 1 : last])) + "\n")
            before = time.process_time()
            unit = build(lines, *rest)
            self.seconds += time.process_time() - before
            return unit

        return built


tree_function_unit, tree_module_unit = tree.function_unit, tree.module_unit


def measure(wheel: Path) -> list[float]:
    """Return the figures of one wheel, as COLUMNS names them."""
    units = Units()
    analysis.function_unit = units.timed(tree_function_unit)
    analysis.module_unit = units.timed(tree_module_unit)
    before = time.process_time()
    check_paths([wheel], Settings(cache=False, jobs=1))
    check = time.process_time() - before
    before = time.process_time()
    for text in units.texts:
        with contextlib.suppress(cst.ParserSyntaxError):  # counted: it took its time as well
            cst.parse_module(text)
    libcst = time.process_time() - before
    return [check, units.seconds, libcst, check - units.seconds + libcst, ruff(wheel)]


def ruff(wheel: Path) -> float:
    """Return what ruff takes for a wheel."""
    program = shutil.which("ruff", path=Path(sys.executable).parent) or "ruff"
    command = [program, "check", "--isolated", "--select", "ALL", "--no-cache", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, str(wheel)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="WHEEL", help="wheels, by name")
    options = parser.parse_args()
    print(LINE.format("CPU seconds", *COLUMNS))
    rows = []
    for wheel in sorted(path for path in options.sources.iterdir() if path.is_dir()):
        if not options.only or wheel.name in options.only:
            rows.append(measure(wheel))
            print(LINE.format(wheel.name, *(f"{value:.2f}" for value in rows[-1])), flush=True)
    total = [sum(column) for column in zip(*rows, strict=True)]
    print(LINE.format("all", *(f"{value:.2f}" for value in total)))
    print(LINE.format("of ruff", *(f"{value / total[-1]:.2f}" for value in total)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
