#!/usr/bin/env python3
"""Fit what each item of evidence is worth: on what really waited, and on what readers judged.

    python benchmarks/evidence.py [--sources DIR] [--contact DIR] [--check] [--keep DIR]

Two questions are fitted, each by a sparse logistic model (L1): whether a finding waits, and whether
one that waits and is said to run in every step does so. Three kinds of judged findings answer them.
Those in the packages of benchmarks/truth, joined with the record of what ran, tell what waits.
Those in the files that benchmarks/accuracy labels are judged by the labels, where --sources has the
packages (see benchmarks/accuracy/README.md). Those that first_contact.py drew at random were judged
by reading, where --contact has the repositories, in folders of their names. The first two come from
code that the linter was mended on: what they have in common beyond their items weighs for the fit
alone. Whole packages are left out in turn to choose the penalty, and for all figures; the test
halves are scored once, with the weights of all of the development half.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asyncguard.lint.evidence import words
from asyncguard.lint.evidence.weights import ENTRY, probability, says_hot
from asyncguard.lint.names import family
from benchmarks import accuracy
from benchmarks.truth import joined, table, truth

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "rules" / "evidence.toml"
RESULTS = ROOT / "benchmarks" / "results" / "evidence.json"
CONTACT = ROOT / "benchmarks" / "results" / "first_contact.json"
FOLDS = 30
PENALTIES = (0.0005, 0.001)  # of the size of weights: it makes small ones none
PACKAGES = 3  # of the development half in which an item must occur
WORDS = 8  # and in which a word must, of which there are many
MOST = 150  # items that keep a weight, of both questions together
TIE = 0.005  # nats, in which fits are equally good
FLAT = 0.003  # of F1, within which probabilities are as good
SURE = 0.9  # share of the findings called certain that are true, by cross-validation
BIN = 50  # findings from which a bin of stated probabilities is judged
FOR = ("to.literal", "to.default", "value.catalogue", "value.moved", "value.annotation")
AGAINST = ("doubt.",)
# What readers took for no wait, and a GPU was measured to wait for: tests/runtime/cuda_rows.py.
MISJUDGED = frozenset({"torch.Tensor.__setitem__.number"})
RAN, LABELLED, READ = "ran", "labelled", "read"
Row = dict[str, Any]
TESTS = family("file.test")  # of which a check reports nothing by default


class Judged(NamedTuple):
    """A finding that was judged: its package, half, how it was, items, and whether it waits.

    `hot`: whether it does so in every step; None where that was not judged, or not said.
    """

    package: str
    half: str
    by: str
    items: frozenset[str]
    waits: bool
    hot: bool | None = None

    @property
    def true(self) -> bool:
        """Whether a report of it in every step is true."""
        return self.waits and self.hot is not False


class Question(NamedTuple):
    """What is asked of a finding, and of which: None is of none."""

    name: str
    answer: Callable[[Judged], bool | None]
    ridge: float  # penalty of the squares of weights: few answers take more, by cross-validation


def _waits(row: Judged) -> bool:
    return row.waits


def _is_hot(row: Judged) -> bool | None:
    return row.hot if row.waits else None


QUESTIONS = (
    Question("waits", _waits, 0.0005),
    Question("hot", _is_hot, 0.005),
)


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
                yield Judged(name, record["half"], RAN, frozenset(finding["evidence"]), waits)


def checked(folder: Path, paths: Sequence[str], kept: Path) -> list[Row]:
    """Return all findings in files of a folder, kept from before or found now."""
    if not kept.exists():
        command = (sys.executable, "-m", "asyncguard", "check", "--no-cache", "--exit-zero")
        done = subprocess.run(
            [*command, "--select", "ALL", "--format", "json", *paths],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
        kept.write_bytes(done.stdout)
    found: list[Row] = json.loads(kept.read_bytes())
    return found


def labelled(sources: Path, keep: Path) -> Iterator[Judged]:
    """Yield the findings in labelled files of packages whose source is there."""
    for half in ("dev", "test"):
        of_package: dict[str, list[accuracy.Labels]] = {}
        for labels in accuracy.read_labels(accuracy.HERE / "accuracy" / "labels" / half):
            of_package.setdefault(labels.package, []).append(labels)
        for package, files in of_package.items():
            if not (sources / package).is_dir():
                continue
            paths = [labels.path for labels in files]
            found = checked(sources / package, paths, keep / f"{package}.{half}.labels.json")
            name = package.rpartition("-")[0].lower().replace("_", "-")
            for finding in found:
                verdict = _by_label(finding, files)
                if verdict is not None:
                    items = frozenset(finding["evidence"])
                    yield Judged(name, half, LABELLED, items, *verdict)


def _by_label(finding: Row, files: Sequence[accuracy.Labels]) -> tuple[bool, bool | None] | None:
    """Return whether a finding waits, and is hot, by its file's labels; None if they do not say."""
    labels = next((one for one in files if one.path == finding["path"]), None)
    code, lines = finding["code"], range(finding["line"], finding["end_line"] + 1)
    if labels is None or not code.startswith(joined.WAITS):
        return None
    here = [s for s in labels.sites if not accuracy.lines_of(s).isdisjoint(lines)]
    sites = [site for site in here if code in accuracy.codes_of(site)]
    if sites:
        hot = any(s["context"] == "step" and not s.get("guarded") for s in sites)
        return True, hot if said_hot(finding) else None
    looks = any(n["line"] in lines and n["code"] == code for n in labels.negatives)
    told = labels.complete and finding["loop"] == "step" and not here
    return (False, None) if looks or told else None


