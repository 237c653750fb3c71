#!/usr/bin/env python3
"""What the linter finds in whole packages: to tell whether a change of it changes findings.

    python benchmarks/findings_digest.py --sources DIR [--write F] [--compare F] [--jobs N]

DIR holds unpacked wheels. Each is checked without a cache, with the default settings and with
`select = ["ALL"]`. `--write` keeps every finding, with all its fields, as JSON lines in F, and the
counts and digests in benchmarks/results/findings.json. `--compare` prints the findings that differ
from those of F, with the fields that differ, and exits with 1 if any does. Without either, the
digests are compared with those of findings.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings

RESULTS = Path(__file__).parent / "results" / "findings.json"
SELECTED: Mapping[str, tuple[str, ...]] = {"default": (), "ALL": ("ALL",)}
IDENTITY = ("settings", "path", "cell", "line", "column", "end_line", "end_column", "code", "api")
LINE = "{:26} {:9} {:>9} {:>9}  {}"
Row = dict[str, object]  # a finding, as JSON has it, and the settings it was found with
Identity = tuple[str | int, ...]  # texts and numbers; 0 for the cell where a file is not a notebook
Results = dict[str, dict[str, Row]]  # a wheel's counts and digest under each of the settings


def rows_of(wheel: Path, settings: str, jobs: int) -> list[Row]:
    """Check a wheel, and return its findings; their paths start with the wheel's name."""
    parent = wheel.parent
    chosen = Settings(select=SELECTED[settings], cache=False, jobs=jobs, root=parent)
    rows = []
    for finding in check_paths([wheel], chosen).findings:
        plain = finding.to_dict()
        del plain["reasons"]  # how a finding is explained, not what is found
        rows.append({"settings": settings, **plain, "path": relative(plain["path"], parent)})
    return rows


def relative(path: str, parent: Path) -> str:
    return Path(path).relative_to(parent).as_posix()


def line_of(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True)


def summary(rows: Iterable[Row]) -> Row:
    """Count the findings of one check, by rule, and digest all that they say."""
    lines = sorted(map(line_of, rows))
    codes = Counter(str(json.loads(line)["code"]) for line in lines)
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    return {"findings": len(lines), "by rule": dict(sorted(codes.items())), "digest": digest[:16]}


def by_identity(rows: Iterable[Row]) -> dict[Identity, list[Row]]:
    """Group findings by their place, their rule and the settings they were found with."""
    found: dict[Identity, list[Row]] = {}
    for row in sorted(rows, key=line_of):
        found.setdefault(tuple(row.get(name) or 0 for name in IDENTITY), []).append(row)
    return found


def differences(old: Iterable[Row], new: Iterable[Row]) -> Iterator[str]:
    """Describe each finding that is lost, new or changed, by place."""
    before, after = by_identity(old), by_identity(new)
    for identity in sorted({*before, *after}):
        gone, come = before.get(identity, []), after.get(identity, [])
        for row in gone[len(come) :]:
            yield f"- {place(row)}: {row['message']}"
        for row in come[len(gone) :]:
            yield f"+ {place(row)}: {row['message']}"
        for one, other in zip(gone, come, strict=False):
            changed = [name for name in {**one, **other} if one.get(name) != other.get(name)]
            if changed:
                yield f"~ {place(other)}"
            yield from (f"    {n}: {one.get(n)!r} -> {other.get(n)!r}" for n in changed)


def place(row: Row) -> str:
    loop = f"{row['loop']}{', guarded' if row['guarded'] else ''}, {row['confidence']}"
    where = f"{row['path']}:{row['line']}:{row['column']}"
    return f"{where}: {row['code']} ({row['settings']}; {loop})"


def check(wheels: Iterable[Path], committed: Results, jobs: int) -> tuple[Results, list[Row]]:
    """Check every wheel, and print how its findings compare with what is committed."""
    results: Results = {}
    rows: list[Row] = []
    print(LINE.format("wheel", "settings", "findings", "recorded", "digest"))
    for wheel in wheels:
        for settings in SELECTED:
            found = rows_of(wheel, settings, jobs)
            known = committed.get(wheel.name, {}).get(settings, {})
            now = results.setdefault(wheel.name, {})[settings] = summary(found)
            same = "as recorded" if now == known else "not as recorded"
            count, recorded = now["findings"], known.get("findings", "none")
            print(LINE.format(wheel.name, settings, count, recorded, f"{now['digest']} {same}"))
            rows += found
    return results, rows


def compared(file: Path, wheels: Iterable[Path], rows: Iterable[Row]) -> bool:
    """Print the findings that differ from a file's, and tell whether there are any."""
    names = {wheel.name for wheel in wheels}
    lines = file.read_text(encoding="utf-8").splitlines()
    old = [row for row in map(json.loads, lines) if row["path"].split("/")[0] in names]
    found = list(differences(old, rows))
    print("\n".join(found) if found else f"every finding is as in {file}")
    return bool(found)


def main() -> int:
    """Check every wheel, print the counts, and keep or compare the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True, help="a folder of unpacked wheels")
    parser.add_argument("--write", type=Path, help="keep the findings in this file (JSON lines)")
    parser.add_argument("--compare", type=Path, help="compare them with those of this file")
    parser.add_argument("--jobs", type=int, default=1, help="processes that check (1)")
    options = parser.parse_args()
    wheels = sorted(path for path in options.sources.resolve().iterdir() if path.is_dir())
    committed = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results, rows = check(wheels, committed, options.jobs)
    differs = any(committed.get(wheel) != found for wheel, found in results.items())
    if options.compare:
        differs = compared(options.compare, wheels, rows)
    if options.write:
        options.write.write_text("".join(f"{line_of(row)}\n" for row in rows), encoding="utf-8")
        kept = json.dumps({**committed, **results}, indent=2)
        RESULTS.write_text(f"{kept}\n", encoding="utf-8")
    return int(differs and (bool(options.compare) or not options.write))


if __name__ == "__main__":
    sys.exit(main())
