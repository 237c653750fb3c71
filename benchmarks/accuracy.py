#!/usr/bin/env python3
"""Precision, recall and F1 of the linter on the labelled files.

    python benchmarks/accuracy.py --sources DIR [--half dev|test] [--only PACKAGE ...]
        [--mistakes] [--hotpath EXE] [--write]

DIR holds one folder a package, named NAME-VERSION, with the unpacked wheel or source archive.
A site counts when its label says that it runs once a step, unguarded; optional ones count neither
way. A finding on one of a site's lines, or reached from a call there, with one of its codes, is a
hit, or `cold` where the site does not count: true, though not asked for. On a negative it is false,
and so it is anywhere else in a file that is labelled completely, but for advice, which is not. A
call that leads to a finding is judged no further: the read is, where it stands. Each package is
checked as a whole, so that calls between its files are seen. `--only` measures the files
of some packages, and `--write` keeps the totals of ours, with today's date, in
benchmarks/results/accuracy.json.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import tomli

from asyncguard.lint.check import check_paths
from asyncguard.lint.report.registry import rules
from asyncguard.lint.run.settings import Settings

BY_DEFAULT = frozenset(rule.code for rule in rules() if rule.default)
HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "accuracy.json"
ADVICE = {"ASG3xx", "ASG4xx"}  # labelled only where obvious


class Spot(NamedTuple):
    """What a tool found, or a call that leads to it."""

    first: int
    last: int
    code: str  # "" for any
    text: str
    is_call: bool = False


@dataclass
class Labels:
    """One labelled file."""

    path: str
    package: str
    framework: str
    complete: bool
    sites: list[dict[str, object]]
    negatives: list[dict[str, object]]


@dataclass
class Score:
    """Counts of one group."""

    hits: int = 0
    missed: int = 0
    false: int = 0
    cold: int = 0
    mistakes: list[str] = field(default_factory=list)

    @property
    def found(self) -> int:
        return self.hits + self.false

    @property
    def wanted(self) -> int:
        return self.hits + self.missed

    @property
    def precision(self) -> float:
        return self.hits / self.found if self.found else float("nan")

    @property
    def recall(self) -> float:
        return self.hits / self.wanted if self.wanted else float("nan")

    def row(self) -> str:
        both = self.found + self.wanted
        f1 = 2 * self.hits / both if both else float("nan")
        shares = f"{self.precision:10.3f} {self.recall:8.3f} {f1:8.3f}"
        return f"{self.wanted:6} {self.found:6} {shares} {self.cold:6}"

    def to_dict(self) -> dict[str, float]:
        """Return the counts, and the shares where there is something to divide by."""
        plain: dict[str, float] = {
            "labels": self.wanted,
            "found": self.found,
            "hits": self.hits,
            "cold": self.cold,
        }
        if self.found:
            plain["precision"] = round(self.precision, 3)
        if self.wanted:
            plain["recall"] = round(self.recall, 3)
        return plain


def read_labels(directory: Path) -> Iterator[Labels]:
    """Yield the labelled files of one half."""
    for path in sorted(directory.glob("*.toml")):
        data = tomli.loads(path.read_text(encoding="utf-8"))
        yield Labels(
            data["path"],
            f"{data['package']}-{data['version']}",
            data["framework"],
            data["complete"],
            data.get("site", []),
            data.get("negative", []),
        )


def is_hot(site: dict[str, object]) -> bool:
    return site["context"] == "step" and not site["guarded"]


def codes_of(site: dict[str, object]) -> set[str]:
    return {str(site["code"]), *map(str, site.get("alt", []))}  # type: ignore[call-overload]


def lines_of(site: dict[str, object]) -> set[int]:
    return {int(site["line"]), *site.get("also", [])}  # type: ignore[call-overload,misc]


def score(labels: Labels, spots: Iterable[Spot], groups: dict[str, Score]) -> None:
    """Match what a tool found with what the labels say."""
    remaining = [
        site
        for site in labels.sites
        if is_hot(site) and not site.get("optional") and site["code"] in BY_DEFAULT
    ]
    wanted = list(remaining)
    for first, last, code, text, is_call in spots:
        family = code[:4] + "xx" if code else ""
        here = [s for s in labels.sites if any(first <= n <= last for n in lines_of(s))]
        matching = [s for s in here if not code or code in codes_of(s)]
        hot = [s for s in matching if is_hot(s)]
        if any(s in wanted for s in hot):
            remaining = [s for s in remaining if s not in hot]
            continue
        if is_call or any(s.get("optional") for s in matching):
            continue
        if matching:
            kind = "cold"
        elif _negative(labels, first, last, code) or (labels.complete and family not in ADVICE):
            kind = "false"
        else:
            continue
        text = f"{kind.upper():5} {labels.path}:{first} {text}"
        _count(groups, labels, family, code, kind, text)
    for site in wanted:
        code = str(site["code"])
        kind = "missed" if site in remaining else "hits"
        text = f"MISS  {labels.path}:{site['line']} {code} {site['api']} {site.get('note', '')}"
        _count(groups, labels, code[:4] + "xx", code, kind, text)


def _negative(labels: Labels, first: int, last: int, code: str) -> bool:
    return any(
        first <= int(n["line"]) <= last and (not code or n["code"] == code)  # type: ignore[call-overload]
        for n in labels.negatives
    )


def _count(
    groups: dict[str, Score], labels: Labels, family: str, code: str, kind: str, text: str
) -> None:
    for name in ("all", family, code, labels.framework):
        if name:
            group = groups[name]
            setattr(group, kind, getattr(group, kind) + 1)
            if kind != "hits":
                group.mistakes.append(text)


# ---- the tools


def asyncguard_spots(sources: Path, wanted: list[Labels]) -> dict[Path, list[Spot]]:
    """Run the linter over each package, at default settings."""
    found: dict[Path, list[Spot]] = defaultdict(list)
    for package in sorted({labels.package for labels in wanted}):
        for f in check_paths([sources / package], Settings(cache=False)).findings:
            text = f"{f.code} {f.api} {f.confidence.value} {f.function} | {f.source[:90]}"
            found[Path(f.path)].append(Spot(f.line, f.end_line, f.code, text))
            for call in f.reached_from:
                led = Spot(call.line, call.line, f.code, text, is_call=True)
                found[Path(call.path)].append(led)
    return found


NAIVE = re.compile(
    r"\.(item|tolist|cpu|numpy|asnumpy|asscalar|nonzero|wait_to_read|block_until_ready|synchronize)"
    r"\(|waitall\(|device_get\(|\.to\(device|print\(.*loss"
)


def naive_spots(sources: Path, wanted: list[Labels]) -> dict[Path, list[Spot]]:
    """What grep finds."""
    found: dict[Path, list[Spot]] = defaultdict(list)
    for labels in wanted:
        path = sources / labels.package / labels.path
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if NAIVE.search(line):
                found[path].append(Spot(number, number, "", line.strip()[:90]))
    return found


# .item(), device transfers (without non_blocking), .numpy(): the others are not about waiting.
HOTPATH_RULES = {"KP003", "KP004", "KP015", "KP017"}


def hotpath_spots(executable: str, sources: Path, wanted: list[Labels]) -> dict[Path, list[Spot]]:
    """What those rules of hotpath-ai find that are about waiting, a line once."""
    found: dict[Path, list[Spot]] = {}
    for labels in wanted:
        path = sources / labels.package / labels.path
        command = [executable, "analyze", str(path), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        findings = [f for file in json.loads(done.stdout)["files"] for f in file["findings"]]
        lines = {f["line"] for f in findings if f["rule_id"] in HOTPATH_RULES}
        found[path] = [Spot(line, line, "", f"line {line}") for line in sorted(lines)]
    return found


def measure(
    name: str, spots: dict[Path, list[Spot]], sources: Path, wanted: list[Labels], detail: bool
) -> dict[str, Score]:
    """Print one tool's table, and return it."""
    groups: dict[str, Score] = defaultdict(Score)
    for labels in wanted:
        score(labels, spots.get(sources / labels.package / labels.path, []), groups)
    print(f"\n{name:14} labels  found  precision   recall       F1   cold")
    for group in sorted(groups, key=lambda g: (g != "all", g)):
        print(f"{group:14} {groups[group].row()}")
    if detail:
        print(*sorted(groups["all"].mistakes), sep="\n")
    return groups


