"""The rows of the table of sites: what a site costs, and the source around it."""

from __future__ import annotations

from dataclasses import dataclass

from asyncguard.model import SiteStats, TraceRecord
from asyncguard.render import TraceReport
from asyncguard.render.html.document import Detail
from asyncguard.render.stacks import called_from, library_place
from asyncguard.render.summary import beside, has_times, how_often, in_order, is_timed
from asyncguard.render.words import count, duration


@dataclass(frozen=True)
class Cell:
    """A figure: what it is sorted by, and as text."""

    value: float
    said: str


@dataclass(frozen=True)
class Row:
    """One site, its figures by column, and what its row opens to."""

    site: SiteStats
    cells: tuple[Cell, ...]
    share: float  # of the largest stall of the table, or of its waits, in percent
    remarks: tuple[str, ...]
    callers: list[str]
    library: str
    source: str
    excerpt: tuple[tuple[int, str], ...]
    advice: str = ""
    url: str = ""


def columns(record: TraceRecord) -> tuple[str, ...]:
    """The names of the figures, the one that the table is sorted by first."""
    each = " a step" if record.step_count else ""
    if not has_times(record):
        return (f"Waits{each}",)
    idle = () if record.gpu_stall_ns is None else ("GPU idle",)
    return (f"Blocked{each}", f"Waits{each}", "Longest", *idle)


def rows(report: TraceReport, detail: Detail) -> list[Row]:
    """The sites that a page has room for, what cost most first."""
    record = report.record
    found = [(site, tuple(_cells(record, site))) for site in in_order(record)]
    found = sorted(found, key=lambda each: -each[1][0].value)[: detail.sites]
    largest = max((cells[0].value for _, cells in found), default=0) or 1
    return [
        _row(report, detail, site, cells, 100 * max(cells[0].value, 0) / largest)
        for site, cells in found
    ]


def _a_step(record: TraceRecord, site: SiteStats) -> tuple[float, float]:
    """Nanoseconds blocked and waits, a step; in all, where no step was marked."""
    stall = record.per_step(site.cpu_stall_ns, site.steady_stall_ns)
    waits = record.per_step(site.count, site.steady_count)
    return site.cpu_stall_ns if stall is None else stall, site.count if waits is None else waits


def _row(
    report: TraceReport, detail: Detail, site: SiteStats, cells: tuple[Cell, ...], share: float
) -> Row:
    record = report.record
    advice = f"Allowed: {site.allowed}" if site.allowed is not None else report.advice_of(site)
    is_known = site.allowed is None and not site.library
    return Row(
        site,
        cells,
        share,
        tuple(_remarks(record, site)),
        called_from(site),
        library_place(site),
        site.source,
        _excerpt(record, site, detail.around),
        advice,
        report.urls.get(site.api, "") if is_known else "",
    )


def _cells(record: TraceRecord, site: SiteStats) -> list[Cell]:
    stall, waits = _a_step(record, site)
    timed = is_timed(site)
    often = how_often(record, site)
    rate = f"{waits:,.2f}" if record.step_count else f"{site.count:,}"
    said = rate if often.endswith("per step") or not often else often
    found = [Cell(waits, said)]
    if has_times(record):
        blocked = duration(stall) if timed and (waits or not record.step_count) else ""
        found = [
            Cell(stall if timed else -1, blocked),
            *found,
            Cell(site.max_stall_ns, duration(site.max_stall_ns) if timed else ""),
        ]
        if record.gpu_stall_ns is not None:
            idle = site.gpu_stall_ns
            found.append(Cell(-1 if idle is None else idle, "" if idle is None else duration(idle)))
    return found


def _remarks(record: TraceRecord, site: SiteStats) -> list[str]:
    """What the figures of a row leave out."""
    found = [site.kind.value + (f" on {site.device}" if site.device else "")]
    if record.step_count:
        time = f", blocked for {duration(site.cpu_stall_ns)}" if is_timed(site) else ""
        found.append(f"{count(site.count, 'wait')} in the whole run{time}")
    if told := beside(site):
        found.append(told)
    return found


def _excerpt(record: TraceRecord, site: SiteStats, around: int) -> tuple[tuple[int, str], ...]:
    """The lines around the site as the trace holds them; nothing beyond its own, where it has none.

    No file is read: a trace may come from anywhere, and name any file of this machine.
    """
    lines = record.sources.get(site.path, {})
    wanted = range(site.line - around, site.line + around + 1)
    found = tuple((number, lines[number]) for number in wanted if number in lines)
    return found if len(found) > 1 else ()