def said_hot(finding: Row) -> bool:
    """Whether a finding says that it happens in every step."""
    return finding["loop"] == "step" and not finding["guarded"]


def read(contact: Path, keep: Path) -> Iterator[Judged]:
    """Yield the findings of repositories that were drawn at random and judged by reading."""
    rounds = json.loads(CONTACT.read_text(encoding="utf-8"))
    for row in (row for each in rounds.values() for row in each["repositories"]):
        name = row["repository"]
        if not (contact / name).is_dir():
            continue
        verdicts = {(path, line): verdict for path, line, verdict, *_ in row["lines"]}
        for finding in checked(contact / name, ["."], keep / f"{name}.contact.json"):
            asked = finding["code"].startswith(joined.WAITS) and said_hot(finding)
            if not asked or TESTS(finding["path"]):
                continue
            verdict = verdicts.get((finding["path"], finding["line"]), "?")
            if verdict == "?" or finding["api"] in MISJUDGED:
                continue
            items, hot = frozenset(finding["evidence"]), verdict in ("step", "again")
            yield Judged(name, "dev", READ, items, verdict != "none", hot)


class Matrix:
    """Rows of zeros and ones, one a finding; the first column is for the base."""

    def __init__(self, rows: Sequence[frozenset[str]], items: Sequence[str]) -> None:
        at = {item: index for index, item in enumerate(items, 1)}
        found = [[0, *(at[item] for item in row if item in at)] for row in rows]
        self.shape = len(rows), len(items) + 1
        self._rows = np.repeat(np.arange(len(rows)), [len(row) for row in found])
        self._columns = np.array([column for row in found for column in row], int)

    def times(self, theta: np.ndarray) -> np.ndarray:
        """Return the sum of each row's weights."""
        return np.bincount(self._rows, theta[self._columns], self.shape[0])

    def gathered(self, of_rows: np.ndarray) -> np.ndarray:
        """Return the sum of each column's rows."""
        return np.bincount(self._columns, of_rows[self._rows], self.shape[1])


def importance(rows: Sequence[Judged]) -> np.ndarray:
    """Return the weight of each finding: a package counts as the root of its findings."""
    counts = Counter(row.package for row in rows)
    return np.array([counts[row.package] ** -0.5 for row in rows])


