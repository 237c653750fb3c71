"""Every program in `cases/` has the findings that its comments ask for, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from tests.lint.case_files import Case, all_cases, verdict


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.has_marks, "no comment says what is found: `# ASG102` on a line, or `# clean`"
    monkeypatch.chdir(tmp_path)
    for path, text in case.files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    found = check_paths([Path()], case.settings).findings
    assert sorted(map(verdict, found)) == case.expected
