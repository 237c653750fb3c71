"""Text for a terminal or a log: places first, then what to do about them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from asyncguard.model import Fix
from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.lines import Paint, finding_lines, painter
from asyncguard.render.words import count

if TYPE_CHECKING:
    from asyncguard.advise.agreement import Agreement
    from asyncguard.advise.ranks import RankReport
    from asyncguard.gate.difference import Difference


def findings(report: FindingsReport, screen: Screen) -> str:
    """One block a finding, or counts by rule; then a summary.

    There may be thousands, on a log as often as on a terminal: rich, which takes longer to load and
    to lay them out than they took to find, is asked for colours alone.
    """
    paint = painter(screen)
    lines: list[str] = []
    if report.statistics:
        lines += _statistics(report)
    else:
        for finding in report.findings:
            lines += finding_lines(finding, screen, paint)
    lines += textwrap.wrap(_findings_summary(report, paint), screen.line_width)
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


def _statistics(report: FindingsReport) -> Iterator[str]:
    from asyncguard.render.json_ import count_by_code

    counts = count_by_code(report)
    width = max((len(str(number)) for _, number in counts), default=0)
    for code, number in counts:
        yield f"{number:>{width}}  {code}  {report.rule_names.get(code, '')}".rstrip()


def _findings_summary(report: FindingsReport, paint: Paint) -> str:
    checked = count(report.files_checked, "file")
    if not report.findings:
        return f"{paint('No findings', 'green')} in {checked}."
    files = count(len({finding.path for finding in report.findings}), "file")
    text = f"Found {count(len(report.findings), 'finding')} in {files} ({checked} checked)."
    return text + _fixable([finding.fix for finding in report.findings if finding.fix is not None])


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
    return f"{text} {count(shown, 'repair')} to look at." if shown else text
