"""How many default findings carry a repair, and whether files that are repaired stay sound.

    python benchmarks/repairs.py FOLDER [-o RESULT.json]

FOLDER holds unpacked wheels, one a folder. Each is copied, checked, repaired with
`--fix --unsafe-fixes`, compiled with compileall and checked again. The tables say which share of
the findings shows a repair at all, which is applied by `--unsafe-fixes` and which by `--fix`, by
wheel and by rule; then what came of the repaired files.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import difflib
import json
import platform
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import choose, fix_files
from asyncguard.model import Finding, Fix

SETTINGS = Settings(cache=False)
SHARES = {"shown": 0.40, "unsafe": 0.25, "safe": 0.08}  # what is wanted, of all wheels together
ALL = "all"


class Wheel(NamedTuple):
    """What came of one wheel."""

    name: str
    findings: tuple[Finding, ...]
    repaired: int
    files: int
    compiles: bool
    outside: int  # changed lines that no edit names
    again: int  # repairs that a second run would make, also in twins reported only now


def main() -> int:
    """Measure each wheel, print the tables and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    folders = sorted(path for path in arguments.folder.iterdir() if path.is_dir())
    wheels = [measured(folder) for folder in folders]
    result = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "shares by wheel": table({wheel.name: wheel.findings for wheel in wheels}),
        "shares by rule": table(by_rule(wheels)),
        "repaired wheels": {wheel.name: soundness(wheel) for wheel in wheels},
    }
    for title in ("shares by wheel", "shares by rule", "repaired wheels"):
        show(title, result[title])  # type: ignore[arg-type]
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def measured(folder: Path) -> Wheel:
    """Check a copy of a wheel, repair it, and check it again."""
    print(f"{folder.name} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, ignore=_all_but_python)
        findings = check_paths([copy], SETTINGS).findings
        texts = {path: Path(path).read_bytes() for path in {f.path for f in findings}}
        chosen = choose_by_file(findings)
        outcome = fix_files(findings, unsafe=True, write=True)
        outside = sum(
            changes_outside(texts[path], Path(path).read_bytes(), fixes)
            for path, fixes in chosen.items()
        )
        compiles = compileall.compile_dir(copy, quiet=2, force=True)
        second = choose_by_file(check_paths([copy], SETTINGS).findings)
        again = sum(map(len, second.values()))
        for path, fixes in second.items():
            for fix in fixes:
                print(f"again: {path}:{fix.edits[0].line}: {fix.message}", file=sys.stderr)
    return Wheel(folder.name, findings, outcome.fixed, len(chosen), bool(compiles), outside, again)


def _all_but_python(directory: str, names: list[str]) -> list[str]:
    keep = [n for n in names if n.endswith(".py") or (Path(directory) / n).is_dir()]
    return [name for name in names if name not in keep]


def choose_by_file(findings: Iterable[Finding]) -> dict[str, list[Fix]]:
    """Return the fixes that are applied together, by file."""
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    chosen = {path: choose(here, unsafe=True) for path, here in by_path.items()}
    return {path: [*fixes.values()] for path, fixes in chosen.items() if fixes}


def changes_outside(before: bytes, after: bytes, fixes: Sequence[Fix]) -> int:
    """Count the lines of a file that changed though no edit touches them."""
    old, new = (data.decode(errors="replace").splitlines() for data in (before, after))
    named = {
        line
        for fix in fixes
        for edit in fix.edits
        for line in range(edit.line - 1, edit.end_line + 1)
    }
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return sum(
        line + 1 not in named
        for tag, first, last, _, _ in matcher.get_opcodes()
        if tag in {"replace", "delete"}
        for line in range(first, last)
    )


def by_rule(wheels: Iterable[Wheel]) -> dict[str, tuple[Finding, ...]]:
    """Arrange the findings of all wheels by rule."""
    found: dict[str, tuple[Finding, ...]] = {}
    for finding in (finding for wheel in wheels for finding in wheel.findings):
        found[finding.code] = (*found.get(finding.code, ()), finding)
    return dict(sorted(found.items()))


def table(groups: dict[str, tuple[Finding, ...]]) -> dict[str, dict[str, float]]:
    """Return the shares of each group, and of all."""
    every = tuple(finding for findings in groups.values() for finding in findings)
    return {name: shares(findings) for name, findings in {**groups, ALL: every}.items()}


def shares(findings: Sequence[Finding]) -> dict[str, float]:
    """Return how many findings there are, and which share has which repair."""
    counts = Counter(f.fix.applicability.value for f in findings if f.fix is not None)
    safe, unsafe = counts["safe"], counts["safe"] + counts["unsafe"]
    total = len(findings) or 1
    return {
        "findings": len(findings),
        "shown": round((unsafe + counts["shown"]) / total, 4),
        "unsafe": round(unsafe / total, 4),
        "safe": round(safe / total, 4),
    }


def soundness(wheel: Wheel) -> dict[str, object]:
    """Return what came of the repaired files of a wheel."""
    return {
        "findings repaired": wheel.repaired,
        "files changed": wheel.files,
        "compiles": wheel.compiles,
        "lines changed outside": wheel.outside,
        "repairs of a second run": wheel.again,
    }


def show(title: str, rows: dict[str, dict[str, object]]) -> None:
    """Print a table."""
    columns = [*next(iter(rows.values()))]
    print(f"\n{title:26}" + "".join(f"{column:>24}" for column in columns))
    for name, values in rows.items():
        cells = (f"{v:.1%}" if isinstance(v, float) else str(v) for v in values.values())
        print(f"{name:26}" + "".join(f"{cell:>24}" for cell in cells))
    if ALL in rows:
        print("wanted, of all: " + ", ".join(f"{k} {v:.0%}" for k, v in SHARES.items()))


if __name__ == "__main__":
    sys.exit(main())
