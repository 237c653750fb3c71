#!/usr/bin/env python3
"""Fit what each item of evidence is worth, on what really waited.

    python benchmarks/evidence.py [--sources DIR] [--check] [--keep DIR]

Checks the packages of benchmarks/truth with this linter, joins each finding with the record of what
ran, and fits a sparse logistic model (L1) on the development half: whether a finding waits, by its
items of evidence. Findings in the files that benchmarks/accuracy labels are judged by the labels,
where --sources has the packages (see benchmarks/accuracy/README.md). The penalty is chosen, and all
figures are made, by cross-validation that leaves whole packages out; the test halves are scored
once, with the weights of all of the development half.
Writes rules/evidence.toml and benchmarks/results/evidence.json. --check fits nothing: it scores the
weights that are there. --keep reads and keeps the findings in a folder, a file a package.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asyncguard.lint.evidence.weights import ENTRY, probability
from benchmarks import accuracy
from benchmarks.truth import joined, table, truth

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "rules" / "evidence.toml"
RESULTS = ROOT / "benchmarks" / "results" / "evidence.json"
FOLDS = 30
PENALTIES = (0.0005, 0.001, 0.002)
PACKAGES = 3  # of the development half in which an item must occur
MOST = 150  # items that keep a weight
TIE = 0.005  # nats, in which fits are equally good
PRECISION = 0.9  # of what is shown by default, by cross-validation
BIN = 50  # findings from which a bin of stated probabilities is judged
FOR = ("to.literal", "to.default", "value.catalogue", "value.moved", "value.annotation")
AGAINST = ("doubt.",)


class Judged(NamedTuple):
    """A finding that ran: its package, half, items, and whether it waited."""

    package: str
    half: str
    items: frozenset[str]
    waits: bool


def judged(keep: Path) -> Iterator[Judged]:
    """Yield the findings of today's linter in what the records say ran."""
    packages = tomli.loads((ROOT / "benchmarks/truth/packages.toml").read_text(encoding="utf-8"))
    for record in table.records(truth.RECORDS):
        name = record["package"]
        entry = truth.DEFAULTS | packages[name]
        python, folders = truth.installed(name, entry)
        kept = keep / f"{name}.json"
        found = joined.findings(python, folders, kept, entry["exclude"])
        for finding, verdict in joined.again(record, found):
            if verdict != "unseen":
                waits = verdict in ("confirmed", "repeated")
                yield Judged(name, record["half"], frozenset(finding["evidence"]), waits)


def labelled(sources: Path, keep: Path) -> Iterator[Judged]:
    """Yield the findings in labelled files of packages whose source is there."""
    for half in ("dev", "test"):
        of_package: dict[str, list[accuracy.Labels]] = {}
        for labels in accuracy.read_labels(accuracy.HERE / "accuracy" / "labels" / half):
            of_package.setdefault(labels.package, []).append(labels)
        for package, files in of_package.items():
            kept = keep / f"{package}.{half}.labels.json"
            if not (sources / package).is_dir():
                continue
            if not kept.exists():
                paths = [labels.path for labels in files]
                command = (sys.executable, "-m", "asyncguard", "check", "--no-cache", "--exit-zero")
                asked = ("--select", "ALL", "--format", "json", *paths)
                done = subprocess.run(
                    [*command, *asked],
                    cwd=sources / package,
                    env=os.environ | {"PYTHONPATH": str(ROOT)},
                    capture_output=True,
                    check=True,
                )
                kept.write_bytes(done.stdout)
            name = package.rpartition("-")[0].lower().replace("_", "-")
            for finding in json.loads(kept.read_bytes()):
                verdict = _by_label(finding, files)
                if verdict is not None:
                    yield Judged(name, half, frozenset(finding["evidence"]), verdict)


def _by_label(finding: dict[str, Any], files: Sequence[accuracy.Labels]) -> bool | None:
    """Return whether a finding waits, by the labels of its file; None where they do not say."""
    labels = next((one for one in files if one.path == finding["path"]), None)
    code, lines = finding["code"], range(finding["line"], finding["end_line"] + 1)
    if labels is None or not code.startswith(joined.WAITS):
        return None
    here = [s for s in labels.sites if not accuracy.lines_of(s).isdisjoint(lines)]
    if any(code in accuracy.codes_of(site) for site in here):
        return True
    looks = any(n["line"] in lines and n["code"] == code for n in labels.negatives)
    told = labels.complete and finding["loop"] == "step" and not here
    return False if looks or told else None


