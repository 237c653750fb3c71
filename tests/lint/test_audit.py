"""An audit (`--select ALL`) widens what is shown, and changes no finding's context."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding
from tests.lint.case_files import CASES

DEFAULT = Settings(cache=False, jobs=1)
AUDIT = Settings(cache=False, jobs=1, select=("ALL",))
PROGRAMS = sorted(path for path in CASES.glob("*") if path.name != "__pycache__")


def identity(finding: Finding) -> tuple[object, ...]:
    """What a finding says, but for the advice, which rules that do not report improve."""
    where = finding.path, finding.line, finding.column, finding.code, finding.function
    return *where, finding.loop, finding.guarded, finding.confidence, finding.api


@pytest.mark.parametrize("topic", PROGRAMS, ids=lambda path: str(path.name))
def test_an_audit_shows_more_and_says_the_same_of_it(topic: Path) -> None:
    """The programs of a topic are checked together, as files of one project."""
    default = {identity(f) for f in check_paths([topic], DEFAULT).findings}
    audit = check_paths([topic], AUDIT).findings
    shown = {identity(f) for f in audit if DEFAULT.shows(f) and f.code[:4] in ("ASG1", "ASG2")}
    asked = {found for found in default if str(found[3])[:4] in ("ASG1", "ASG2")}
    assert shown == asked
    assert default <= {identity(f) for f in audit}
