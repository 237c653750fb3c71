#!/usr/bin/env python3
"""Draw findings at random, with all that a reader needs to judge them, and sum up the judgements.

    python benchmarks/findings_sample.py --sources DIR [--seed N] [--count N] --write SHEET.md
    python benchmarks/findings_sample.py --judged SHEET.md [--keep]

DIR holds unpacked wheels; each is checked whole, at default settings. The sample is stratified by
wheel and rule: each stratum gives at least one finding, and more by the square root of its size, so
that rare rules are seen as well; the shares are weighted back. `--findings F` reads or keeps what
was found as JSON lines, so that another seed costs nothing.

In the sheet, each finding ends with a line to fill in:

    verdict: ?   advice: ?   note:

verdict: `true` (a wait, in every step, told once), `cold` (a wait, though not in every step),
`false` (no wait), `again` (a read that another finding reports). advice: `fits` or `not`. `--keep`
writes the shares to benchmarks/results/findings_sample.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding

RESULTS = Path(__file__).parent / "results" / "findings_sample.json"
VERDICTS = ("true", "cold", "false", "again")
AROUND = 9  # lines of source before a finding, and two thirds of it after
CALLS = 4  # callers that the sheet shows
LINE = re.compile(r"^verdict: (\S+) +advice: (\S+) +note:(.*)$")
HEAD = re.compile(r"^## \d+ (\S+) (ASG\d{3}) (\S+) weight ([\d.]+)$")
Stratum = tuple[str, str]  # wheel, rule
Strata = Mapping[Stratum, Sequence[Finding]]


class Judged(NamedTuple):
    """One filled-in entry of a sheet; `weight`: how many findings of its stratum it stands for."""

    wheel: str
    code: str
    place: str
    weight: float
    verdict: str
    advice: str
    note: str


def find(wheels: Iterable[Path], kept: Path | None) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of each wheel, by its name: those kept from before, if there are any."""
    if kept is not None and kept.is_file():
        for line in kept.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield row["wheel"], Finding.from_dict(row["finding"])
        return
    rows = [
        (wheel.name, finding)
        for wheel in wheels
        for finding in check_paths([wheel], Settings(cache=False, root=wheel.parent)).findings
    ]
    if kept is not None:
        lines = (json.dumps({"wheel": w, "finding": f.to_dict()}) + "\n" for w, f in rows)
        kept.write_text("".join(lines), encoding="utf-8")
    yield from rows


def draw(strata: Strata, count: int, seed: int) -> Iterator[tuple[Stratum, float, Finding]]:
    """Yield about `count` findings, each with the number of those that it stands for."""
    chosen = random.Random(seed)
    roots = {stratum: sqrt(len(found)) for stratum, found in strata.items()}
    share = (count - len(strata)) / sum(roots.values())
    for stratum in sorted(strata):
        found = sorted(strata[stratum], key=lambda f: (f.path, f.line, f.column, f.api))
        wanted = min(len(found), 1 + max(0, round(share * roots[stratum])))
        for finding in chosen.sample(found, wanted):
            yield stratum, len(found) / wanted, finding


def entry(number: int, stratum: Stratum, weight: float, finding: Finding) -> str:
    """Return the part of the sheet that a judge reads for one finding."""
    wheel, code = stratum
    lines = Path(finding.path).read_text(encoding="utf-8", errors="replace").split("\n")
    place = f"{Path(finding.path).name}:{finding.line}"
    says = f"{finding.loop.value}, {finding.confidence.value}, in `{finding.function}`"
    calls = [f"- from {call.path}:{call.line}" for call in finding.reached_from[:CALLS]]
    callers = [f"- named at {found}" for found in mentions(finding, lines)][:CALLS]
    return "\n".join(
        [
            f"## {number} {wheel} {code} {place} weight {weight:.2f}",
            "",
            f"{finding.path}  {finding.api} ({says})",
            f"{finding.message}",
            f"advice: {finding.advice}",
            *(f"- {why.about}: {why.text}" for why in finding.reasons),
            *calls,
            *callers,
            "",
            "```python",
            *excerpt(lines, finding),
            "```",
            "",
            "verdict: ?   advice: ?   note:",
            "",
        ]
    )


