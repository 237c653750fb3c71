#!/usr/bin/env python3
"""Findings in code that hardly waits for a device, so that most of them would be false.

    python benchmarks/clean_code.py --sources DIR [--write]

DIR holds unpacked packages without deep learning (Django, flask, numpy, requests, scikit-learn) and
`torch/nn/modules`, whose few waits are real. Each is checked whole, at default settings. A reader
judges what is printed; `--write` keeps the counts in benchmarks/results/clean_code.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings

RESULTS = Path(__file__).parent / "results" / "clean_code.json"
PER = 20_000  # lines, in which at most one false finding is accepted


def lines_in(folder: Path) -> int:
    """Count the lines of the Python files below a folder."""
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="keep the counts")
    options = parser.parse_args()
    kept: dict[str, dict[str, object]] = {}
    for folder in sorted(path for path in options.sources.iterdir() if path.is_dir()):
        findings = check_paths([folder], Settings(cache=False, root=folder)).findings
        lines = lines_in(folder)
        kept[folder.name] = {"lines": lines, "findings": len(findings)}
        print(f"{folder.name:24} {lines:8} lines {len(findings):4} findings")
        for f in findings:
            print(f"  {f.path}:{f.line} {f.code} {f.function} | {f.source[:80]}")
    total = sum(int(str(row["lines"])) for row in kept.values())
    found = sum(int(str(row["findings"])) for row in kept.values())
    print(f"{found} findings in {total} lines, {found * PER / total:.2f} in {PER}")
    if options.write:
        dated = {"date": datetime.now(timezone.utc).date().isoformat(), "packages": kept}
        RESULTS.write_text(json.dumps(dated, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
