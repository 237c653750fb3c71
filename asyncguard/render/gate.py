"""The gate's verdict, as text: each regression with its place, its rate and its advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from asyncguard.gate.baseline import Rate
from asyncguard.gate.compare import GrownSite
from asyncguard.model import Finding, TraceRecord
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
) -> str:
    """Return the regressions, or one line that says there are none."""
    page = Page(screen)
    findings, grown = shown(tuple(findings)), shown(tuple(grown))
    if not findings and not grown:
        page.line("[green]asyncguard gate: passed[/], no sync point is new or waits more often")
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
    total = len(findings) + len(grown)
    page.line(
        f"[red]asyncguard gate: failed[/], {count(total, 'sync point')} new or grown against {path}"
    )
    page.line(
        "Remove them, or accept them with --update; at run time also with asyncguard.allow_syncs()."
    )
    return page.text()


def _shown(text: str) -> str:
    return escape(visible(text))


def _rate(rate: Rate) -> str:
    if not rate.steps:
        return f"{rate.count:,} in the run"
    return f"{rate.per_step:,.3g} a step"
