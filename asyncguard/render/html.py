"""HTML: one self-contained page with the stall by site, a step timeline and source excerpts.

Needs jinja2 (extra `html`). The page loads nothing from the network and follows the reader's
light or dark setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard.model import AsyncguardError, SiteStats, TimelineEvent, TraceRecord
from asyncguard.render import Screen, TraceReport
from asyncguard.render.text import count, duration, saving

CONTEXT_LINES = 3
TIMELINE_STEPS = 12  # the newest, so that single waits stay visible
TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class _Row:
    """One site with what the template shows beside it."""

    site: SiteStats
    share: float  # of all stall, 0 to 1
    rate: float | None
    advice: str
    url: str
    excerpt: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class _Span:
    """One event of the timeline, in percent of its width."""

    kind: str
    left: float
    width: float
    label: str


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the page; raises AsyncguardError where jinja2 is not installed."""
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
    environment.filters |= {"duration": duration, "saving": saving}
    return environment.get_template("trace.html.jinja").render(_context(report))


def _context(report: TraceReport) -> dict[str, Any]:
    record = report.record
    return {
        "title": report.title or record.command or "asyncguard trace",
        "record": record,
        "count": count,
        "rows": [_row(report, site) for site in record.sites],
        "suggestions": report.suggestions,
        "lanes": _lanes(record),
        "step_bars": _step_bars(record),
    }


def _row(report: TraceReport, site: SiteStats) -> _Row:
    total = report.record.cpu_stall_ns
    return _Row(
        site,
        site.cpu_stall_ns / total if total else 0.0,
        report.record.per_step(site.count, site.steady_count),
        report.advice.get(site.api, ""),
        report.urls.get(site.api, ""),
        _excerpt(report.record, site),
    )


def _excerpt(record: TraceRecord, site: SiteStats) -> tuple[tuple[int, str], ...]:
    """The lines around the site if the file still says there what it said when it was traced."""
    try:
        lines = (Path(record.root) / site.path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not 0 < site.line <= len(lines) or lines[site.line - 1].strip() != site.source:
        return ((site.line, site.source),) if site.source else ()
    first = max(site.line - CONTEXT_LINES, 1)
    last = min(site.line + CONTEXT_LINES, len(lines))
    return tuple((number, lines[number - 1]) for number in range(first, last + 1))


def _lanes(record: TraceRecord) -> dict[str, list[_Span]]:
    """The newest steps of the timeline, one lane for each kind of event."""
    steps = [event for event in record.timeline if event.kind == "step"][-TIMELINE_STEPS:]
    events = record.timeline
    if steps:
        begin, end = steps[0].begin_ns, steps[-1].end_ns
        events = tuple(e for e in events if e.end_ns > begin and e.begin_ns < end)
    elif events:
        begin, end = min(e.begin_ns for e in events), max(e.end_ns for e in events)
    lanes: dict[str, list[_Span]] = {}
    for kind in ("step", "enqueue", "wait", "run", "idle"):
        spans = [_span(event, begin, end) for event in events if event.kind == kind]
        if spans:
            lanes[kind] = spans
    return lanes


def _span(event: TimelineEvent, begin: int, end: int) -> _Span:
    width = max(end - begin, 1)
    left = max(event.begin_ns - begin, 0) / width
    right = min(event.end_ns - begin, width) / width
    label = f"{event.name} ({duration(event.end_ns - event.begin_ns)})"
    return _Span(event.kind, 100 * left, max(100 * (right - left), 0.05), label)


def _step_bars(record: TraceRecord) -> list[tuple[int, float]]:
    """Sync points in each of the newest steps, with the bar's height in percent."""
    newest = record.step_syncs[-120:]
    highest = max(newest, default=0) or 1
    return [(number, 100 * number / highest) for number in newest]
