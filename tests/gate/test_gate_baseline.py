"""The baseline file: what is written comes back, and a bad file is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.gate import baseline
from asyncguard.model import AsyncguardError
from tests.records import finding, record, steady

FINDINGS = baseline.of_findings([finding(), finding(line=11), finding(code="ASG103")])
SITES = baseline.of_traces([record(steady(2), steady_steps=10)])


def test_both_sections_come_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    baseline.update(path, FINDINGS, SITES)
    assert baseline.load(path) == baseline.Baseline(FINDINGS, SITES)


def test_updating_one_section_keeps_the_other(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    baseline.update(path, FINDINGS, None)
    assert baseline.load(path).sites is None
    baseline.update(path, None, SITES)
    assert baseline.load(path) == baseline.Baseline(FINDINGS, SITES)


def test_the_file_does_not_depend_on_order_or_lines(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    baseline.update(one, baseline.of_findings([finding(), finding(path="a.py")]), None)
    baseline.update(two, baseline.of_findings([finding(path="a.py"), finding(line=99)]), None)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such baseline"),
        ("{", "not a readable baseline"),
        ("[]", "not a baseline"),
        ('{"version": 1, "findings": [{"path": 1}], "sites": null}', "not a baseline"),
        ('{"version": 99}', "version 99"),
    ],
    ids=["missing", "cut off", "another shape", "incomplete row", "future version"],
)
def test_a_bad_file_is_an_error_that_names_it(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AsyncguardError, match=message) as caught:
        baseline.load(path)
    assert str(path) in str(caught.value)


def test_an_unwritable_place_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "b.json"
    with pytest.raises(AsyncguardError, match="cannot write"):
        baseline.update(path, FINDINGS, None)


def test_paths_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert baseline.portable(str(tmp_path / "src" / "a.py")) == "src/a.py"
    assert baseline.portable("src/a.py") == "src/a.py"
    assert baseline.portable("/elsewhere/a.py") == "/elsewhere/a.py"
