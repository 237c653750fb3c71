"""What each item of evidence is worth, and the probability that some make together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from asyncguard import prepared
from asyncguard.catalogue import EVIDENCE, CatalogueError, rules_directory
from asyncguard.lint.domain.explained import PLACE
from asyncguard.model import Finding


@cache
def weights() -> Mapping[str, float]:
    """Return the weight of each item, by its name; one that is not listed weighs nothing.

    Raises CatalogueError if the file is not as `rules/README.md` says.
    """
    path = rules_directory() / EVIDENCE
    data: Mapping[str, Any] = prepared.toml(path)
    table = data.get("weight")
    if not isinstance(table, Mapping):
        raise CatalogueError(f"{path}: it has no table [weight]")
    return {name: float(value) for name, value in table.items()}


def weighed(finding: Finding) -> Finding:
    """Give a finding of a wait its probability, by all that is known of it once it is linked."""
    if not finding.evidence:
        return finding
    evidence = tuple(sorted({*finding.evidence, *_of_way(finding)}))
    return replace(finding, evidence=evidence, probability=round(probability(evidence), 3))


def probability(items: Iterable[str]) -> float:
    """Return how probable it is that a place waits of which all this is the case, 0 to 1."""
    known = weights()
    total = known["base"] + math.fsum(known.get(item, 0.0) for item in items)
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
