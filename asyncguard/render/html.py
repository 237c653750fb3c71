"""HTML: one self-contained page with the stall by site, a step timeline and source excerpts.

Needs jinja2 (extra `html`). The page loads nothing from the network and follows the reader's
light or dark setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard.model import AsyncguardError, SiteStats, TimelineEvent, TraceRecord
from asyncguard.places import place_of
from asyncguard.render import Screen, TraceReport
from asyncguard.render.flame import flame
from asyncguard.render.shares import shares, tiles
from asyncguard.render.stacks import called_from, library_place
from asyncguard.render.summary import (
    about,
    beside,
    details,
    gain,
    has_times,
    how_often,
    in_order,
    is_timed,
    rank_columns,
    rank_rows,
    rank_spread,
    rank_title,
    rank_totals,
    rank_waits,
    worth,
)
from asyncguard.render.words import duration

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport, RankSite

CONTEXT_LINES = 3
SITES_SHOWN = 200  # those that cost most; JSON has all of them
TIMELINE_STEPS = 12  # the newest, so that single waits stay visible
BARS = 120  # steps whose waits are drawn
TICKS = 6  # of the timeline's axis
LEGEND = {
    "step": "a whole step",
    "enqueue": "Python hands an operation over",
    "wait": "Python waits",
    "run": "the device works",
    "idle": "the device has nothing to do",
}
TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class _Row:
    """One site with what the template shows beside it."""

    site: SiteStats
    share: float  # of all stall, 0 to 1; of all waits where times mean nothing
    timed: bool
    often: str
    beside: str
    advice: str
    url: str
    library: str
    callers: list[str]
    excerpt: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class _Lanes:
    """The timeline by kind of event, and the times of its axis from its left end."""

    kinds: dict[str, list[_Span]]
    ticks: list[str]


@dataclass(frozen=True)
class _Span:
    """One event of the timeline, in percent of its width."""

    kind: str
    left: float
    width: float
    label: str


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the page; raises AsyncguardError where jinja2 is not installed."""
    return _page("trace.html.jinja", _context(report))


def ranks(report: RankReport, screen: Screen) -> str:
    """Return a page with the traces beside each other, and the sites by their stall over all."""
    sites = report.sites[:SITES_SHOWN]
    most = max((_weight(report, item) for item in sites), default=0) or 1
    return _page(
        "ranks.html.jinja",
        {
            "title": rank_title(report),
            "noun": report.noun,
            "timed": report.timed,
            "hidden": len(report.sites) - len(sites),
            "columns": rank_columns(report),
            "rows": rank_rows(report),
            "totals": list(rank_totals(report)),
            "bars": _rank_bars(report),
            "ordered": len(report.ranks) <= BARS,
            "highest": max(_of_ranks(report), default=0),
            "kinds": sorted({item.site.kind.value for item in sites}),
            "sites": [
                (item, rank_waits(item), sum(item.counts), rank_spread(item, report.noun),
                 100 * _weight(report, item) / most, library_place(item.site),
                 called_from(item.site))
                for item in sites
            ],
        },
    )  # fmt: skip


def _weight(report: RankReport, item: RankSite) -> int:
    """What the bar of a site shows: its stall, or its waits where no time means anything."""
    return item.total_ns if report.timed else sum(item.counts)


def _of_ranks(report: RankReport) -> Sequence[int]:
    """What the bars of the ranks show: the time blocked, or the waits where no time counts."""
    return report.stalls_ns if report.timed else report.totals


def _rank_bars(report: RankReport) -> list[tuple[str, int, float]]:
    """The name of each rank, its value, and the bar's height in percent.

    Of very many, BARS from least to most, evenly.
    """
    values = _of_ranks(report)
    highest = max(values, default=0) or 1
    found = [(name, v, 100 * v / highest) for name, v in zip(report.names, values, strict=True)]
    if len(found) <= BARS:
        return found
    found.sort(key=lambda bar: bar[1])
    return [found[int(at * len(found) / BARS)] for at in range(BARS)]


def _page(template: str, context: dict[str, Any]) -> str:
    try:
        import jinja2
    except ImportError as error:
        raise AsyncguardError(
            "the HTML report needs jinja2; install it with `pip install 'asyncguard[html]'`"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"duration": duration, "prose": _prose, "place": _place}
    return environment.get_template(template).render(context)


