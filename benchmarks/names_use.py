#!/usr/bin/env python3
"""What each family of names decides: the findings that differ when it says no to every name.

    python benchmarks/names_use.py --wheels DIR [--sources DIR] [--only ID ...] [--together]
        [--jobs N] [--write]

DIR of --wheels holds unpacked wheels, which are checked whole, at default settings. DIR of
--sources holds the packages of the development labels, as for accuracy.py; of those the labelled
files alone are checked. Each family is switched off by itself. A finding that is lost then was
decided by it, and so was one that is new, which it keeps away; of the labels, hits and false
findings are counted, too: as many as the family adds. `--only` takes ids of families and names of
wheels. `--together` switches all families off at once, those of `--only`, and prints the findings
that differ: to see in one run whether any of many decides anything. `--write` keeps the rows in
benchmarks/results/names_use.json as they come. A family that decides nothing should be deleted, or
say in names.toml why it stays (`reason`).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from accuracy import HERE, Labels, Score, Spot, read_labels, score

from asyncguard.lint.check import check_paths
from asyncguard.lint.knowledge import load
from asyncguard.lint.names import Family
from asyncguard.lint.run.settings import Settings

RESULTS = HERE / "results" / "names_use.json"
FAMILIES = sys.modules["asyncguard.lint.names.families"]
LINE = "{:30} {:>6} {:>6} {:>6} {:>7} {:>11} {:>6} {:>6}"
COUNTS = ("names", "lost", "new", "labels lost", "labels new", "hits", "false")
Place = tuple[str, int, int, int, int, str, str, str]


class Part(NamedTuple):
    """What is checked at once: a whole wheel, or the labelled files of one package."""

    folder: Path
    labels: tuple[Labels, ...] = ()  # none: a whole wheel

    @property
    def paths(self) -> list[Path]:
        """The files or folders to check."""
        return [self.folder / labels.path for labels in self.labels] or [self.folder]


class Outcome(NamedTuple):
    """What the check of one part finds: places of findings, and how they fit the labels."""

    places: frozenset[Place]
    hits: int
    false: int
    names: Mapping[str, int]  # how many different names belong to each family


class Counted:
    """A family that counts the names that belong to it."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.names: set[str] = set()

    def holds(self, name: str) -> bool:
        """Whether a name belongs to the family."""
        found = self.family.holds(name)
        if found:
            self.names.add(name)
        return found


def check(part: Part) -> Outcome:
    """Check one part; places tell where findings stand, and in which context."""
    places: set[Place] = set()
    spots: dict[Path, list[Spot]] = defaultdict(list)
    for f in check_paths(part.paths, Settings(cache=False, jobs=1)).findings:
        path = Path(f.path)
        context = f"{f.loop.value} {f.guarded} {f.confidence.value}"
        where = (f.line, f.column, f.end_line, f.end_column)
        name = path.relative_to(part.folder.parent).as_posix()
        places.add((name, *where, f.code, f.api, context))
        spots[path].append(Spot(f.line, f.end_line, f.code, ""))
    groups: dict[str, Score] = defaultdict(Score)
    for labels in part.labels:
        score(labels, spots[part.folder / labels.path], groups)
    names = {id: len(one.names) for id, one in COUNTED.items()}
    return Outcome(frozenset(places), groups["all"].hits, groups["all"].false, names)


COUNTED: dict[str, Counted] = {}  # filled in the process of a run that counts
PARTS: list[Part] = []  # what is checked; the processes inherit it


def without(task: tuple[str, int]) -> tuple[str, int, Outcome]:
    """Check one of PARTS with families switched off; with none, if there is no id.

    It runs in a process of its own, which has asked nothing before.
    """
    id, index = task
    known = dict(FAMILIES.families())
    for each in id.split():
        known[each] = known[each]._replace(words=(), exact=(), pattern="(?!)")
    if not id:
        COUNTED.update({name: Counted(family) for name, family in known.items()})
    table = known if id else COUNTED
    FAMILIES.families = lambda: table
    return id, index, check(PARTS[index])


