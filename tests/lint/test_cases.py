"""Every program in `cases/` has the findings that its comments ask for, and no others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from tests.lint.case_files import Case, Verdict, all_cases, verdict


def marks(case: Case) -> list[pytest.MarkDecorator]:
    """Mark a case that says why it fails today."""
    known = pytest.mark.xfail(reason=case.xfail, strict=True, raises=AssertionError)
    return [known] if case.xfail else []


CASES = [pytest.param(case, id=case.name, marks=marks(case)) for case in all_cases()]


@pytest.mark.parametrize("case", CASES)
def test_the_findings_are_those_that_the_comments_ask_for(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, text in case.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    found = sorted(map(verdict, check_paths([Path()], case.settings).findings))
    assert found == case.expected, difference(case.expected, found)


def difference(expected: list[Verdict], found: list[Verdict]) -> str:
    missing = (Counter(expected) - Counter(found)).elements()
    unasked = (Counter(found) - Counter(expected)).elements()
    lines = [
        *(f"not found: {v}" for v in missing),
        *(f"found without a comment: {v}" for v in unasked),
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_comment_says_what_is_found(case: Case) -> None:
    assert case.has_marks, "write `# ASG102` at the end of a line, or `# clean` on the first"
