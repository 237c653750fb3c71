"""Findings under headings: by file, unless the report is grouped otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from asyncguard.model import Finding
from asyncguard.render import FindingsReport, Screen
from asyncguard.render.closing import closing
from asyncguard.render.lines import concise_line, painter
from asyncguard.render.text import statistics
from asyncguard.render.visible import visible


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return each group as a heading and a line a finding; then the summary."""
    paint = painter(screen)
    lines: list[str] = list(statistics(report)) if report.statistics else []
    for heading, members in () if report.statistics else _sections(report):
        lines.append(paint(heading, "bold underline"))
        lines += [f"  {concise_line(finding, paint)}" for finding in members]
        lines.append("")
    lines += closing(report, screen, paint)
    return "".join(f"{line}\n" for line in lines)


def _sections(report: FindingsReport) -> Iterator[tuple[str, list[Finding]]]:
    if report.groups:
        yield from ((heading, list(members)) for heading, members in report.sections())
        return
    files: dict[str, list[Finding]] = {}
    for finding in report.findings:
        files.setdefault(finding.path, []).append(finding)
    yield from ((visible(path), members) for path, members in files.items())
