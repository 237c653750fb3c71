"""Many ranks of one run: where they differ, who was late, who waited for whom.

Each rank writes its own trace; nothing is exchanged while the program runs. At a collective or a
barrier every rank leaves when the last one has come, so the rank that waited least came last: it is
the straggler, and what the others waited longer than it is what they waited for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from asyncguard import catalogue
from asyncguard.model import SiteStats, TraceRecord


@dataclass(frozen=True)
class RankSite:
    """One site over all ranks: waits and stall (nanoseconds) by rank, in rank order."""

    site: SiteStats  # of the rank that stalled longest
    counts: tuple[int, ...]
    stalls_ns: tuple[int, ...]
    collective: bool

    @property
    def spread_ns(self) -> int:
        """How much longer the longest waiting rank stalled than the shortest waiting one."""
        return max(self.stalls_ns) - min(self.stalls_ns)


@dataclass(frozen=True)
class RankReport:
    """The ranks of one run beside each other; all tuples are in rank order."""

    ranks: tuple[int, ...]
    totals: tuple[int, ...]  # sync points
    stalls_ns: tuple[int, ...]
    durations_ns: tuple[int, ...]
    sites: tuple[RankSite, ...]  # the largest spread first
    straggler: int | None  # the rank that others waited for at collectives; None without any
    waited_for_straggler_ns: tuple[int, ...]


def is_ranked(records: Sequence[TraceRecord]) -> bool:
    """Whether these are traces of different ranks, to be merged rather than listed."""
    ranks = [record.extra.get("rank") for record in records]
    told = all(isinstance(rank, int) for rank in ranks)
    return len(records) > 1 and told and len(set(ranks)) == len(ranks)


def merge(records: Sequence[TraceRecord]) -> RankReport:
    """Put the traces of several ranks beside each other."""
    ordered = sorted(records, key=lambda record: int(record.extra["rank"]))
    sites = _sites(ordered)
    ranks = tuple(int(record.extra["rank"]) for record in ordered)
    waited = [
        sum(site.stalls_ns[index] for site in sites if site.collective)
        for index in range(len(ordered))
    ]
    has_collective = any(site.collective for site in sites)
    last = min(waited) if has_collective else 0
    return RankReport(
        ranks,
        tuple(record.total_syncs for record in ordered),
        tuple(record.cpu_stall_ns for record in ordered),
        tuple(record.duration_ns for record in ordered),
        sites,
        ranks[waited.index(last)] if has_collective else None,
        tuple(wait - last for wait in waited),
    )


def _sites(ordered: Sequence[TraceRecord]) -> tuple[RankSite, ...]:
    groups: dict[tuple[str, int, str, str], dict[int, SiteStats]] = defaultdict(dict)
    for index, record in enumerate(ordered):
        for site in record.sites:
            groups[site.path, site.line, site.function, site.api][index] = site
    made = (_site(group, len(ordered)) for group in groups.values())
    return tuple(sorted(made, key=lambda site: -site.spread_ns))


def _site(group: dict[int, SiteStats], ranks: int) -> RankSite:
    longest = max(group.values(), key=lambda site: site.cpu_stall_ns)
    return RankSite(
        longest,
        tuple(group[index].count if index in group else 0 for index in range(ranks)),
        tuple(group[index].cpu_stall_ns if index in group else 0 for index in range(ranks)),
        _is_collective(longest.api),
    )


def _is_collective(api: str) -> bool:
    """Whether every rank takes part in it: the catalogue says that it waits for the others."""
    try:
        return catalogue.load()[api].waits_for == "ranks"
    except KeyError:  # an API of a third party's adapter that brings no catalogue entry
        return False
