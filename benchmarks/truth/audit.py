#!/usr/bin/env python3
"""Draw lines to be read by hand: `python benchmarks/truth/audit.py [--seed N] [--each 50]`.

As many lines that waited as lines that ran and did not, of the dev half, each line of a package's
source with what the record says of it. What a reader found stands in `audit.md`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.truth import environments, table
from benchmarks.truth.labels import unpacked

RECORDS = Path(__file__).resolve().parents[1] / "results" / "truth"


class Line(NamedTuple):
    """A line that ran."""

    package: str
    path: str
    line: int
    apis: tuple[str, ...]  # what waited there


def lines(record: dict[str, Any]) -> Iterator[Line]:
    """All lines of a package that ran."""
    for path, file in record["files"].items():
        apis: dict[int, set[str]] = {}
        for line, _, _, _, _, api, *_ in file.get("waits", ()):
            apis.setdefault(line, set()).add(api)
        for line in unpacked(file.get("lines", ())):
            yield Line(record["package"], path, line, tuple(sorted(apis.get(line, ()))))


def drawn(records: list[dict[str, Any]], seed: int, each: int) -> list[Line]:
    """So many lines that waited, and so many that did not."""
    everything = sorted(line for record in records for line in lines(record))
    chance = random.Random(seed)
    waiting = chance.sample([line for line in everything if line.apis], each)
    return waiting + chance.sample([line for line in everything if not line.apis], each)


def main() -> int:
    """Print them, with their surroundings where the package is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--around", type=int, default=0, help="lines before and after")
    options = parser.parse_args()
    records = [record for record in table.records(RECORDS) if record["half"] == "dev"]
    for number, line in enumerate(drawn(records, options.seed, options.each), 1):
        print(f"{number}. {line.path}:{line.line} {', '.join(line.apis) or '-'}")
        for text in _source(line, options.around):
            print("      " + text)
    return 0


def _source(line: Line, around: int) -> list[str]:
    for name in (line.package, "base"):
        for path in (environments.HOME / name).glob(f"lib/python3*/site-packages/{line.path}"):
            begin = max(line.line - 1 - around, 0)
            return path.read_text(encoding="utf-8").splitlines()[begin : line.line + around]
    return []


if __name__ == "__main__":
    raise SystemExit(main())
