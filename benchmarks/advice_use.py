"""In how many packages each pattern of advice and each family of repairs decides.

    python benchmarks/advice_use.py FOLDER... [-o RESULT.json]

Each FOLDER holds an unpacked package or a repository. The table says for each pattern of
`rules/advice.toml` and each family of `lint/fixes/families` how many findings it speaks of and in
how many folders; "none" are findings that have the advice of their rule alone. What decides in no
package but the one that it was made for is no knowledge.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asyncguard.lint.advice import choice
from asyncguard.lint.advice.patterns import Pattern, patterns
from asyncguard.lint.advice.scene import Scene
from asyncguard.lint.check import check_paths
from asyncguard.lint.fixes import repair
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False, jobs=1)


class Uses:
    """What has decided in one package: names, and how often."""

    def __init__(self) -> None:
        self.patterns: Counter[str] = Counter()
        self.families: Counter[str] = Counter()
        self._choose, self._families = choice.chosen, repair._families()

    def of(self, folder: Path) -> None:
        """Check a package; what stood in for the linter's own functions is gone after it."""
        families = tuple(self._noting(family) for family in self._families)
        own = repair._families
        choice.chosen, repair._families = self._chosen, lambda: families  # type: ignore[assignment]
        try:
            check_paths([folder], SETTINGS)
        finally:
            choice.chosen, repair._families = self._choose, own

    def _chosen(self, scene: Scene) -> Pattern | None:
        found = self._choose(scene)
        self.patterns[found.id if found is not None else "none"] += 1
        return found

    def _noting(self, family: repair.Family) -> repair.Family:
        def noting(spots: Sequence[Spot]) -> Iterator[Repair]:
            for found in family(spots):
                self.families[family.__module__.rpartition(".")[2]] += len(found.spots)
                yield found

        return noting


def table(counts: Sequence[Counter[str]], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return for each name how many findings it is about, and in how many packages."""
    total: Counter[str] = Counter()
    packages: defaultdict[str, int] = defaultdict(int)
    for each in counts:
        total.update(each)
        for name in each:
            packages[name] += 1
    return {name: {"findings": total[name], "packages": packages[name]} for name in names}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, metavar="RESULT.json")
    options = parser.parse_args(arguments)
    found = []
    for folder in options.folders:
        uses = Uses()
        uses.of(folder)
        found.append(uses)
    families = sorted(family.__module__.rpartition(".")[2] for family in repair._families())
    result: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "packages": sorted(folder.name for folder in options.folders),
        "patterns": table([u.patterns for u in found], [*(p.id for p in patterns()), "none"]),
        "families": table([u.families for u in found], families),
    }
    text = json.dumps(result, indent=1) + "\n"
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