def matrix(rows: Sequence[Judged], items: Sequence[str]) -> np.ndarray:
    """Return a row of zeros and ones a finding, the first for the base."""
    at = {item: index for index, item in enumerate(items, 1)}
    made = np.zeros((len(rows), len(items) + 1))
    made[:, 0] = 1
    for row, each in zip(made, rows, strict=True):
        row[[at[item] for item in each.items if item in at]] = 1
    return made


def importance(rows: Sequence[Judged]) -> np.ndarray:
    """Return the weight of each finding: a package counts as the root of its findings."""
    counts = Counter(row.package for row in rows)
    return np.array([counts[row.package] ** -0.5 for row in rows])


def fit(rows: Sequence[Judged], items: Sequence[str], penalty: float) -> np.ndarray:
    """Return the base and a weight an item, by accelerated proximal gradient descent."""
    x, y, w = matrix(rows, items), np.array([r.waits for r in rows], float), importance(rows)
    w = w / w.sum()
    low = np.array([-np.inf] + [0 if item in FOR else -np.inf for item in items])
    high = np.array([np.inf] + [0 if item.startswith(AGAINST) else np.inf for item in items])
    step = 4 / np.linalg.norm(x * np.sqrt(w)[:, None], 2) ** 2
    known = ahead = np.zeros(x.shape[1])
    pace = 1.0
    for _ in range(1500):
        gradient = x.T @ (w * (1 / (1 + np.exp(-x @ ahead)) - y))
        moved = ahead - step * gradient
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0)
        shrunk[0] = moved[0]
        new = np.clip(shrunk, low, high)
        following = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / following * (new - known)
        known, pace = new, following
    return known


def stated(rows: Sequence[Judged], items: Sequence[str], theta: np.ndarray) -> np.ndarray:
    """Return the probability of each finding."""
    return np.asarray(1 / (1 + np.exp(-matrix(rows, items) @ theta)))


def held_out(rows: Sequence[Judged], items: Sequence[str], penalty: float) -> np.ndarray:
    """Return each finding's probability by a fit that saw nothing of its package."""
    packages = sorted({row.package for row in rows}, key=lambda name: truth.digest(name))
    fold = {package: index % FOLDS for index, package in enumerate(packages)}
    found = np.zeros(len(rows))
    for number in range(FOLDS):
        out = np.array([fold[row.package] == number for row in rows])
        seen = [row for row, left in zip(rows, out, strict=True) if not left]
        asked = [row for row, left in zip(rows, out, strict=True) if left]
        if asked:
            found[out] = stated(asked, items, fit(seen, items, penalty))
    return found


def loss(rows: Sequence[Judged], found: np.ndarray) -> float:
    """Return the mean cross-entropy, in nats."""
    y, w = np.array([row.waits for row in rows]), importance(rows)
    each = -np.log(np.clip(np.where(y, found, 1 - found), 1e-6, 1))
    return float((each * w).sum() / w.sum())


def thresholds(rows: Sequence[Judged], found: np.ndarray) -> list[dict[str, float]]:
    """Return precision, and the share of the waits kept, from each probability on."""
    y = np.array([row.waits for row in rows])
    told = []
    for least in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
        shown = found >= least
        told.append(
            {
                "from": least,
                "findings": int(shown.sum()),
                "precision": round(float(y[shown].mean()), 3) if shown.any() else 0.0,
                "kept": round(float(y[shown].sum() / y.sum()), 3),
            }
        )
    return told


def reliability(rows: Sequence[Judged], found: np.ndarray) -> list[dict[str, float]]:
    """Return, for each tenth of stated probability, how many findings are true."""
    y = np.array([row.waits for row in rows])
    told = []
    for lower in range(10):
        here = (found >= lower / 10) & (found < (lower + 1) / 10 + (lower == 9))
        if here.sum() >= BIN:
            said, true = float(found[here].mean()), float(y[here].mean())
            row = {"stated": round(said, 3), "true": round(true, 3), "findings": int(here.sum())}
            told.append(row)
    return told


