#!/usr/bin/env python3
"""Compare the nodes that the linter builds with those of libcst's own parser, file by file.

    python benchmarks/same_nodes.py --sources DIR [--only WHEEL ...]

DIR holds unpacked wheels. The comparison is that of tests/lint/test_nodes.py, without places; files
that either parser refuses are counted. Exits with 1 if a tree differs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import libcst as cst

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tests.lint.test_nodes import shape, unit_of  # noqa: E402 - the repository is not installed


def differs(path: Path) -> bool | None:
    """Whether the trees of a file differ; None where a parser refuses it."""
    try:
        text = path.read_text(encoding="utf-8")
        theirs = cst.parse_module(text)
        mine = unit_of(text).tree
        return shape(mine) != shape(theirs)
    except (SyntaxError, ValueError, RecursionError, cst.ParserSyntaxError):
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--only", nargs="+", metavar="WHEEL", help="wheels, by name")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10_000)
    different = 0
    for wheel in sorted(path for path in options.sources.iterdir() if path.is_dir()):
        if options.only and wheel.name not in options.only:
            continue
        results = {path: differs(path) for path in sorted(wheel.rglob("*.py"))}
        wrong = [path for path, result in results.items() if result]
        refused = sum(result is None for result in results.values())
        print(f"{wheel.name}: {len(results)} files, {len(wrong)} differ, {refused} refused")
        print(*(f"  {path}" for path in wrong), sep="\n", end="\n" if wrong else "")
        different += len(wrong)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
