"""The order of findings: how often they wait, from how many places, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from asyncguard.catalogue import load
from asyncguard.lint.labels import ERRORS
from asyncguard.model import Confidence, Finding, Loop, SyncKind

# What a finding counts for each call site: how likely it is to be true.
LIKELIHOOD = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.5, Confidence.LOW: 0.1}
UPLOAD = 0.5  # of a read
_OFTEN = {Loop.STEP: 0, Loop.EPOCH: 1, Loop.NONE: 2}
_UNREADABLE = "ASG000"  # what could not be looked at comes before all that was found
ORDERS = ("impact", "path")
KEYS: Mapping[str, Callable[[Finding], str]] = {
    "rule": lambda finding: finding.code,
    "function": lambda finding: f"{finding.path}: {finding.function or '<module>'}",
    "file": lambda finding: finding.path,
    "cause": lambda finding: finding.api or finding.code,
}


class Group(NamedTuple):
    """Findings that have a rule, function, file or cause in common."""

    title: str
    findings: tuple[Finding, ...]


def by_place(finding: Finding) -> tuple[str, int, int, int, str, int, int, str]:
    """Order by place and code; of several at one, the smaller expression first."""
    place = finding.path, finding.cell or 0, finding.line, finding.column, finding.code
    return *place, finding.end_line, finding.end_column, finding.api


def by_impact(finding: Finding) -> tuple[object, ...]:
    """Order by what fails, by hotness, by the number of hot places to expect, then by place."""
    worst = finding.code != _UNREADABLE, finding.code not in ERRORS
    return *worst, _OFTEN[finding.loop], finding.guarded, -weight(finding), by_place(finding)


def weight(finding: Finding) -> float:
    """Return how many call sites wait there, each counted as likely as the finding is.

    An upload counts half: it waits for its own copy, and not for all that was enqueued before.
    """
    sites = LIKELIHOOD[finding.confidence] * max(len(finding.reached_from), 1)
    return sites * UPLOAD if finding.api in _uploads() else sites


@lru_cache(maxsize=1)
def _uploads() -> frozenset[str]:
    return frozenset(point.id for point in load() if point.kind is SyncKind.UPLOAD)


def ordered(findings: Iterable[Finding], order: str) -> list[Finding]:
    """Return the findings in one of the ORDERS."""
    return sorted(findings, key=by_impact if order == "impact" else by_place)


def groups(findings: Sequence[Finding], key: str) -> list[Group]:
    """Put findings together by one of the KEYS; the group that weighs most first."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(KEYS[key](finding), []).append(finding)
    made = [Group(title, tuple(members)) for title, members in found.items()]
    return sorted(made, key=lambda group: (-sum(map(weight, group.findings)), group.title))
