"""Text for a terminal or a log: places first, then what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.closing import closing
from asyncguard.render.lines import Paint, finding_lines, fix_lines, painter
from asyncguard.render.reasons import reason_lines
from asyncguard.render.visible import visible

if TYPE_CHECKING:
    from asyncguard.advise.agreement import Agreement
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference

LARGE = 30  # findings; from so many on, a terminal first shows where most of them are


def findings(report: FindingsReport, screen: Screen) -> str:
    """One block a finding, or counts by rule; then a summary.

    There may be thousands, on a log as often as on a terminal: rich, which takes longer to load and
    to lay them out than they took to find, is asked for colours alone.
    """
    paint = painter(screen)
    lines: list[str] = []
    if report.statistics:
        lines += statistics(report)
    else:
        if screen.terminal:
            lines += _overview(report, paint)
        for heading, members in report.sections():
            lines += [paint(heading, "bold underline")] if heading else []
            for finding in members:
                lines += finding_lines(finding, screen, paint)
                lines += fix_lines(report.fixes.get(finding, ()), paint)
                lines += reason_lines(finding, paint) if report.reasons else ()
            lines += [""] if heading else []
    lines += closing(report, screen, paint)
    return "".join(f"{line}\n" for line in lines)


def traces(report: TraceReport, screen: Screen) -> str:
    """The totals, the sites (what cost most first), the suggestions."""
    from asyncguard.render import page

    return page.traces(report, screen)


def ranks(report: RankReport, screen: Screen) -> str:
    """A table of the ranks, who was late, and the sites where the ranks differ most."""
    from asyncguard.render import page

    return page.ranks(report, screen)


def differences(found: Difference, screen: Screen) -> str:
    """Two traces side by side: the step first, then the sites that changed."""
    from asyncguard.render import page

    return page.side_by_side(found, screen)


def agreements(found: Agreement, screen: Screen) -> str:
    """Findings and a trace, joined by place."""
    from asyncguard.render import agreement

    return agreement.text(found, screen)


def statistics(report: FindingsReport) -> Iterator[str]:
    """Yield the counts by rule, the largest first."""
    counts = report.counts()
    width = max((len(str(number)) for _, number in counts), default=0)
    for code, number in counts:
        yield f"{number:>{width}}  {code}  {report.name(code)}".rstrip()


def _overview(report: FindingsReport, paint: Paint) -> Iterator[str]:
    """Open a large result with the functions that hold most of it."""
    total = len(report.findings) + report.held_back
    if total < LARGE or len(report.hotspots) < 2:
        return
    held = sum(number for _, number in report.hotspots)
    width = len(str(report.hotspots[0][1]))
    yield paint(
        f"{total:,} findings; {len(report.hotspots)} functions hold {held:,} of them:", "bold"
    )
    for function, number in report.hotspots:
        yield f"  {number:>{width}}  {visible(function)}"
    yield ""