def add(row: dict[str, int], part: Part, base: Outcome, run: Outcome) -> None:
    """Count what differs in a part when a family is switched off."""
    kind = "labels " if part.labels else ""
    row[f"{kind}lost"] += len(base.places - run.places)
    row[f"{kind}new"] += len(run.places - base.places)
    row["hits"] += base.hits - run.hits
    row["false"] += base.false - run.false


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--sources", type=Path, help="packages of the development labels")
    parser.add_argument("--only", nargs="+", metavar="ID", help="families, or wheels by name")
    parser.add_argument("--together", action="store_true", help="switch all off at once")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    chosen = set(options.only or ())
    wheels = [p for p in sorted(options.wheels.iterdir()) if p.is_dir()]
    if named := [wheel for wheel in wheels if wheel.name in chosen]:
        wheels = named
    sources = options.sources or options.wheels
    PARTS.extend([*map(Part, wheels), *labelled(sources)])
    ids = [id for id in FAMILIES.families() if id in chosen or not chosen & {*FAMILIES.families()}]
    load()  # before the processes start
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        every = range(len(PARTS))
        base = {i: run for _, i, run in pool.imap_unordered(without, [("", i) for i in every])}
        print(said := measured(base))
        if options.together:
            runs = pool.imap(without, [(" ".join(ids), i) for i in every])
            print("\n".join(line for _, i, run in runs for line in differing(base[i], run)))
            return 0
        table = {id: dict.fromkeys(COUNTS, 0) for id in ids}
        for run in base.values():
            for id in ids:
                table[id]["names"] += run.names[id]  # of each part
        tasks = [(id, i) for id in ids for i in every if base[i].names[id]]
        finished = {id: table[id] for id in ids if id not in dict(tasks)}
        for id, runs in groupby(pool.imap(without, tasks), key=itemgetter(0)):
            for _, i, run in runs:
                add(table[id], PARTS[i], base[i], run)
            finished[id] = table[id]
            print(LINE.format(id, *table[id].values()), file=sys.stderr)
            if options.write:
                write(said, finished)
    print(LINE.format("family", *(name.removesuffix(" lost") for name in COUNTS)))
    for id in sorted(table, key=lambda id: (-weight(table[id]), id)):
        print(LINE.format(id, *table[id].values()))
    return 0


def differing(base: Outcome, run: Outcome) -> Iterator[str]:
    """Describe the findings that are lost or new when families are switched off."""
    for sign, places in (("-", base.places - run.places), ("+", run.places - base.places)):
        for path, line, _, _, _, code, api, context in sorted(places):
            yield f"{sign} {path}:{line}: {code} {api} ({context})"


def labelled(sources: Path) -> list[Part]:
    """Return the labelled files of the development half that are there, by package."""
    known: dict[Path, list[Labels]] = defaultdict(list)
    for labels in read_labels(HERE / "accuracy" / "labels" / "dev"):
        if (sources / labels.package / labels.path).is_file():
            known[sources / labels.package].append(labels)
    return [Part(folder, tuple(labels)) for folder, labels in sorted(known.items())]


def measured(base: Mapping[int, Outcome]) -> dict[str, object]:
    """Say what was checked, and what is found there."""
    runs = [(part, base[i]) for i, part in enumerate(PARTS)]
    labels = [(part, run) for part, run in runs if part.labels]
    return {
        "findings": {p.folder.name: len(run.places) for p, run in runs if not p.labels},
        "labelled": {
            "files": sum(len(part.labels) for part, _ in labels),
            "findings": sum(len(run.places) for _, run in labels),
            "hits": sum(run.hits for _, run in labels),
            "false": sum(run.false for _, run in labels),
        },
    }


def write(said: Mapping[str, object], table: Mapping[str, Mapping[str, int]]) -> None:
    """Keep these rows, beside those of other families that there are still."""
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    rows = {**old.get("families", {}), **table}
    known = {id: rows[id] for id in FAMILIES.families() if id in rows}
    text = json.dumps({**said, "families": known}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def weight(counts: Mapping[str, int]) -> int:
    """How many findings a family decides."""
    return sum(counts[key] for key in ("lost", "new", "labels lost", "labels new"))


if __name__ == "__main__":
    sys.exit(main())