def _place(site: SiteStats) -> str:
    return place_of(site.path, site.line)


def _prose(text: str) -> str:
    """Text with what stands between backticks as code; everything in it is escaped."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:  # one backtick is left over
        return text
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(p) if at % 2 else escape(p) for at, p in enumerate(parts))


def _context(report: TraceReport) -> dict[str, Any]:
    record = report.record
    timed = has_times(record)
    total = record.cpu_stall_ns if timed else record.total_syncs
    lanes = _lanes(record)
    sites = in_order(record)[: SITES_SHOWN if report.limit is None else report.limit]
    return {
        "title": report.title or record.command or "asyncguard trace",
        "record": record,
        "tiles": tiles(record),
        "shares": shares(record),
        "about": about(record),
        "totals": [*record.troubles, *details(record)],  # the tiles say the rest
        "timed": timed,
        "rows": [_row(report, total, timed, site) for site in sites],
        "kinds": sorted({site.kind.value for site in sites}),
        "hidden": len(record.sites) - len(sites),
        "suggestions": [
            (heading, [(item, gain(item, record)) for item in items])
            for heading, items in worth(report.suggestions)
        ],
        "hints": report.hints,
        "flame": flame(record),
        "lanes": lanes.kinds,
        "ticks": lanes.ticks,
        "legend": LEGEND,
        "highest": max(record.step_syncs[-BARS:], default=0),
        "step_bars": _step_bars(record),
        "warmup": record.step_count - record.steady_steps,
    }


def _row(report: TraceReport, total: int, timed: bool, site: SiteStats) -> _Row:
    record = report.record
    part = site.cpu_stall_ns if timed else site.count
    return _Row(
        site,
        part / total if total else 0.0,
        is_timed(site),
        how_often(record, site),
        beside(site),
        report.advice_of(site),
        "" if site.library else report.urls.get(site.api, ""),
        library_place(site),
        called_from(site),
        _excerpt(record, site),
    )


def _excerpt(record: TraceRecord, site: SiteStats) -> tuple[tuple[int, str], ...]:
    """The lines around the site as the trace holds them; the site's own line where it holds none.

    No file is read: a trace may come from anywhere, and name any file of this machine.
    """
    lines = record.sources.get(site.path, {})
    around = range(site.line - CONTEXT_LINES, site.line + CONTEXT_LINES + 1)
    found = tuple((number, lines[number]) for number in around if number in lines)
    return found or (((site.line, site.source),) if site.source else ())


def _lanes(record: TraceRecord) -> _Lanes:
    """The newest steps of the timeline, one lane for each kind of event."""
    steps = [event for event in record.timeline if event.kind == "step"][-TIMELINE_STEPS:]
    shown = steps or record.timeline
    if not shown:
        return _Lanes({}, [])
    begin, end = min(e.begin_ns for e in shown), max(e.end_ns for e in shown)
    events = [e for e in record.timeline if e.end_ns > begin and e.begin_ns < end]
    lanes: dict[str, list[_Span]] = {}
    for kind in LEGEND:
        spans = [_span(event, begin, end) for event in events if event.kind == kind]
        if spans:
            lanes[kind] = spans
    ticks = [duration((end - begin) * at / TICKS) for at in range(TICKS + 1)]
    return _Lanes(lanes, ticks)


def _span(event: TimelineEvent, begin: int, end: int) -> _Span:
    width = max(end - begin, 1)
    left = max(event.begin_ns - begin, 0) / width
    right = min(event.end_ns - begin, width) / width
    label = f"{event.name} ({duration(event.end_ns - event.begin_ns)})"
    return _Span(event.kind, 100 * left, max(100 * (right - left), 0.05), label)


def _step_bars(record: TraceRecord) -> list[tuple[int, int, float]]:
    """The newest steps: number, waits, and the bar's height in percent."""
    newest = record.step_syncs[-BARS:]
    highest = max(newest, default=0) or 1
    first = record.step_count - len(newest)
    return [(first + at, waits, 100 * waits / highest) for at, waits in enumerate(newest)]