def keep(half: str, files: int, groups: dict[str, Score]) -> None:
    """Note the totals of one half, by rule and framework, in the file of results."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    kept[half] = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "files": files,
        "groups": {name: groups[name].to_dict() for name in sorted(groups)},
    }
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--labels", type=Path, default=HERE / "accuracy" / "labels")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--mistakes", action="store_true", help="list each of ours")
    parser.add_argument("--only", nargs="+", default=(), help="names of packages")
    parser.add_argument("--hotpath", help="the executable of hotpath-ai 0.1.0")
    parser.add_argument("--write", action="store_true", help="keep the totals of ours")
    options = parser.parse_args()
    wanted = [
        labels
        for labels in read_labels(options.labels / options.half)
        if (options.sources / labels.package / labels.path).is_file()
        and (not options.only or labels.package.rpartition("-")[0] in options.only)
    ]
    sites = sum(len(labels.sites) for labels in wanted)
    negatives = sum(len(labels.negatives) for labels in wanted)
    print(f"{options.half}: {len(wanted)} files, {sites} sites, {negatives} hard negatives")
    spots = asyncguard_spots(options.sources, wanted)
    groups = measure("asyncguard", spots, options.sources, wanted, options.mistakes)
    if options.write:
        keep(options.half, len(wanted), groups)
    spots = naive_spots(options.sources, wanted)
    measure("naive regex", spots, options.sources, wanted, False)
    if options.hotpath:
        spots = hotpath_spots(options.hotpath, options.sources, wanted)
        measure("hotpath-ai", spots, options.sources, wanted, False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