def decides(rows: Sequence[Judged], items: Sequence[str], theta: np.ndarray, least: float) -> Any:
    """Return for each item its weight, its packages, and those in which a verdict hangs on it."""
    found = matrix(rows, items) @ theta
    bound = np.log(least / (1 - least))
    table: dict[str, Any] = {}
    for index, item in enumerate(items, 1):
        if not theta[index]:
            continue
        has = [(row, total) for row, total in zip(rows, found, strict=True) if item in row.items]
        turned = {
            row.package for row, total in has if (total >= bound) != (total - theta[index] >= bound)
        }
        table[item] = {
            "weight": round(float(theta[index]), 3),
            "packages": len({row.package for row, _ in has}),
            "findings": len(has),
            "decides_in": len(turned),
        }
    return table


def write(table: dict[str, Any], base: float, shown: float, sure: float) -> None:
    """Write the weights for the linter, those that speak for a wait first."""
    lines = [
        "# What each item of evidence is worth: the logarithm of the odds that a place waits.",
        "# Fitted by benchmarks/evidence.py on what really waited; do not edit by hand.",
        "schema = 1",
        f"shown = {shown}  # the least probability of what is shown by default",
        f"sure = {sure}  # from here on it is called certain",
        "",
        "[weight]",
        f"base = {base:.3f}",
    ]
    for item, row in sorted(table.items(), key=lambda each: -each[1]["weight"]):
        lines.append(f'"{item}" = {row["weight"]:.3f}  # in {row["packages"]} packages')
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def least_for(rows: Sequence[Judged], found: np.ndarray, precision: float) -> float:
    """Return the least probability, in hundredths, from which that many are true."""
    y = np.array([row.waits for row in rows])
    for hundredth in range(5, 100):
        shown = found >= hundredth / 100
        if shown.any() and y[shown].mean() >= precision:
            return hundredth / 100
    return 0.99


def main() -> int:
    """Fit, or score what is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--sources", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        rows = list(judged(keep))
        read = list(labelled(options.sources.resolve(), keep)) if options.sources else []
    # What the catalogue reports on request alone is decided there.
    rows = [row for row in rows if f"{ENTRY}low" not in row.items]
    read = [row for row in read if f"{ENTRY}low" not in row.items]
    ran = [row for row in rows if row.half == "dev"]
    dev = ran + [row for row in read if row.half == "dev"]
    test = [row for row in rows if row.half == "test"]
    test_labels = [row for row in read if row.half == "test"]
    if options.check:
        for name, half in (("dev", dev), ("test", test), ("test labels", test_labels)):
            found = np.array([probability(row.items) for row in half])
            print(name, json.dumps(thresholds(half, found)))
        return 0
    seen: dict[str, set[str]] = {}
    for row in dev:
        for item in row.items:
            seen.setdefault(item, set()).add(row.package)
    items = sorted(item for item, packages in seen.items() if len(packages) >= PACKAGES)
    tried = {penalty: held_out(dev, items, penalty) for penalty in PENALTIES}
    losses = {penalty: loss(dev, found) for penalty, found in tried.items()}
    alike = [each for each, value in losses.items() if value <= min(losses.values()) + TIE]
    penalty = min(alike)  # the least of equals: rare doubts keep their say
    theta = fit(dev, items, penalty)
    small = np.argsort(-np.abs(theta[1:]))[MOST:] + 1
    theta[small] = 0
    theta[np.abs(theta) < 0.01] = 0
    shown = least_for(dev, tried[penalty], PRECISION)
    sure = max(least_for(dev, tried[penalty], 0.95), shown)
    weighed = decides(dev, items, theta, shown)
    write(weighed, float(theta[0]), shown, sure)
    result = {
        "findings": {
            "ran": len(ran),
            "labelled": len(dev) - len(ran),
            "test_ran": len(test),
            "test_labelled": len(test_labels),
        },
        "penalties": {str(each): round(value, 4) for each, value in losses.items()},
        "penalty": penalty,
        "items": {"occurring": len(seen), "fitted": len(items), "weighing": len(weighed)},
        "shown": shown,
        "sure": sure,
        "left_out": {
            "thresholds": thresholds(dev, tried[penalty]),
            "reliability": reliability(dev, tried[penalty]),
        },
        "test_half": {
            "thresholds": thresholds(test, stated(test, items, theta)),
            "reliability": reliability(test, stated(test, items, theta)),
        },
        "test_labels": {
            "thresholds": thresholds(test_labels, stated(test_labels, items, theta)),
            "reliability": reliability(test_labels, stated(test_labels, items, theta)),
        }
        if test_labels
        else {},
        "weights": dict(sorted(weighed.items(), key=lambda each: -each[1]["weight"])),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in result.items() if k != "weights"}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
