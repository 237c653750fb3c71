"""A run in a few sentences: what all formats that people read have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from asyncguard.model import STAND_IN, SiteStats, Suggestion, TraceRecord
from asyncguard.render.breaks import break_totals
from asyncguard.render.races import races
from asyncguard.render.words import count, duration, saving

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport, RankSite


def is_timed(site: SiteStats) -> bool:
    """Whether the times of a site mean something: not where the CPU stood in for a device."""
    return site.device != STAND_IN


def has_times(record: TraceRecord) -> bool:
    """Whether any time of the run means something."""
    return not record.sites or any(map(is_timed, record.sites))


BASES = {
    "measured": "measured",
    "modelled": "times are modelled",
    "stand-in": "counts are those of a GPU run, times are not",
}


def about(record: TraceRecord) -> str:
    """What the figures are of, and when that was: device, whether times are modelled, date."""
    started = str(record.extra.get("started", ""))
    when = started[:16].replace("T", " ") + " UTC" if started else ""
    return ", ".join(filter(None, (record.device, BASES.get(record.basis, ""), when)))


def in_order(record: TraceRecord) -> list[SiteStats]:
    """The sites as reports show them: those of steady steps before start-up and what came last."""
    if not record.steady_steps:
        return list(record.sites)
    return sorted(record.sites, key=lambda site: not site.steady_count)


WHY = {
    "pageable": "the source is pageable memory: copy from a pinned buffer",
    "gapped": "the host's side is pinned, but not one block of memory: make it one",
    "unpinned destination": "the destination is not pinned: make it with pin_memory=True",
}


def beside(site: SiteStats) -> str:
    """What is to be said of few waits: why a copy blocked, what calls that do more took in all."""
    parts = []
    if site.why is not None:
        parts.append(f"non_blocking=True blocks all the same: {WHY.get(site.why, site.why)}")
    if site.inclusive_ns is not None and is_timed(site):
        parts.append(f"the calls took {duration(site.inclusive_ns)} in all")
    return "; ".join(parts)


def totals(record: TraceRecord) -> Iterator[str]:
    """How often and how long the run waited, its steps, and what happened outside of them."""
    yield from summed(record)
    yield from details(record)


def summed(record: TraceRecord) -> Iterator[str]:
    """How often and how long the run waited, and its steps."""
    text = f"{count(record.total_syncs, 'wait')} at {count(len(record.sites), 'site')}"
    if has_times(record):
        text += (
            f"; Python spent {duration(record.cpu_stall_ns)} of {duration(record.duration_ns)} "
            f"({percent(record.cpu_stall_ns, record.duration_ns)}) waiting for the device"
        )
    yield text
    yield from record.troubles
    if record.syncs_per_step is not None:
        yield _steps(record, record.syncs_per_step)


def units(record: TraceRecord) -> Iterator[str]:
    """How often the units that the program named waited, a line for each name."""
    for each in record.extra.get("units", ()):
        whole, steady = (each["waits"], each["count"]), (each["steady_waits"], each["steady_count"])
        waits, of = steady if each["steady_count"] else whole
        most = f", at most {each['most']:,} in one" if each["steady_count"] > 1 else ""
        warm = f", the first {each['count'] - of:,} left out" if of < each["count"] else ""
        yield f"{waits / of:,.2f} waits per {each['name']} ({of:,} complete{warm}{most})"


def details(record: TraceRecord) -> Iterator[str]:
    """What happened in named units, outside of the steps, and to the device."""
    yield from units(record)
    yield from elsewhere(record)
    yield from races(record)
    yield from idle_time(record)
    yield from break_totals(record)


def idle_time(record: TraceRecord) -> Iterator[str]:
    """How long the device was idle because of the waits; nothing where that was not measured."""
    if record.gpu_stall_ns is not None:
        yield f"GPU idle time because of them: {duration(record.gpu_stall_ns)}"


def how_often(record: TraceRecord, site: SiteStats) -> str:
    """How often a site waits a step; in how many steps, where that is less than half of them.

    What waits only before the second step, or after the last one, is told apart from steps.
    """
    if record.step_count > 1 and site.last_step == 0:
        return "before the second step"
    if record.step_count and site.first_step is not None and site.first_step >= record.step_count:
        return "after the last step"
    if _is_rare(record, site):
        return f"in {site.steps:,} of {count(record.step_count, 'step')}"
    rate = record.per_step(site.count, site.steady_count)
    return "" if rate is None else f"{rate:,.2f} per step"


def worth(suggestions: Iterable[Suggestion]) -> list[tuple[str, list[Suggestion]]]:
    """The suggestions under their headings: those to follow, and those that would gain nothing."""
    groups: dict[str, list[Suggestion]] = {"What to do": [], "Not worth changing": []}
    for item in suggestions:
        groups["What to do" if item.worth else "Not worth changing"].append(item)
    return [(heading, items) for heading, items in groups.items() if items]


def gain(suggestion: Suggestion, record: TraceRecord) -> str:
    """What following a suggestion saves: waits, and so much time; and which it stands in for."""
    saved = suggestion.syncs_saved_per_step
    number = f"{abs(saved):,.0f}" if saved == int(saved) else f"{abs(saved):,.2f}"
    noun = "wait" if abs(saved) == 1 else "waits"
    time = f", {saving(suggestion)}" if saving(suggestion) else ""
    fewer = "fewer" if saved >= 0 else "more"
    each = "step" if record.step_count else "run"
    other = f", instead of suggestion {suggestion.instead_of}" if suggestion.instead_of else ""
    return f"{number} {fewer} {noun}{time} per {each}{other}"


RANKS_SHOWN = 10  # those that waited longest, where there are more
QUANTILES = {"least": 0.0, "median": 0.5, "90th percentile": 0.9, "most": 1.0}


def rank_columns(report: RankReport) -> tuple[str, ...]:
    """The heads of the columns of `rank_rows`."""
    if not report.timed:
        return (report.noun, "waits")
    late = ("for the straggler",) if report.straggler is not None else ()
    return (report.noun, "waits", "time waited", "total time", *late)


def rank_rows(report: RankReport) -> list[tuple[str, ...]]:
    """What each rank waited, by `rank_columns`; of many, those that waited longest."""
    every = range(len(report.ranks))
    of = report.stalls_ns if report.timed else report.totals
    longest = sorted(every, key=lambda at: -of[at])[:RANKS_SHOWN]
    return [
        (report.names[at], f"{report.totals[at]:,}", *_times(report, at))
        for at in (longest if len(every) > RANKS_SHOWN else every)
    ]


def _times(report: RankReport, at: int) -> tuple[str, ...]:
    """What one of the ranks waited, of how long, and for the straggler, where there is one."""
    if not report.timed:
        return ()
    times = duration(report.stalls_ns[at]), duration(report.durations_ns[at])
    if report.straggler is None:
        return times
    return (*times, duration(report.waited_for_straggler_ns[at]))


def quantile(ordered: Sequence[int], share: float) -> int:
    """The value below which that share of them lies; they have to be in order."""
    return ordered[int(share * (len(ordered) - 1))]


def rank_title(report: RankReport) -> str:
    """What stands above a report of many traces."""
    number = len(report.ranks)
    noun = "processe" if report.noun == "process" and number > 1 else report.noun
    return f"asyncguard: {count(number, noun)}"


def rank_totals(report: RankReport) -> Iterator[str]:
    """Who they are, who was late; of many, also between what the rest of them lies."""
    if report.identity:
        yield ", ".join(f"{name} {value}" for name, value in report.identity)
    if report.noun == "process":
        time = f", {duration(sum(report.stalls_ns))} waited" if report.timed else ""
        yield f"{count(sum(report.totals), 'wait')} in all of them{time}"
    yield from report.troubles
    if report.verdict:
        yield report.verdict
    if not report.timed:
        yield (
            "No accelerator was in use: CPU tensors were counted instead. Counts carry over to a "
            "GPU run, times do not."
        )
    if len(report.ranks) > RANKS_SHOWN:
        values = sorted(report.stalls_ns if report.timed else report.totals)
        say = duration if report.timed else lambda number: f"{number:,}"
        found = [f"{name} {say(quantile(values, q))}" for name, q in QUANTILES.items()]
        yield (
            f"The {RANKS_SHOWN} of {len(report.ranks):,} {report.noun}s that waited "
            f"{'longest' if report.timed else 'most often'}. Of all: {', '.join(found)}."
        )


def rank_waits(item: RankSite) -> str:
    """How often one of the traces waited at a site: one figure, or from least to most."""
    low, high = min(item.counts), max(item.counts)
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def rank_spread(item: RankSite, noun: str) -> str:
    """How long one of the traces waited at a site; nothing where times mean nothing."""
    if not item.timed:
        return ""
    low, middle, high = (quantile(sorted(item.stalls_ns), share) for share in (0, 0.5, 1))
    if low == high:
        return f"{duration(low)} per {noun}"
    median = f", median {duration(middle)}" if len(item.stalls_ns) > 2 else ""
    return f"{duration(low)} to {duration(high)} per {noun}{median}"


def _steps(record: TraceRecord, rate: float) -> str:
    text = f"{count(record.step_count, 'step')}, {rate:,.2f} waits per step"
    if record.steady_steps and has_times(record):
        stall = sum(site.steady_stall_ns for site in record.sites)
        step = record.steady_duration_ns / record.steady_steps
        text += (
            f", {percent(stall, record.steady_duration_ns)} of its time "
            f"({duration(stall / record.steady_steps)} of {duration(step)})"
        )
    return text


def elsewhere(record: TraceRecord) -> Iterator[str]:
    """Waits that a figure per step leaves out, or spreads over steps that do not have them."""
    if not record.steady_steps:
        return
    outside = record.total_syncs - sum(site.steady_count for site in record.sites)
    if outside:
        waits = "1 wait is" if outside == 1 else f"{outside:,} waits are"
        yield f"{waits} not in these figures: in the warm-up step, or after the last step"
    rare = [site for site in record.sites if _is_rare(record, site) and site.steady_count]
    if rare:
        total = count(sum(site.steady_count for site in rare), "wait")
        sites = count(len(rare), "site")
        yield f"{total} at {sites} in few of the steps: evaluation, logging or checkpoints"


def _is_rare(record: TraceRecord, site: SiteStats) -> bool:
    return 0 < 2 * site.steps < record.step_count


def percent(part: float, whole: float) -> str:
    """A share as a person reads it: no part that there is comes to 0%."""
    share = part / whole if whole else 0.0
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
