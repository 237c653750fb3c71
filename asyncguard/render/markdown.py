"""Markdown, for a pull request comment or a CI job summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from asyncguard.model import SiteStats, TraceRecord
from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.difference import expectation, figures, totals
from asyncguard.render.text import count, duration, saving

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference


def findings(report: FindingsReport, screen: Screen) -> str:
    """A table with one row a finding."""
    rows = [(f"`{f.path}:{f.line}`", f.code, f.message, f.advice) for f in report.findings]
    head = f"**asyncguard**: {count(len(rows), 'finding')} in {count(report.files_checked, 'file')}"
    return "\n".join([head, "", *_table(("place", "rule", "what", "instead"), rows)]) + "\n"


def traces(report: TraceReport, screen: Screen) -> str:
    """The totals, a table with one row a site, the suggestions."""
    record = report.record
    lines = [f"### {report.title or 'asyncguard trace'}", "", _totals(record), ""]
    header = ("stall", "waits", "a step", "site", "API", "source")
    lines += _table(header, (_row(record, site) for site in record.sites))
    if report.suggestions:
        lines += ["", "**What to do**", ""]
    for number, item in enumerate(report.suggestions, 1):
        bound = f" ({saving(item)}, a step)" if saving(item) else ""
        text = f"{item.advice} {item.help}".rstrip()
        lines.append(f"{number}. **{_cell(item.title)}**{bound}: {_cell(text)}")
    return "\n".join(lines) + "\n"


def ranks(report: RankReport, screen: Screen) -> str:
    """A table of the ranks and one of the sites where they differ."""
    header = ("rank", "sync points", "waited", "of", "for the straggler")
    rows = zip(
        map(str, report.ranks),
        map(str, report.totals),
        map(duration, report.stalls_ns),
        map(duration, report.durations_ns),
        map(duration, report.waited_for_straggler_ns),
        strict=True,
    )
    lines = ["### asyncguard trace, by rank", "", *_table(header, rows), ""]
    if report.straggler is not None:
        lines += [f"Rank {report.straggler} came last at collectives.", ""]
    site_rows = (
        (
            f"`{item.site.path}:{item.site.line}`",
            f"`{item.site.api}`",
            f"{min(item.counts):,} to {max(item.counts):,}",
            f"{duration(min(item.stalls_ns))} to {duration(max(item.stalls_ns))}",
        )
        for item in report.sites
    )
    lines += _table(("site", "API", "waits a rank", "stall a rank"), site_rows)
    return "\n".join(lines) + "\n"


def differences(found: Difference, screen: Screen) -> str:
    """A sentence and two tables, for a pull request."""
    lines = ["### asyncguard diff", ""]
    header = ("", "before", "after", "change")
    lines += [*_table(header, totals(found)), ""]
    if told := expectation(found):
        lines += [told, ""]
    columns = ("site", "API", f"waits a {found.unit}", f"stall a {found.unit}", "")
    rows = (
        (f"`{change.site.path}:{change.site.line}`", f"`{change.site.api}`", *figures(change))
        for change in found.sites
    )
    lines += _table(columns, rows) if found.sites else ["No sync points in either."]
    return "\n".join(lines) + "\n"


def _totals(record: TraceRecord) -> str:
    text = (
        f"{count(record.total_syncs, 'sync point')} at {count(len(record.sites), 'site')}, "
        f"Python waited {duration(record.cpu_stall_ns)} of {duration(record.duration_ns)}"
    )
    if record.syncs_per_step is not None:
        text += f"; {record.syncs_per_step:,.2f} a step over {count(record.step_count, 'step')}"
    return text + "."


def _row(record: TraceRecord, site: SiteStats) -> tuple[str, ...]:
    rate = record.per_step(site.count, site.steady_count)
    return (
        duration(site.cpu_stall_ns),
        f"{site.count:,}",
        "" if rate is None else f"{rate:,.2f}",
        f"`{site.path}:{site.line}`",
        f"`{site.api}`",
        f"`{site.source}`" if site.source else "",
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