def fit(question: Question, rows: Sequence[Judged], items: Sequence[str], penalty: float) -> Any:
    """Return the base and a weight an item: those that say most, fitted once more by themselves."""
    found = descended(question, rows, items, penalty)
    most = np.argsort(-np.abs(found[1:]))[: MOST // 2]
    kept = [index for index in sorted(most) if found[1 + index]]
    again = descended(question, rows, [items[index] for index in kept], penalty)
    found[:] = 0
    found[[0, *(1 + index for index in kept)]] = again
    return found


def descended(
    question: Question, rows: Sequence[Judged], items: Sequence[str], penalty: float
) -> Any:
    """Return the base and a weight an item, by accelerated proximal gradient descent."""
    taught = [*items, RAN, LABELLED]
    x = Matrix([row.items | {row.by} for row in rows], taught)
    y, w = np.array([question.answer(r) for r in rows], float), importance(rows)
    w = w / w.sum()
    low = np.array([-np.inf] + [0 if item in FOR else -np.inf for item in taught])
    high = np.array([np.inf] + [0 if item.startswith(AGAINST) else np.inf for item in taught])
    vector = np.ones(x.shape[1])  # of the largest singular value, by power iteration
    for _ in range(50):
        vector = x.gathered(w * x.times(vector / np.linalg.norm(vector)))
    free = np.array([0, *(0 if item in (RAN, LABELLED) else 1 for item in taught)])
    step = 1 / (1.1 * np.linalg.norm(vector) / 4 + question.ridge)
    known = ahead = np.zeros(x.shape[1])
    pace = 1.0
    for _ in range(1200):
        gradient = (
            x.gathered(w * (1 / (1 + np.exp(-x.times(ahead))) - y)) + question.ridge * free * ahead
        )
        moved = ahead - step * gradient
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty * free, 0)
        new = np.clip(shrunk, low, high)
        following = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = new + (pace - 1) / following * (new - known)
        known, pace = new, following
    return known[: len(items) + 1]


def stated(rows: Sequence[Judged], items: Sequence[str], theta: np.ndarray) -> np.ndarray:
    """Return the probability of each finding."""
    x = Matrix([row.items for row in rows], items)
    return np.asarray(1 / (1 + np.exp(-x.times(theta))))


def held_out(
    question: Question, rows: Sequence[Judged], items: Sequence[str], penalty: float
) -> np.ndarray:
    """Return each finding's probability by a fit that saw nothing of its package."""
    packages = sorted({row.package for row in rows}, key=lambda name: truth.digest(name))
    fold = {package: index % FOLDS for index, package in enumerate(packages)}
    found = np.zeros(len(rows))
    for number in range(FOLDS):
        out = np.array([fold[row.package] == number for row in rows])
        kept = [row for row, left in zip(rows, out, strict=True) if not left]
        asked = [row for row, left in zip(rows, out, strict=True) if left]
        if asked:
            known = [row for row in kept if question.answer(row) is not None]
            found[out] = stated(asked, items, fit(question, known, items, penalty))
    return found


def loss(question: Question, rows: Sequence[Judged], found: np.ndarray) -> float:
    """Return the mean cross-entropy, in nats, of what was read: the others are not at random."""
    known = np.array([row.by == READ and question.answer(row) is not None for row in rows])
    if not known.any():
        known = np.array([question.answer(row) is not None for row in rows])
    asked = [row for row, kept in zip(rows, known, strict=True) if kept]
    y, w, p = np.array([question.answer(r) for r in asked]), importance(asked), found[known]
    each = -np.log(np.clip(np.where(y, p, 1 - p), 1e-6, 1))
    return float((each * w).sum() / w.sum())


