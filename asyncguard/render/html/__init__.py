"""HTML: one page that says what to do first and what that saves, and below it why.

Needs jinja2 (extra `html`). The page loads nothing, is smaller than 300 KB, works without scripts,
by keyboard and with screen readers, and follows the reader's light or dark setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncguard.render import Screen, TraceReport
from asyncguard.render.breaks import break_lines, break_totals
from asyncguard.render.html import head, many, sites
from asyncguard.render.html.actions import actions
from asyncguard.render.html.document import Detail, first, page
from asyncguard.render.html.flame import Flame, flame
from asyncguard.render.html.timeline import step_bars, timeline
from asyncguard.render.races import races
from asyncguard.render.summary import elsewhere, has_times, idle_time, units

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport

WHOLE = True  # a text is a whole document
PATCHES = True  # shows repairs


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the page of one run; raises AsyncguardError where jinja2 is not installed."""
    graph = flame(report.record)
    return page("trace.html.jinja", lambda detail: _context(report, graph, detail), report.limit)


def ranks(report: RankReport, screen: Screen) -> str:
    """Return a page of many traces, and what to do in the one that waited longest."""
    return page("ranks.html.jinja", lambda detail: many.context(report, detail), report.limit)


def _context(report: TraceReport, graph: Flame | None, detail: Detail) -> dict[str, Any]:
    record = report.record
    rows = sites.rows(report, detail)
    return {
        "processes": many.beside(report.processes, detail),
        "title": report.title or record.command or "asyncguard trace",
        "facts": head.facts(record),
        "command": record.command if report.title else "",
        "keys": head.keys(record, report.suggestions),
        "bar": head.bar(record),
        "units": first(list(units(record)), detail.items),
        "troubles": first(record.troubles, detail.items),
        "actions": actions(report, detail),
        "lead": "",
        "timed": has_times(record),
        "columns": sites.columns(record),
        "rows": rows,
        "hidden": len(record.sites) - len(rows),
        "kinds": sorted({row.site.kind.value for row in rows}),
        "remarks": [*elsewhere(record), *idle_time(record)],
        "flame": graph and graph.widest(detail.boxes),
        "timeline": timeline(record, detail),
        "bars": step_bars(record),
        "breaks": list(break_lines(record, detail.items)),
        "break_totals": list(break_totals(record)),
        "races": first(list(races(record)), detail.items),
        "hints": first(report.hints, detail.items),
        "notes": first(record.notes, detail.items),
    }
