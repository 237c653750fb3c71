"""GitLab's Code Quality report.

Format: docs.gitlab.com, "Code Quality", "Code Quality report format".
"""

from __future__ import annotations

import json

from asyncguard.lint.labels import ERRORS
from asyncguard.model import Confidence, Finding, Loop
from asyncguard.render import FindingsReport, Screen
from asyncguard.render.lines import calls
from asyncguard.render.place import fingerprints, portable
from asyncguard.render.visible import in_json

ESCAPES = True  # control characters, as JSON writes them
_SURE = {Confidence.HIGH: "major", Confidence.MEDIUM: "minor", Confidence.LOW: "info"}


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return a JSON list with one object a finding."""
    prints = fingerprints(report.findings)
    rows = [_row(f, mark) for f, mark in zip(report.findings, prints, strict=True)]
    return in_json(json.dumps(rows, indent=1, ensure_ascii=False)) + "\n"


def _row(finding: Finding, fingerprint: str) -> dict[str, object]:
    cell = f"cell {finding.cell}, line {finding.line}: " if finding.cell else ""
    reached = f"; {calls(finding)}" if finding.reached_from else ""
    line = 1 if finding.cell else finding.line  # the lines of a cell are not those of the file
    end = 1 if finding.cell else finding.end_line
    return {
        "description": f"{cell}{finding.message}{reached}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _severity(finding),
        "location": {"path": portable(finding.path), "lines": {"begin": line, "end": end}},
    }


def _severity(finding: Finding) -> str:
    """Return one of info, minor, major, critical and blocker: as sure and as often as it waits."""
    if finding.code in ERRORS:
        return "critical"
    often = finding.loop == Loop.STEP and not finding.guarded
    return _SURE[finding.confidence] if often else "info"
