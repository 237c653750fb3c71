#!/usr/bin/env python3
"""Compare what a file gives when it is checked alone with what it gives with its whole package.

    python benchmarks/alone.py --sources DIR [DIR...] [--packages N] [--largest N] [--files N]
        [--seed N] [--findings F] [--write]

Each DIR holds unpacked packages, of which N are drawn (all, if it holds fewer), of `--largest`
files at most. Each is checked whole, then N of its files are checked one by one, as an editor or
pre-commit does: half of them drawn from those with findings, the others from all. A finding is the
same if its place, rule and API are, and how often it happens. `--findings F` takes what the whole
packages gave from JSON lines that `findings_sample.py` kept, of the same code. With
`--cache DIR` caches are kept there, and the check of the package is the context of its files.
`--write` keeps the counts in benchmarks/results/alone.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding

RESULTS = Path(__file__).parent / "results" / "alone.json"
Key = tuple[int, int, str, str, str, bool]


@dataclass
class Counts:
    """What the files of one package gave."""

    files: int = 0
    findings: int = 0  # with the whole package
    lost: list[str] = field(default_factory=list)  # of these, alone
    added: list[str] = field(default_factory=list)  # alone only


def key_of(finding: Finding) -> Key:
    """Return what makes a finding of a file the same."""
    f = finding
    return f.line, f.column, f.code, f.api, f.loop.value, f.guarded


def found_in(paths: Sequence[Path], kept: Path | None = None) -> dict[str, set[Key]]:
    """Check some paths together; return the findings of each file. `kept`: where caches are."""
    found: defaultdict[str, set[Key]] = defaultdict(set)
    settings = Settings(cache=kept is not None, cache_dir=kept or Path(), root=paths[0].parent)
    for finding in check_paths(paths, settings).findings:
        found[finding.path].add(key_of(finding))
    return found


def drawn(
    files: Sequence[str], telling: Iterable[str], count: int, chosen: random.Random
) -> list[str]:
    """Return some files, half of them from those that have findings."""
    first = sorted(telling)
    half = chosen.sample(first, min(len(first), (count + 1) // 2))
    rest = [path for path in files if path not in half]
    return half + chosen.sample(rest, min(len(rest), count - len(half)))


Kept = dict[str, dict[str, set[Key]]]


def kept_in(path: Path | None) -> Kept:
    """Return findings kept as JSON lines, by package and file."""
    kept: Kept = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path is not None else ():
        row = json.loads(line)
        finding = Finding.from_dict(row["finding"])
        files = kept.setdefault(row["wheel"], {})
        files.setdefault(finding.path, set()).add(key_of(finding))
    return kept


def compare(
    package: Path, kept: Kept, count: int, chosen: random.Random, cache: Path | None
) -> Counts:
    """Check a package, and some of its files alone."""
    whole = kept[package.name] if package.name in kept else found_in([package], cache)
    counts = Counts()
    for path in drawn(sorted(map(str, package.rglob("*.py"))), whole, count, chosen):
        alone = found_in([Path(path)], cache).get(path, set())
        together = whole.get(path, set())
        counts.files += 1
        counts.findings += len(together)
        counts.lost += differences(path, package, together - alone)
        counts.added += differences(path, package, alone - together)
    return counts


def differences(path: str, package: Path, keys: Iterable[Key]) -> Iterator[str]:
    """Yield findings as text."""
    where = Path(path).relative_to(package.parent)
    for line, _, code, api, loop, guarded in sorted(keys):
        yield f"{where}:{line}: {code} {api} {loop}{' guarded' if guarded else ''}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, nargs="+", required=True)
    parser.add_argument("--packages", type=int, default=10)
    parser.add_argument("--largest", type=int, default=5000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--findings", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    kept = kept_in(options.findings)
    total = Counts()
    rows = {}
    for folder in options.sources:
        packages = [
            path.resolve()
            for path in sorted(folder.iterdir())
            if 0 < len([*path.rglob("*.py")]) <= options.largest
        ]
        for package in sorted(chosen.sample(packages, min(len(packages), options.packages))):
            counts = compare(package, kept, options.files, chosen, options.cache)
            rows[package.name] = [
                counts.files,
                counts.findings,
                len(counts.lost),
                len(counts.added),
            ]
            print(f"{package.name:40} {counts.files:4} files {counts.findings:5} findings", end="")
            print(f" {len(counts.lost):4} lost {len(counts.added):4} added", flush=True)
            for text in counts.lost:
                print(f"  - {text}", flush=True)
            for text in counts.added:
                print(f"  + {text}", flush=True)
            total.files += counts.files
            total.findings += counts.findings
            total.lost += counts.lost
            total.added += counts.added
    summary = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "seed": options.seed,
        "files": total.files,
        "findings with the whole package": total.findings,
        "lost alone": len(total.lost),
        "alone only": len(total.added),
        "packages (files, findings, lost, added)": rows,
        "differences": [f"- {text}" for text in total.lost] + [f"+ {text}" for text in total.added],
    }
    print(json.dumps({k: v for k, v in summary.items() if not isinstance(v, dict | list)}))
    if options.write:
        RESULTS.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
