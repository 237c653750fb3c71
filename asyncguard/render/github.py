"""Workflow commands of GitHub Actions: annotations of a pull request's lines.

Format: docs.github.com, "Workflow commands for GitHub Actions", `error` and `warning`.
"""

from __future__ import annotations

from asyncguard.lint.labels import ERRORS
from asyncguard.model import Finding
from asyncguard.render import FindingsReport, Screen
from asyncguard.render.lines import calls
from asyncguard.render.place import portable


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return one command a finding; with statistics, one notice a rule."""
    if report.statistics:
        lines = [
            f"::notice title=asyncguard::{_data(f'{number} x {code} {report.name(code)}')}"
            for code, number in report.counts()
        ]
    else:
        lines = [_command(finding) for finding in report.findings]
    return "".join(f"{line}\n" for line in lines)


def _command(finding: Finding) -> str:
    level = "error" if finding.code in ERRORS else "warning"
    parts = [finding.message, *([calls(finding)] if finding.reached_from else []), finding.advice]
    properties = {"title": f"asyncguard {finding.code}", "file": portable(finding.path)}
    if finding.cell is None:  # the lines of a cell are not those of the file
        properties |= {"line": str(finding.line), "endLine": str(finding.end_line)}
        if finding.line == finding.end_line:  # GitHub refuses columns over several lines
            properties |= {"col": str(finding.column), "endColumn": str(finding.end_column)}
    else:
        parts.insert(0, f"cell {finding.cell}, line {finding.line}:")
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(chr(10).join(part for part in parts if part))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