def thresholds(rows: Sequence[Judged], found: np.ndarray) -> list[dict[str, float]]:
    """Return precision, and the share of the true ones kept, from each probability on."""
    y = np.array([row.true for row in rows])
    told = []
    for least in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9):
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
    y = np.array([row.true for row in rows])
    told = []
    for lower in range(10):
        here = (found >= lower / 10) & (found < (lower + 1) / 10 + (lower == 9))
        if here.sum() >= BIN:
            said, true = float(found[here].mean()), float(y[here].mean())
            row = {"stated": round(said, 3), "true": round(true, 3), "findings": int(here.sum())}
            told.append(row)
    return told


def decides(
    rows: Sequence[Judged], items: Sequence[str], theta: np.ndarray, other: np.ndarray, least: float
) -> dict[str, Row]:
    """Return for each item its weight, its packages, and those in which a verdict hangs on it.

    `other`: the probabilities by the other question.
    """
    total = Matrix([row.items for row in rows], items).times(theta)
    shown = other / (1 + np.exp(-total)) >= least
    told: dict[str, Row] = {}
    for index, item in enumerate(items, 1):
        if not theta[index]:
            continue
        has = np.array([item in row.items for row in rows])
        without = other / (1 + np.exp(theta[index] - total)) >= least
        turned = has & (shown != without)
        told[item] = {
            "weight": round(float(theta[index]), 3),
            "packages": len({row.package for row, here in zip(rows, has, strict=True) if here}),
            "findings": int(has.sum()),
            "decides_in": len({r.package for r, here in zip(rows, turned, strict=True) if here}),
        }
    return told


