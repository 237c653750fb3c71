"""What is laid out by rich for a screen: traces and ranks as text, and `Page` for other texts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from asyncguard.model import Finding, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render import Screen, TraceReport
from asyncguard.render.breaks import break_lines
from asyncguard.render.difference import OUTSIDE, expectation, figures, total_rows
from asyncguard.render.lines import finding_lines, painter
from asyncguard.render.stacks import called_from, library_place
from asyncguard.render.summary import (
    about,
    beside,
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
from asyncguard.render.words import duration

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference

SITES_SHOWN = 20


class Page:
    """A text being written: rich markup in, plain or coloured text of the screen's width out."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._buffer = io.StringIO()
        self._console = Console(
            file=self._buffer,
            width=screen.width,
            force_terminal=screen.color,
            color_system="standard" if screen.color else None,
            highlight=False,
        )

    def text(self) -> str:
        """Everything written so far, without the padding that rich leaves at line ends."""
        return "".join(f"{line.rstrip()}\n" for line in self._buffer.getvalue().splitlines())

    def add(self, renderable: Any) -> None:
        """Write anything that rich renders."""
        self._console.print(renderable)

    def finding(self, finding: Finding) -> None:
        """Write one finding, as `check` does."""
        lines = finding_lines(finding, self.screen, painter(self.screen))
        self._buffer.writelines(f"{line}\n" for line in lines)

    def line(self, markup: str, indent: int = 0) -> None:
        """Write a paragraph of markup, wrapped to the screen if that is wrapped."""
        if self.screen.wrapped:
            self._console.print(Padding(markup, (0, 0, 0, indent)))
        else:
            self._console.print(Text(" " * indent) + Text.from_markup(markup), soft_wrap=True)

    def verbatim(self, text: str, indent: int) -> None:
        """Write source as it is, on one line; nothing if there is none."""
        if text:
            self._console.print(Text(" " * indent + text), soft_wrap=True)

    def help(self, advice: str, indent: int) -> None:
        """Write advice; nothing if there is none."""
        if advice:
            self.line(f"[cyan]help:[/] {escape(advice)}", indent)


def traces(report: TraceReport, screen: Screen) -> str:
    """The totals, the sites (what cost most first), the suggestions."""
    page = Page(screen)
    record = report.record
    if report.title:
        page.line(f"[bold]{escape(report.title)}[/]")
    if described := about(record):
        page.line(f"[dim]{escape(described)}[/]")
    first, *rest = totals(record)
    page.line(f"[bold]{escape(first)}[/]")
    for line in rest:
        page.line(escape(line))
    shown = SITES_SHOWN if report.limit is None else report.limit
    for site in in_order(record)[:shown]:
        _site(page, record, site, report.advice_of(site))
    if len(record.sites) > shown:
        page.line(f"... and {len(record.sites) - shown:,} more sites (--limit, --format json)")
    _breaks(page, record)
    for heading, items in worth(report.suggestions):
        page.line(f"\n[bold]{heading}[/]")
        for number, suggestion in enumerate(items, 1):
            title = f"{number}. [bold]{escape(suggestion.title)}[/]"
            page.line(f"{title} ({escape(gain(suggestion, record))})", indent=1)
            page.line(escape(suggestion.advice), indent=4)
    for hint in report.hints:
        page.line(f"[dim]hint: {escape(hint)}[/]")
    for note in record.notes:
        page.line(f"[dim]note: {escape(note)}[/]")
    beside = f"\n{ranks(report.processes, screen)}" if report.processes is not None else ""
    return page.text() + beside


def _breaks(page: Page, record: TraceRecord) -> None:
    for at, (where, source, reason) in enumerate(break_lines(record)):
        if not at:
            page.line("\n[bold]Graph breaks of torch.compile[/]")
        page.verbatim(where, 1)
        page.verbatim(source, 4)
        page.verbatim(reason, 4)


def ranks(report: RankReport, screen: Screen) -> str:
    """A table of the ranks, who was late, and the sites where the ranks differ most."""
    page = Page(screen)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    page.line(f"[bold]{rank_title(report)}[/]")
    for at, header in enumerate(rank_columns(report)):
        named = not at and report.noun == "process"
        table.add_column(header, justify="left" if named else "right")
    for row in rank_rows(report):
        table.add_row(*row)
    page.add(table)
    for line in rank_totals(report):
        page.line(f"\n[bold]{escape(line)}[/]")
    shown = SITES_SHOWN if report.limit is None else report.limit
    for item in report.sites[:shown]:
        collective = " (collective)" if item.collective else ""
        stall = f"[bold]{duration(item.total_ns):>8}[/]  " if item.timed else ""
        spread = rank_spread(item, report.noun)
        page.line(
            f"\n{stall}{rank_waits(item)} x [cyan]{escape(item.site.api)}[/]{collective}"
            f"{', ' * bool(spread)}{spread}"
        )
        _place(page, item.site, 4)
    if len(report.sites) > shown:
        more = len(report.sites) - shown
        page.line(f"\n... and {more:,} more sites (--limit, --format json)")
    return page.text()


def side_by_side(found: Difference, screen: Screen) -> str:
    """The step before and after, then each site, what changed most first."""
    page = Page(screen)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("", "before", "after", "change"):
        table.add_column(header, justify="right" if header else "left")
    for row in total_rows(found):
        table.add_row(*row)
    page.add(table)
    if told := expectation(found):
        page.line(f"\n{escape(told)}")
    for change in found.sites[:SITES_SHOWN]:
        waits, stall, state = figures(change, change.unit)
        unit = f"a {found.unit}" if change.unit == found.unit else f"({OUTSIDE})"
        page.line(
            f"\n[bold]{state}[/]  {waits} waits, {stall} stall {unit}  "
            f"[cyan]{escape(change.site.api)}[/]"
        )
        page.verbatim(place_of(change.site.path, change.site.line), indent=4)
        page.verbatim(change.site.source, indent=6)
    if len(found.sites) > SITES_SHOWN:
        page.line(f"... and {len(found.sites) - SITES_SHOWN} more sites (--format json)")
    return page.text()


def _site(page: Page, record: TraceRecord, site: SiteStats, advice: str) -> None:
    often = how_often(record, site)
    stall = f"[bold]{duration(site.cpu_stall_ns):>8}[/]  " if is_timed(site) else ""
    device = f", {site.device}" if site.device else ""
    page.line(
        f"\n{stall}{site.count:,} x{'  ' * bool(often)}{often}  "
        f"[cyan]{escape(site.api)}[/] ({site.kind.value}{escape(device)})"
    )
    _place(page, site, 10)
    if whole := beside(site):
        page.line(whole, indent=10)
    if site.gpu_stall_ns is not None:
        page.line(f"device idle {duration(site.gpu_stall_ns)}", indent=10)
    if site.allowed is not None:
        page.line(f"[green]allowed:[/] {escape(site.allowed)}", indent=10)
    else:
        page.help(advice, indent=10)


def _place(page: Page, site: SiteStats, indent: int) -> None:
    """Where a site is, its line of source, where in a library it waits, and who called."""
    where = place_of(site.path, site.line) + (f" in {site.function}" if site.function else "")
    page.verbatim(where, indent)
    page.verbatim(site.source, indent + 2)
    if place := library_place(site):
        page.verbatim(f"-> {place}", indent)
    for at, line in enumerate(called_from(site)):
        page.verbatim(f"{'            ' if at else 'called from '}{line}", indent)
