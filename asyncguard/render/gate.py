"""The gate's verdict, as text: each regression with its place, its rate and its advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from asyncguard.gate.baseline import Rate, portable
from asyncguard.gate.compare import GrownSite
from asyncguard.model import Finding, Loop, TraceRecord
from asyncguard.render import Screen
from asyncguard.render.page import Page
from asyncguard.render.visible import shown, visible
from asyncguard.render.words import count


def updated(path: Path, findings: Sequence[Finding] | None, records: Sequence[TraceRecord]) -> str:
    """Say what `--update` has accepted."""
    parts = [] if findings is None else [count(len(findings), "finding")]
    if records:
        parts.append(f"{count(len(records), 'trace')}")
    return f"asyncguard gate: accepted {' and '.join(parts)} into {path}\n"


def verdict(
    path: Path,
    findings: Sequence[Finding],
    grown: Sequence[GrownSite],
    advice: Mapping[str, str],
    screen: Screen,
    notes: Sequence[str] = (),
) -> str:
    """Return the regressions, or one line that says there are none; then the notes."""
    page = Page(screen)
    findings, grown = shown(tuple(findings)), shown(tuple(grown))
    if not findings and not grown:
        page.line("[green]asyncguard gate: passed[/]: no site is new or waits more often")
        _close(page, notes)
        return page.text()
    for finding in findings:
        page.finding(finding)
    for item in grown:
        site = item.site
        before = "new" if item.before is None else _rate(item.before)
        page.line(
            f"[bold]{_shown(site.path)}:{site.line}:[/] [red]{before} -> {_rate(item.now)}[/]  "
            f"[cyan]{_shown(site.api)}[/]"
            + (f" in {_shown(site.function)}" if site.function else "")
        )
        page.verbatim(visible(site.source), indent=4)
        page.help(advice.get(site.api, ""), indent=4)
    # What the linter and the run object to at one line is one place.
    places = {(portable(finding.path), finding.line) for finding in findings}
    total = len(places | {(item.key.path, item.site.line) for item in grown})
    are = "is new or waits" if total == 1 else "are new or wait"
    page.line(
        f"[red]asyncguard gate: failed[/]: {count(total, 'site')} {are} more often than in "
        f"{_shown(str(path))}"
    )
    page.line(
        "Remove them, or accept them with --update; at run time also with asyncguard.allow_syncs()."
    )
    _close(page, notes)
    return page.text()


def as_findings(
    grown: Sequence[GrownSite], codes: Mapping[str, str], advice: Mapping[str, str]
) -> list[Finding]:
    """Return sites of a trace as findings, for the formats that show these.

    `codes` and `advice` are those of the catalogue, by API; what is in no entry has the code of a
    barrier.
    """
    found = []
    for item in grown:
        site = item.site
        before = "not at all" if item.before is None else _rate(item.before)
        found.append(
            Finding(
                codes.get(site.api, "ASG202"),
                f"{site.api} waits {_rate(item.now)}; before: {before}",
                item.key.path,
                site.line,
                1,
                site.line,
                1,
                function=site.function,
                loop=Loop.STEP if item.now.steps else Loop.NONE,
                framework=site.framework,
                api=site.api,
                advice=advice.get(site.api, ""),
                source=site.source,
            )
        )
    return found


def _close(page: Page, notes: Sequence[str]) -> None:
    for note in notes:
        page.line(_shown(note))


def _shown(text: str) -> str:
    return escape(visible(text))


def _rate(rate: Rate) -> str:
    if not rate.steps:
        return f"{rate.count:,} in the run"
    return f"{rate.per_step:,.3g} per step"
