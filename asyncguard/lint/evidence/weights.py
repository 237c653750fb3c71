"""What each item of evidence is worth, and the probability that some make together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from asyncguard import prepared
from asyncguard.catalogue import EVIDENCE, CatalogueError, rules_directory
from asyncguard.lint.domain.explained import PLACE
from asyncguard.model import Confidence, Finding

ENTRY = "entry."  # before the most that the catalogue lets the linter claim for an API


class Weights(NamedTuple):
    """What `rules/evidence.toml` says: items that it does not list weigh nothing."""

    shown: float  # the least probability of a finding of medium confidence, shown by default
    sure: float  # and of one of high confidence
    base: float
    items: Mapping[str, float]


@cache
def weights() -> Weights:
    """Return what was fitted; raises CatalogueError if the file is not as rules/README.md says."""
    path = rules_directory() / EVIDENCE
    data: Mapping[str, Any] = prepared.toml(path)
    try:
        items = {str(name): float(weight) for name, weight in data["weight"].items()}
        return Weights(float(data["shown"]), float(data["sure"]), items.pop("base"), items)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CatalogueError(f"{path}: {error!r}; see rules/README.md") from error


def weighed(finding: Finding, *more: str) -> Finding:
    """Give a finding of a wait its probability, by all that is known of it once it is linked."""
    if not finding.evidence:
        return finding
    evidence = tuple(sorted({*finding.evidence, *_of_way(finding), *more}))
    found = round(probability(evidence), 3)
    words = in_words(found)
    if f"{ENTRY}{Confidence.LOW.value}" in evidence:
        words = Confidence.LOW  # the catalogue reports it on request alone
    return replace(finding, evidence=evidence, probability=found, confidence=words)


def of_way(callers: Sequence[str]) -> Iterator[str]:
    """Yield what the callers on the way to a place tell: how many there are, and their names."""
    yield f"calls.{min(len(callers), 3)}"
    for caller in callers:
        yield from words("caller", caller)


def words(about: str, name: str) -> Iterator[str]:
    """Yield an item for each word in a name: `log_images` and `LogImages` have two."""
    return (f"{about}.{word.lower()}" for word in _WORD.findall(name))


_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])")


def in_words(probability: float) -> Confidence:
    """Return how sure a probability makes."""
    if probability < weights().shown:
        return Confidence.LOW
    return Confidence.HIGH if probability >= weights().sure else Confidence.MEDIUM


def probability(items: Iterable[str]) -> float:
    """Return how probable it is that a place waits of which all this is the case, 0 to 1."""
    known = weights()
    total = known.base + math.fsum(known.items.get(item, 0.0) for item in items)
    return 1 / (1 + math.exp(-total))


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
