"""The last lines of a list of findings: how many there are, and what is not shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from asyncguard.model import Fix
from asyncguard.render import FindingsReport, Screen
from asyncguard.render.lines import Paint
from asyncguard.render.words import count


def closing(report: FindingsReport, screen: Screen, paint: Paint) -> Iterator[str]:
    """Yield the summary, and what is not shown; nothing where findings alone are asked for."""
    summary = () if report.quiet else (_summary(report, paint),)
    for paragraph in (*summary, *not_shown(report)):
        yield from textwrap.wrap(paragraph, screen.line_width, break_on_hyphens=False)


def not_shown(report: FindingsReport) -> Iterator[str]:
    """Say what was held back, which option shows it, and what else is to be noted."""
    if report.quiet:
        return
    if report.held_back:
        total = len(report.findings) + report.held_back
        yield f"Showing the first {len(report.findings):,} of {total:,} (--limit)."
    if report.hidden:
        noun = "finding that is" if report.hidden == 1 else "findings that are"
        yield (f"Not shown: {report.hidden:,} {noun} rare, guarded or uncertain (--select ALL).")
    for baseline, number in report.accepted.items():
        yield f"Not shown: {count(number, 'finding')} accepted by {baseline} (--no-baseline)."
    yield from report.notes


def _summary(report: FindingsReport, paint: Paint) -> str:
    checked = count(report.files_checked, "file")
    total = len(report.findings) + report.held_back
    if not total:
        none = "No new findings" if report.accepted else "No findings"
        return f"{paint(none, 'green')} in {checked}."
    files = count(len({finding.path for finding in report.findings}), "file")
    where = "" if report.held_back else f" in {files}"
    text = f"Found {count(total, 'finding')}{where} ({checked} checked)."
    fixes = [finding.fix for finding in report.findings if finding.fix is not None]
    return text + _fixable([*fixes, *report.held_fixes])


def _fixable(fixes: Sequence[Fix]) -> str:
    """Say which option repairs how many, and how many repairs none applies."""
    safe = sum(fix.is_applied(unsafe=False) for fix in fixes)
    unsafe = sum(fix.is_applied(unsafe=True) for fix in fixes) - safe
    shown = len(fixes) - safe - unsafe
    text = ""
    if safe and unsafe:
        text = f" {safe + unsafe} fixable: {safe} with --fix, {unsafe} more with --unsafe-fixes."
    elif safe or unsafe:
        text = f" {safe + unsafe} fixable with --fix{'' if safe else ' --unsafe-fixes'}."
    return f"{text} {count(shown, 'repair')} to complete by hand." if shown else text
