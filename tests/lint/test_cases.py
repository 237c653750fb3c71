"""Every program in `cases/` has the findings that its comments ask for, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.lint.case_files import Case, Verdict, all_cases, verdict
from tests.lint.programs import DIRECTORY, Programs


def test_the_findings_are_those_that_the_comments_ask_for(programs: Programs) -> None:
    wrong = [line for case in all_cases() for line in differences(case, programs)]
    assert not wrong, "\n".join(wrong)


def differences(case: Case, programs: Programs) -> Iterator[str]:
    """Say where a case has other findings than its comments; one that fails today must fail."""
    found = Counter(map(verdict, programs.findings(case.files, case.settings)))
    expected = Counter(placed(v) for v in case.expected)
    if not case.has_marks:
        yield f"{case.name}: write `# ASG102` at the end of a line, or `# clean` on the first"
    if case.xfail:
        if found == expected:
            yield f"{case.name}: holds; remove `# xfail: {case.xfail}`"
        return
    for v in (expected - found).elements():
        yield f"{case.name}: not found: {v}"
    for v in (found - expected).elements():
        yield f"{case.name}: found without a comment: {v}"


def placed(expected: Verdict) -> Verdict:
    """Return a verdict as findings name their files."""
    return expected._replace(path=(DIRECTORY / expected.path).as_posix())
