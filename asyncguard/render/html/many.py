"""The page of many traces: who waited how long, and the sites over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from asyncguard.advise.ranks import RankReport, RankSite
from asyncguard.render.html.actions import actions
from asyncguard.render.html.document import Detail, first
from asyncguard.render.html.head import rank_facts, rank_keys
from asyncguard.render.html.sites import Cell, Row
from asyncguard.render.html.timeline import BARS, Bars
from asyncguard.render.stacks import called_from, library_place
from asyncguard.render.summary import (
    rank_columns,
    rank_rows,
    rank_spread,
    rank_title,
    rank_totals,
    rank_waits,
)
from asyncguard.render.words import duration


def context(report: RankReport, detail: Detail) -> dict[str, Any]:
    """What the template shows of a report."""
    sites = report.sites[: detail.sites]
    largest = max((_weight(report, item) for item in sites), default=0) or 1
    rows = [_row(report, item, 100 * _weight(report, item) / largest) for item in sites]
    advised = report.advised
    told = replace(report, identity=(), troubles=())  # which stand in the head
    return {
        "title": rank_title(report),
        "facts": rank_facts(report),
        "command": "",
        "keys": rank_keys(report),
        "bar": None,
        "troubles": first(report.troubles, detail.items),
        "verdict": list(rank_totals(told)),
        "noun": report.noun,
        "advised": _advised(report),
        "lead": _lead(report),
        "actions": None if advised is None else actions(advised, detail),
        "timed": report.timed,
        "columns": _columns(report),
        "rows": rows,
        "hidden": len(report.sites) - len(rows),
        "kinds": sorted({row.site.kind.value for row in rows}),
        "remarks": [],
        "rank_columns": rank_columns(report),
        "rank_rows": rank_rows(report),
        "bars": _bars(report),
        "ordered": len(report.ranks) <= BARS,
    }


def beside(report: RankReport | None, detail: Detail) -> dict[str, Any] | None:
    """What the page of one trace shows of the processes beside it."""
    if report is None:
        return None
    return {
        "title": rank_title(report),
        "columns": rank_columns(report),
        "rows": rank_rows(report),
        "said": first(list(rank_totals(replace(report, identity=()))), detail.items),
    }


def _lead(report: RankReport) -> str:
    """What comes before any suggestion; "" where no rank is late."""
    if report.straggler is None:
        return ""
    told = f"Look at rank {report.straggler} first: between collectives it takes longest."
    follow = report.advised is not None and any(item.worth for item in report.advised.suggestions)
    return f"{told} Then, in {_advised(report)}:" if follow else told


def _advised(report: RankReport) -> str:
    """The trace whose suggestions are shown."""
    most = "longest" if report.timed else "most often"
    return f"{report.noun} {report.names[report.longest]}, which waited {most}"


def _columns(report: RankReport) -> tuple[str, ...]:
    waits = f"Waits a {report.noun}"
    return ("Blocked in all", "Difference", waits) if report.timed else (waits,)


def _row(report: RankReport, item: RankSite, share: float) -> Row:
    cells = [Cell(sum(item.counts), rank_waits(item))]
    if report.timed:
        blocked = duration(item.total_ns) if item.timed else ""
        spread = duration(item.spread_ns) if item.spread_ns else ""
        cells = [Cell(item.total_ns, blocked), Cell(item.spread_ns, spread), *cells]
    remarks = ["collective" if item.collective else item.site.kind.value]
    remarks += filter(None, [rank_spread(item, report.noun)])
    return Row(
        item.site, tuple(cells), share, tuple(remarks), called_from(item.site),
        library_place(item.site), item.site.source, (),
    )  # fmt: skip


def _weight(report: RankReport, item: RankSite) -> int:
    """What the bar of a site shows: its stall, or its waits where no time means anything."""
    return item.total_ns if report.timed else sum(item.counts)


def _bars(report: RankReport) -> Bars:
    """What each waited; of very many, BARS of them from least to most, evenly."""
    values: Sequence[int] = report.stalls_ns if report.timed else report.totals
    found = list(zip(report.names, values, strict=True))
    if len(found) > BARS:
        found.sort(key=lambda each: each[1])
        found = [found[int(at * len(found) / BARS)] for at in range(BARS)]
    highest = max(values, default=0)
    bars = tuple(
        (f"{report.noun} {name}", _said(report, value), 100 * value / (highest or 1))
        for name, value in found
    )
    return Bars(bars, _said(report, highest))


def _said(report: RankReport, value: int) -> str:
    return duration(value) if report.timed else f"{value:,}"
