"""Markdown, for a pull request comment or a CI job summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from asyncguard.model import Finding, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.breaks import break_lines
from asyncguard.render.closing import not_shown
from asyncguard.render.difference import expectation, figures, total_rows
from asyncguard.render.lines import calls
from asyncguard.render.stacks import called_from, library_place
from asyncguard.render.summary import (
    about,
    gain,
    how_often,
    in_order,
    is_timed,
    rank_columns,
    rank_rows,
    rank_spread,
    rank_title,
    rank_totals,
    rank_waits,
    totals,
    worth,
)
from asyncguard.render.visible import visible
from asyncguard.render.words import count, duration

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference

SITES_SHOWN = 100  # those that cost most; JSON has all of them
SITE_COLUMNS = ("stall", "waits", "how often", "site", "API", "source", "called from")


def findings(report: FindingsReport, screen: Screen) -> str:
    """A table with one row a finding, or with statistics one a rule; a table for each group."""
    lines = [f"**asyncguard**: {_totals(report)}", ""]
    if report.statistics:
        counts = [(f"{number:,}", code, report.name(code)) for code, number in report.counts()]
        return "\n".join([*lines, *_table(("findings", "rule", "name"), counts)]) + "\n"
    for heading, members in report.sections():
        lines += [f"### {_text(heading)}", ""] if heading else []
        lines += [*_table(("place", "rule", "finding", "advice"), map(_finding_row, members)), ""]
    lines += [line for text in not_shown(report) for line in (_text(text), "")]
    return "\n".join(lines[:-1]) + "\n"


def _totals(report: FindingsReport) -> str:
    found = count(len(report.findings) + report.held_back, "finding")
    return f"{found} in {count(report.files_checked, 'file')}"


def _finding_row(finding: Finding) -> tuple[str, ...]:
    reached = f" ({calls(finding)})" if finding.reached_from else ""
    said = _text(f"{finding.message}{reached}")
    return _place(finding), finding.code, said, _text(finding.advice)


def traces(report: TraceReport, screen: Screen) -> str:
    """The totals, a table with one row a site, the suggestions."""
    record = report.record
    lines = [f"### {report.title or 'asyncguard trace'}", ""]
    if described := about(record):
        lines += [_text(described), ""]
    lines += [f"- {_text(line)}" for line in totals(record)] + [""]
    shown = SITES_SHOWN if report.limit is None else report.limit
    lines += _table(SITE_COLUMNS, (_row(record, site) for site in in_order(record)[:shown]))
    if len(record.sites) > shown:
        lines += ["", f"... and {len(record.sites) - shown:,} more sites (`--format json`)"]
    lines += _graph_breaks(record)
    lines += _suggestions(report)
    for kind, texts in (("Hint", report.hints), ("Note", record.notes)):
        lines += [line for text in texts for line in ("", f"{kind}: {_text(text)}")]
    beside = f"\n{ranks(report.processes, screen)}" if report.processes is not None else ""
    return "\n".join(lines) + "\n" + beside


def _graph_breaks(record: TraceRecord) -> Iterator[str]:
    """Yield a list of the graph breaks, under a heading of its own."""
    for number, (where, source, reason) in enumerate(break_lines(record)):
        if number == 0:
            yield from ("", "**Graph breaks of torch.compile**", "")
        yield f"- {_text(where)} {_code(source)}: {_text(reason)}"


def _suggestions(report: TraceReport) -> Iterator[str]:
    """Yield a numbered list of the suggestions, under each heading."""
    for heading, items in worth(report.suggestions):
        yield from ("", f"**{heading}**", "")
        for number, item in enumerate(items, 1):
            title = f"**{_text(item.title)}** ({gain(item, report.record)})"
            yield f"{number}. {title}: {_text(f'{item.advice} {item.help}'.rstrip())}"


def ranks(report: RankReport, screen: Screen) -> str:
    """A table of the ranks and one of the sites where they differ."""
    lines = [f"### {rank_title(report)}", "", *_table(rank_columns(report), rank_rows(report)), ""]
    for line in rank_totals(report):
        lines += [_text(line), ""]
    site_rows = (
        (
            duration(item.total_ns) if item.timed else "",
            _code(place_of(item.site.path, item.site.line)) + _inside(item.site),
            _code(item.site.api),
            rank_waits(item),
            rank_spread(item, report.noun),
            "<br>".join(_text(line) for line in called_from(item.site)),
        )
        for item in report.sites[:SITES_SHOWN]
    )
    lines += _table(
        ("stall", "site", "API", f"waits per {report.noun}", "stall", "called from"), site_rows
    )
    return "\n".join(lines) + "\n"


def differences(found: Difference, screen: Screen) -> str:
    """A sentence and two tables, for a pull request."""
    lines = ["### asyncguard diff", ""]
    header = ("", "before", "after", "change")
    lines += [*_table(header, total_rows(found)), ""]
    if told := expectation(found):
        lines += [told, ""]
    columns = ("site", "API", f"waits a {found.unit}", f"stall a {found.unit}", "")
    rows = (
        (
            _code(place_of(change.site.path, change.site.line)),
            _code(change.site.api),
            *figures(change, found.unit),
        )
        for change in found.sites
    )
    lines += _table(columns, rows) if found.sites else ["No waits in either."]
    return "\n".join(lines) + "\n"


def _row(record: TraceRecord, site: SiteStats) -> tuple[str, ...]:
    return (
        duration(site.cpu_stall_ns) if is_timed(site) else "",
        f"{site.count:,}",
        how_often(record, site),
        _code(place_of(site.path, site.line)) + _inside(site),
        _code(site.api),
        _code(site.source) if site.source else "",
        "<br>".join(_text(line) for line in called_from(site)),
    )


def _inside(site: SiteStats) -> str:
    place = library_place(site)
    return f" -> {_code(place)}" if place else ""


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return lines


def _place(finding: Finding) -> str:
    cell = f"cell {finding.cell}:" if finding.cell else ""
    return _code(f"{finding.path}:{cell}{finding.line}")


def _code(text: str) -> str:
    """Text as it is, between as many backticks as it does not hold itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def _text(text: str) -> str:
    """Prose that may name anything, with code between backticks: no HTML, no links, one line.

    Code that holds backticks itself comes out in pieces, the text between them as prose.
    """
    parts = text.replace("\n", " ").split("`")
    closed = len(parts) - (len(parts) + 1) % 2  # the last backtick of an odd number opens no code
    for index, part in enumerate(parts):
        if index % 2 and index < closed:
            parts[index] = f"`{part}`" if part else ""
        else:
            between = " " if 0 < index < closed - 1 else ""  # one piece of code and the next
            parts[index] = part.translate(_INACTIVE) or between
    return "".join(parts[:closed]) + "".join(f"\\`{part}" for part in parts[closed:])


_INACTIVE = str.maketrans({"<": "&lt;", "[": "\\[", "\\": "\\\\"})


def _cell(text: str) -> str:
    return visible(text.replace("\n", " ")).replace("|", "\\|")