def mentions(finding: Finding, lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of its file that name the function of a finding, but for its definition."""
    name = finding.function.rpartition(".")[2]
    if name.isidentifier():
        named = re.compile(rf"\b{name}\b(?!\s*=)")
        for number, line in enumerate(lines, 1):
            if named.search(line) and f"def {name}" not in line:
                yield f"{number}: {line.strip()[:100]}"


def excerpt(lines: Sequence[str], finding: Finding) -> Iterator[str]:
    """Yield the lines around a finding, after the heads of its function and of its loops."""
    first = max(1, finding.line - AROUND)
    last = min(len(lines), finding.end_line + AROUND * 2 // 3)
    for number in [n for n in enclosing("\n".join(lines), finding.line) if n < first]:
        yield f"{number:5}  {lines[number - 1]}"
    for number in range(first, last + 1):
        mark = ">" if finding.line <= number <= finding.end_line else " "
        yield f"{number:5}{mark} {lines[number - 1]}"


_BLOCKS = (
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.For,
    ast.While,
    ast.If,
    ast.With,
)


def enclosing(text: str, line: int) -> list[int]:
    """Return the first lines of the blocks around a line, the outermost first."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    around = (n for n in ast.walk(tree) if isinstance(n, _BLOCKS))
    return sorted({n.lineno for n in around if n.lineno < line <= (n.end_lineno or n.lineno)})


def read_sheet(path: Path) -> Iterator[Judged]:
    """Yield the entries of a sheet; raises SystemExit for one that was not judged."""
    head: tuple[str, ...] = ()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := HEAD.match(line):
            head = found.groups()
        elif found := LINE.match(line):
            verdict, advice, note = found.groups()
            if verdict not in VERDICTS or advice not in ("fits", "not"):
                raise SystemExit(f"{path}:{number}: fill in the verdict and the advice")
            wheel, code, place, weight = head
            yield Judged(wheel, code, place, float(weight), verdict, advice, note.strip())


def summary(entries: Sequence[Judged]) -> dict[str, object]:
    """Return the shares of each verdict, plain and weighted, and of advice that fits true ones."""
    plain, weighted = Counter[str](), Counter[str]()
    for judged in entries:
        plain[judged.verdict] += 1
        weighted[judged.verdict] += judged.weight  # type: ignore[assignment]  # shares, not counts
    true = [judged for judged in entries if judged.verdict == "true"]
    fitting = sum(judged.advice == "fits" for judged in true)
    return {
        "findings judged": len(entries),
        "verdicts": {v: plain[v] for v in VERDICTS},
        "shares": {v: round(plain[v] / len(entries), 3) for v in VERDICTS},
        "shares, weighted": {v: round(weighted[v] / sum(weighted.values()), 3) for v in VERDICTS},
        "advice fits, of the true ones": round(fitting / len(true), 3) if true else None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--findings", type=Path, help="where findings are kept as JSON lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--write", type=Path, help="the sheet to fill in")
    parser.add_argument("--judged", type=Path, help="a sheet that was filled in")
    parser.add_argument("--keep", action="store_true", help="write the shares of --judged")
    options = parser.parse_args()
    if options.judged:
        entries = [*read_sheet(options.judged)]
        result = summary(entries)
        print(json.dumps(result, indent=1))
        if options.keep:
            dated = {"date": datetime.now(timezone.utc).date().isoformat(), **result}
            dated["findings"] = [e._asdict() for e in entries]
            RESULTS.write_text(json.dumps(dated, indent=1) + "\n", encoding="utf-8")
        return 0
    if not (options.sources and options.write):
        parser.error("--sources and --write, or --judged")
    strata: defaultdict[Stratum, list[Finding]] = defaultdict(list)
    wheels = sorted(path for path in options.sources.iterdir() if path.is_dir())
    for wheel, finding in find(wheels, options.findings):
        strata[wheel, finding.code].append(finding)
    drawn = [*draw(strata, options.count, options.seed)]
    parts = [entry(number, *one) for number, one in enumerate(drawn, 1)]
    options.write.write_text("\n".join(parts), encoding="utf-8")
    found = sum(map(len, strata.values()))
    print(f"{len(drawn)} of {found} findings in {len(strata)} strata, seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
