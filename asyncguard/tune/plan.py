"""Which repairs to make: those of places that waited in the run, the largest saving first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asyncguard.advise.changes import Changes
from asyncguard.advise.ranking import Candidate, ranked
from asyncguard.advise.repairs import Hot, hot_sites, repaired
from asyncguard.advise.replay import Replay, is_replayable
from asyncguard.lint.source.fixes import choose
from asyncguard.model import Finding, SiteStats, Suggestion, TraceRecord


class Step(NamedTuple):
    """One repair, the sites whose waits it takes away, and what it is predicted to save a step."""

    finding: Finding
    sites: tuple[SiteStats, ...]
    saving_ns: int | None
    low_ns: int | None
    high_ns: int | None


def plan(folder: Path, record: TraceRecord, *, unsafe: bool) -> tuple[list[Step], list[Finding]]:
    """Return the repairs to make, best first, and the findings that waited but have none.

    A repair that is predicted to save nothing is not made. Raises AsyncguardError where a traced
    file cannot be checked.
    """
    hot = hot_sites(folder, record)
    found = [finding for path in sorted(hot) for finding in repaired(path, hot[path])]
    chosen = choose(_unique(found), unsafe=unsafe)
    steps = _ranked(record, [_step(finding, hot) for finding in chosen])
    made = [step for step in steps if step.saving_ns is None or step.saving_ns > 0]
    done = {(f.path, f.line) for f in found if f.fix in [step.finding.fix for step in made]}
    left = [finding for finding in found if (finding.path, finding.line) not in done]
    return made, left


def _unique(found: Sequence[Finding]) -> list[Finding]:
    """Leave out findings whose repair another has as well: it is made once."""
    fixes = {(f.path, f.fix): f for f in reversed(found) if f.fix is not None}
    return [f for f in found if f.fix is not None and fixes[f.path, f.fix] is f]


def _step(finding: Finding, hot: Hot) -> Step:
    lines = hot[Path(finding.path).resolve()]
    sites = [s for line in range(finding.line, finding.end_line + 1) for s in lines.get(line, ())]
    return Step(finding, tuple(sites), None, None, None)


def _ranked(record: TraceRecord, steps: Sequence[Step]) -> list[Step]:
    """Order the repairs by what replay predicts, each beyond those above it."""
    if not is_replayable(record) or not steps:
        return sorted(steps, key=lambda step: -sum(site.cpu_stall_ns for site in step.sites))
    numbers = {id(site): number for number, site in enumerate(record.sites)}
    candidates = []
    for number, step in enumerate(steps):
        changes = Changes(remove=frozenset(numbers[id(site)] for site in step.sites))
        suggestion = Suggestion(str(number), "", step.sites, 0.0, None)
        candidates.append(Candidate(suggestion, changes))
    told = ranked(Replay(record), candidates)
    return [
        steps[int(s.title.rpartition(" ")[2])]._replace(
            saving_ns=s.saving_ns_per_step, low_ns=s.saving_low_ns, high_ns=s.saving_high_ns
        )
        for s in told
    ]