def write(
    tables: dict[str, dict[str, Row]], bases: dict[str, float], shown: float, sure: float
) -> None:
    """Write the weights for the linter, those that speak for a question first."""
    lines = [
        "# What each item of evidence is worth: the logarithm of the odds that a place waits, and",
        "# that one of which it is said does so in every step.",
        "# Fitted by benchmarks/evidence.py on what was run and read; do not edit by hand.",
        "schema = 2",
        f"shown = {shown}  # the least probability of what is shown by default",
        f"sure = {sure}  # from here on it is called certain",
    ]
    for name, weighed in tables.items():
        lines += ["", f"[{name}]", f"base = {bases[name]:.3f}"]
        for item, row in sorted(weighed.items(), key=lambda each: -each[1]["weight"]):
            lines.append(f'"{item}" = {row["weight"]:.3f}  # in {row["packages"]} packages')
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def balanced(rows: Sequence[Judged], found: np.ndarray) -> float:
    """Return the probability, in hundredths, from which precision and recall have the best mean.

    Their harmonic mean, F1, over what the linter finds at all. Of those that are as good but for
    chance, it is the middle one.
    """
    y = np.array([row.true for row in rows])
    shown = [found >= hundredth / 100 for hundredth in range(5, 96)]
    means = np.array([2 * y[here].sum() / (here.sum() + y.sum()) for here in shown])
    good = np.flatnonzero(means >= means.max() - FLAT)
    return (5 + int(good[len(good) // 2])) / 100


def least_for(rows: Sequence[Judged], found: np.ndarray, precision: float) -> float:
    """Return the least probability, in hundredths, from which so many are true."""
    y = np.array([row.true for row in rows])
    for hundredth in range(5, 100):
        shown = found >= hundredth / 100
        if shown.any() and y[shown].mean() >= precision:
            return hundredth / 100
    return 0.99


def of(rows: Sequence[Judged], by: str) -> np.ndarray:
    """Return which rows were judged in that way."""
    return np.array([row.by == by for row in rows], bool)


def fitted(dev: Sequence[Judged], question: Question) -> tuple[list[str], Any, np.ndarray, Row]:
    """Return the items of a question, their weights, what is held out, and how it was chosen."""
    seen: dict[str, set[str]] = {}
    for row in dev:
        if question.answer(row) is not None:
            for item in row.items:
                seen.setdefault(item, set()).add(row.package)
    items = sorted(item for item, packages in seen.items() if len(packages) >= _least(item))
    tried = {penalty: held_out(question, dev, items, penalty) for penalty in PENALTIES}
    losses = {penalty: loss(question, dev, found) for penalty, found in tried.items()}
    alike = [each for each, value in losses.items() if value <= min(losses.values()) + TIE]
    penalty = min(alike)  # the least of equals: rare doubts keep their say
    known = [row for row in dev if question.answer(row) is not None]
    theta = fit(question, known, items, penalty)
    theta[np.abs(theta) < 0.01] = 0
    chosen = {
        "findings": len(known),
        "penalties": {str(each): round(value, 4) for each, value in losses.items()},
        "penalty": penalty,
        "items": {
            "occurring": len(seen),
            "fitted": len(items),
            "weighing": int((theta[1:] != 0).sum()),
        },
    }
    return items, theta, tried[penalty], chosen


def _least(item: str) -> int:
    """Return in how many packages an item must occur to be fitted."""
    return WORDS if item.startswith(words.WORDS) else PACKAGES


def together(rows: Sequence[Judged], waits: np.ndarray, hot: np.ndarray) -> np.ndarray:
    """Return the probabilities that the linter states: of a wait, in each step if it says so."""
    said = np.array([says_hot(row.items) for row in rows], bool)
    return np.where(said, waits * hot, waits)


def main() -> int:
    """Fit, or score what is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--sources", type=Path)
    parser.add_argument("--contact", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        rows = list(judged(keep))
        rows += labelled(options.sources.resolve(), keep) if options.sources else []
        rows += read(options.contact.resolve(), keep) if options.contact else []
    # What the catalogue reports on request alone is decided there.
    rows = [row for row in rows if f"{ENTRY}low" not in row.items]
    dev = [row for row in rows if row.half == "dev"]
    parts = {
        "test_half": [row for row in rows if row.half == "test" and row.by == RAN],
        "test_labels": [row for row in rows if row.half == "test" and row.by == LABELLED],
    }
    if options.check:
        for name, half in {"dev": dev, **parts}.items():
            found = np.array([probability(row.items) for row in half])
            print(name, json.dumps(thresholds(half, found)))
        return 0
    fits = {question.name: fitted(dev, question) for question in QUESTIONS}
    left_out = together(dev, fits["waits"][2], fits["hot"][2])
    drawn = of(dev, READ) if of(dev, READ).any() else np.ones(len(dev), bool)
    random = [row for row, here in zip(dev, drawn, strict=True) if here]
    shown = balanced(random, left_out[drawn])
    sure = max(least_for(random, left_out[drawn], SURE), shown)

    def by_fit(half: Sequence[Judged]) -> dict[str, np.ndarray]:
        return {name: stated(half, items, theta) for name, (items, theta, *_) in fits.items()}

    on_dev = by_fit(dev)
    others = {"waits": on_dev["hot"], "hot": on_dev["waits"]}
    tables = {
        name: decides(dev, items, theta, others[name], shown)
        for name, (items, theta, *_) in fits.items()
    }
    write(tables, {name: float(theta[0]) for name, (_, theta, *_) in fits.items()}, shown, sure)
    result: Row = {
        "findings": dict(Counter(f"{row.half} {row.by}" for row in rows)),
        "questions": {name: chosen for name, (*_, chosen) in fits.items()},
        "shown": shown,
        "sure": sure,
        "left_out": {},
    }
    for way in (RAN, LABELLED, READ):
        here = of(dev, way)
        some = [row for row, is_in in zip(dev, here, strict=True) if is_in]
        if some:
            result["left_out"][way] = {
                "thresholds": thresholds(some, left_out[here]),
                "reliability": reliability(some, left_out[here]),
            }
    for name, half in parts.items():
        if half:
            found = by_fit(half)
            both = together(half, found["waits"], found["hot"])
            result[name] = {
                "thresholds": thresholds(half, both),
                "reliability": reliability(half, both),
            }
    result["weights"] = {
        name: dict(sorted(rows.items(), key=lambda each: -each[1]["weight"]))
        for name, rows in tables.items()
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({k: v for k, v in result.items() if k != "weights"}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
