"""One line a finding, never wrapped: for pipes, logs, and editors that read `path:line:column:`."""

from __future__ import annotations

from dataclasses import replace

from asyncguard.render import FindingsReport, Screen
from asyncguard.render.closing import closing
from asyncguard.render.lines import concise_line, painter
from asyncguard.render.text import statistics


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return a line for each finding, or each rule, then the summary."""
    paint = painter(screen)
    lines: list[str] = list(statistics(report)) if report.statistics else []
    for heading, members in () if report.statistics else report.sections():
        lines += [paint(f"{heading}", "bold underline")] if heading else []
        lines += [concise_line(finding, paint) for finding in members]
    lines += closing(report, replace(screen, wrapped=False), paint)
    return "".join(f"{line}\n" for line in lines)
