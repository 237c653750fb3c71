"""JSON Lines: one object a line, for programs that read a stream."""

from __future__ import annotations

import json

from asyncguard.render import FindingsReport, Screen
from asyncguard.render.json_ import counts
from asyncguard.render.visible import in_json

ESCAPES = True  # control characters, as JSON writes them


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return one object a finding; with statistics, one a rule."""
    rows = counts(report) if report.statistics else [f.to_dict() for f in report.findings]
    return "".join(f"{in_json(json.dumps(row, ensure_ascii=False))}\n" for row in rows)
