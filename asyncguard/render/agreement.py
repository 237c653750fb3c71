"""Where linter and trace agree, laid out for a screen."""

from __future__ import annotations

from collections import Counter

from rich.markup import escape

from asyncguard.advise.agreement import Agreement, Row, Verdict, hidden
from asyncguard.render import Screen
from asyncguard.render.page import Page
from asyncguard.render.words import count, duration

_COLORS = {
    Verdict.CONFIRMED: "red",
    Verdict.UNCOUNTED: "yellow",
    Verdict.NEVER: "cyan",
    Verdict.UNKNOWN: "cyan",
    Verdict.UNFOUND: "magenta",
}


def text(found: Agreement, screen: Screen) -> str:
    """One block a place, by verdict, and how many there are of each."""
    page = Page(screen)
    readers = Counter(id(site) for row in found.rows for site in row.sites)
    for verdict in Verdict:
        for row in found.of(verdict):
            _show(page, row, max((readers[id(site)] for site in row.sites), default=1))
    totals = [f"{len(found.of(verdict))} {verdict.value}" for verdict in Verdict]
    shown = [total for total in totals if not total.startswith("0 ")]
    page.line(f"[bold]{'; '.join(shown) or 'nothing to compare'}[/]")
    if found.elsewhere:
        page.line(f"{count(found.elsewhere, 'wait')} in files that were not checked")
    return page.text()


def _show(page: Page, row: Row, readers: int) -> None:
    """Add the block of a place, whose waits `readers` reads of its line share."""
    times = f" {row.count:,} x, {duration(row.cpu_stall_ns)}" if row.sites else ""
    code = f" {row.finding.code}" if row.finding is not None else ""
    page.line(
        f"[bold]{escape(row.path)}:{row.line}:[/] [{_COLORS[row.verdict]}]{row.verdict.value}[/]"
        f"{times}{code} [cyan]{escape(row.api)}[/]"
    )
    page.verbatim(row.source.partition("\n")[0], indent=4)
    if readers > 1:
        page.line(f"(counted together with {count(readers - 1, 'other read')} here)", indent=4)
    if row.why:
        page.line(f"({escape(row.why)})", indent=4)
    if row.finding is not None and row.verdict is Verdict.CONFIRMED and not row.reported:
        page.line(f"(not reported by default: {hidden(row.finding)})", indent=4)
