"""What is new, and what has grown, since a baseline.

Both comparisons match what stands in the baseline with what is there now, strictest identity
first: the same file, function, API and source text; then an edited line of the same function;
then a function renamed or a line moved to another one; then a file renamed. What stays unmatched
is a regression.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from asyncguard.gate.baseline import (
    FindingKey,
    Rate,
    SiteKey,
    finding_key,
    of_traces,
    portable,
    site_key,
)
from asyncguard.model import Finding, SiteStats, TraceRecord

_FINDING_IDENTITIES: tuple[Callable[[FindingKey], Hashable], ...] = (
    lambda key: key,
    lambda key: (key.path, key.function, key.code, key.api),
    lambda key: (key.path, key.code, key.api, key.source),
    lambda key: (key.function, key.code, key.api, key.source),
)
_SITE_IDENTITIES: tuple[Callable[[SiteKey], Hashable], ...] = (
    lambda key: key,
    lambda key: (key.path, key.function, key.framework, key.api),
    lambda key: (key.path, key.framework, key.api, key.source),
    lambda key: (key.function, key.framework, key.api, key.source),
)


@dataclass(frozen=True)
class GrownSite:
    """A sync point of a trace that is new or waits more often than the baseline allows."""

    site: SiteStats
    key: SiteKey
    before: Rate | None  # None: new
    now: Rate


class Matched(NamedTuple):
    """Findings held against what is accepted: which are new, and what is left of it."""

    new: tuple[Finding, ...]
    left: Mapping[FindingKey, int]

    @property
    def stale(self) -> list[FindingKey]:
        """The accepted findings that are not found any more."""
        return sorted(key for key, count in self.left.items() if count)


def match_findings(
    findings: Iterable[Finding],
    accepted: Mapping[FindingKey, int],
    files: Iterable[str],
    root: str | Path = "",
) -> Matched:
    """Hold the findings in `files` against what is accepted of these, and of files that are gone.

    What is accepted in a file that was not checked is of no account. `root` is what the baseline's
    paths are relative to: the working directory if it is empty.
    """
    checked = {portable(file, root) for file in files}
    budget = Counter(
        {
            key: count
            for key, count in accepted.items()
            if key.path in checked or not os.path.lexists(os.path.join(root, key.path))
        }
    )
    left: Sequence[Finding] = list(findings)
    for identity in _FINDING_IDENTITIES:
        left = _spend(left, budget, identity, root)
    return Matched(tuple(left), budget)


def pruned_findings(matched: Matched, accepted: Mapping[FindingKey, int]) -> dict[FindingKey, int]:
    """What is accepted and still found, or of files that were not checked."""
    kept = {key: count - matched.left.get(key, 0) for key, count in accepted.items()}
    return {key: count for key, count in kept.items() if count}


def stale_sites(records: Sequence[TraceRecord], accepted: Mapping[SiteKey, Rate]) -> list[SiteKey]:
    """The accepted sites that waited in none of the traces.

    A run that is shorter than the baseline's may not have come to one.
    """
    seen = set(matched(of_traces(records), accepted).values())
    longest = max((record.steady_steps or record.step_count for record in records), default=0)
    return [
        key for key, rate in sorted(accepted.items()) if key not in seen and longest >= rate.steps
    ]


def _spend(
    findings: Sequence[Finding],
    budget: Counter[FindingKey],
    identity: Callable[[FindingKey], Hashable],
    root: str | Path,
) -> list[Finding]:
    """Match findings against what is left of the budget; return those that stay unmatched."""
    available = defaultdict(list)
    for key in budget:
        available[identity(key)].append(key)
    unmatched = []
    for finding in findings:
        keys = available[identity(finding_key(finding, root))]
        while keys and not budget[keys[-1]]:
            keys.pop()
        if keys:
            budget[keys[-1]] -= 1
        else:
            unmatched.append(finding)
    return unmatched


def grown_sites(
    records: Sequence[TraceRecord], accepted: Mapping[SiteKey, Rate]
) -> tuple[GrownSite, ...]:
    """The sites that are new or wait more often a step than the baseline allows."""
    now = of_traces(records)
    before = {key: accepted[old] for key, old in matched(now, accepted).items()}
    sites = {site_key(site, record.root): site for record in records for site in record.sites}
    return tuple(
        GrownSite(sites[key], key, before.get(key), rate)
        for key, rate in now.items()
        if rate.count and has_grown(before.get(key), rate)
    )


def has_grown(before: Rate | None, now: Rate) -> bool:
    """Whether a site waits more often than before, in runs that need not be equally long.

    Where visits are known, those are compared: epochs more or fewer are no regression. A visit may
    come once more than the ratio of steps says, for where the runs ended; once as often is always
    allowed. What waits in a visit may vary: the most and the mean have to grow.
    """
    if before is None:
        return True
    known = now.visits and before.steps and (before.visits or not before.count)
    if not known:
        return now.count > allowance(before, now.steps)
    expected = math.ceil((before.visits + 1) * now.steps / before.steps)
    if now.visits > max(before.visits, expected):
        return True
    as_before = allowance(Rate(before.count, before.visits), now.visits)
    return bool(before.visits) and now.most > before.most and now.count > as_before


def allowance(before: Rate | None, steps: int) -> int:
    """How many waits `steps` steps may hold without being a regression.

    A whole number a step is exact. A site behind `step % n` waits once more or less depending on
    where the run ends, so a fractional rate allows one more.
    """
    if before is None:
        return 0
    expected = before.per_step * max(steps, 1)
    fractional = before.steps and before.count % before.steps
    return math.floor(expected + 1e-9) + (1 if fractional else 0)


def matched(now: Iterable[SiteKey], before: Iterable[SiteKey]) -> dict[SiteKey, SiteKey]:
    """Pair the sites of now with those of before, strictest identity first."""
    pairs: dict[SiteKey, SiteKey] = {}
    now, left = list(now), dict.fromkeys(before)
    for identity in _SITE_IDENTITIES:
        available = defaultdict(list)
        for key in left:
            available[identity(key)].append(key)
        for key in now:
            candidates = available[identity(key)]
            if key not in pairs and candidates:
                pairs[key] = candidates.pop(0)
                del left[pairs[key]]
    return pairs
