"""What each item of evidence is worth, and the probability that some make together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from asyncguard import prepared
from asyncguard.catalogue import EVIDENCE, CatalogueError, rules_directory
from asyncguard.lint.domain.explained import PLACE
from asyncguard.lint.labels import IN_GRAPHS
from asyncguard.model import Confidence, Finding

ENTRY = "entry."  # before the most that the catalogue lets the linter claim for an API
MAY_BE_LITTLE = "copy.may_be_little"  # so that it does not wait; a capture fails all the same


class Table(NamedTuple):
    """What items of evidence say to one question; those that are not listed say nothing."""

    base: float
    items: Mapping[str, float]

    def probability(self, items: Iterable[str]) -> float:
        """Return how probable a yes is where all this is the case, 0 to 1."""
        total = self.base + math.fsum(self.items.get(item, 0.0) for item in items)
        return 1 / (1 + math.exp(-total))


class Weights(NamedTuple):
    """What `rules/evidence.toml` says."""

    shown: float  # the least probability of a finding of medium confidence, shown by default
    sure: float  # and of one of high confidence
    waits: Table  # whether a place waits
    hot: Table  # whether one that waits, and is said to run in every step, does


@cache
def weights() -> Weights:
    """Return what was fitted; raises CatalogueError if the file is not as rules/README.md says."""
    path = rules_directory() / EVIDENCE
    data: Mapping[str, Any] = prepared.toml(path)
    try:
        waits, hot = (
            {str(name): float(weight) for name, weight in data[question].items()}
            for question in ("waits", "hot")
        )
        tables = Table(waits.pop("base"), waits), Table(hot.pop("base"), hot)
        return Weights(float(data["shown"]), float(data["sure"]), *tables)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CatalogueError(f"{path}: {error!r}; see rules/README.md") from error


def weighed(finding: Finding, *more: str) -> Finding:
    """Give a finding of a wait its probability, by all that is known of it once it is linked."""
    if not finding.evidence:
        return finding
    evidence = tuple(sorted({*finding.evidence, *_of_way(finding), *more}))
    waits = finding.code in IN_GRAPHS or not says_hot(evidence)  # whatever runs once fails once
    found = round(weights().waits.probability(evidence) if waits else probability(evidence), 3)
    words = in_words(found)
    unsized = MAY_BE_LITTLE in evidence and finding.code not in IN_GRAPHS
    if unsized or f"{ENTRY}{Confidence.LOW.value}" in evidence:
        words = Confidence.LOW  # on request alone
    return replace(finding, evidence=evidence, probability=found, confidence=words)


def of_way(calls: int, conditions: int) -> Iterator[str]:
    """Yield how many calls lead to a place, and how many conditions stand around them."""
    yield f"way.calls.{min(calls, 3)}"
    yield f"way.conditions.{min(conditions, 3)}"


def in_words(probability: float) -> Confidence:
    """Return how sure a probability makes."""
    if probability < weights().shown:
        return Confidence.LOW
    return Confidence.HIGH if probability >= weights().sure else Confidence.MEDIUM


def probability(items: Collection[str]) -> float:
    """Return how probable it is that a place waits of which all this is the case, 0 to 1.

    Where that says that it runs in every step: that it waits in every step.
    """
    waits = weights().waits.probability(items)
    return waits * weights().hot.probability(items) if says_hot(items) else waits


def says_hot(items: Collection[str]) -> bool:
    """Whether this says that a place runs in every step."""
    return "runs.step" in items and "runs.guarded" not in items


def _of_way(finding: Finding) -> Iterator[str]:
    """Yield what linking adds: how often the place runs, and who enters its function."""
    yield f"rule.{finding.code}"
    yield f"runs.{finding.loop.value}"
    if finding.guarded:
        yield "runs.guarded"
    if finding.reached_from:
        yield "reached.by_call"
    for reason in finding.reasons:
        if reason.about == PLACE and reason.kind:
            yield f"entered.{reason.kind}"
