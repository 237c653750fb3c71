"""An audit (`--select ALL`) widens what is shown, and changes no finding's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings, Tests
from asyncguard.model import Finding
from tests.lint.case_files import CASES, all_cases
from tests.lint.programs import Programs

DEFAULT = Settings(cache=False, jobs=1, tests=Tests.CHECK)


def audit(settings: Settings) -> Settings:
    return replace(settings, select=("ALL",))


def identity(finding: Finding) -> tuple[object, ...]:
    """What a finding says, but for the advice, which rules that do not report improve."""
    where = finding.path, finding.line, finding.column, finding.code, finding.function
    return *where, finding.loop, finding.guarded, finding.confidence, finding.api


def says_the_same(default: Sequence[Finding], all_of_them: Sequence[Finding]) -> bool:
    """Whether all findings that are shown by default are those of an audit that are to be shown."""
    asked = {identity(f) for f in default}
    shown = {identity(f) for f in all_of_them if DEFAULT.shows(f)}
    waits = {found for found in asked if str(found[3])[:4] in ("ASG1", "ASG2")}
    assert waits == {found for found in shown if str(found[3])[:4] in ("ASG1", "ASG2")}
    return asked <= {identity(f) for f in all_of_them}


def test_an_audit_shows_more_and_says_the_same_of_it(programs: Programs) -> None:
    for case in all_cases():
        settings = replace(DEFAULT, assume_device=case.settings.assume_device)
        default = programs.findings(case.files, settings)
        assert says_the_same(default, programs.findings(case.files, audit(settings))), case.name


def test_an_audit_of_files_of_one_project_says_the_same() -> None:
    """Here each of the two analyses for itself."""
    topics = [CASES / "names", CASES / "text", CASES / "timers"]
    default, all_of_them = (check_paths(topics, s) for s in (DEFAULT, audit(DEFAULT)))
    assert says_the_same(default.findings, all_of_them.findings)
