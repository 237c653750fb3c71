"""Every finding in every small program of the repository, field by field, as `golden.jsonl` has it.

What the other tests leave open (a message, a column, the confidence, an edit) this one holds still.
A change that is meant to change findings rewrites the file, and its author reads the difference:

    ASYNCGUARD_UPDATE_GOLDEN=1 python -m pytest tests/lint/test_golden.py
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.lint.check import check_paths
from asyncguard.lint.report import registry
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding, to_plain

GOLDEN = Path(__file__).parent / "golden.jsonl"
CASES = Path(__file__).parent / "cases"
UPDATE = "ASYNCGUARD_UPDATE_GOLDEN"
DIRECTORY = Path("checked")  # a relative path: findings name their files
SETTINGS = {
    "ALL": Settings(select=("ALL",), cache=False, jobs=1),
    "default": Settings(cache=False, jobs=1),
}
DEFAULTS = {field.name: field.default for field in fields(Finding)}
Files = Mapping[str, str]  # the text of each file of a program, by its name


def programs() -> Iterator[tuple[str, Files]]:
    """Name every program that the repository tells a verdict of, and give its files."""
    for point in catalogue.load():
        yield f"catalogue {point.id} hit", {"snippet.py": point.hit}
        yield f"catalogue {point.id} miss", {"snippet.py": point.miss}
    for rule in registry.rules():
        for number, source in enumerate(rule.valid):
            yield f"{rule.code} valid {number}", {"example.py": source}
        for number, example in enumerate(rule.invalid):
            yield f"{rule.code} invalid {number}", {"example.py": example.source}
    for topic in sorted(path for path in CASES.iterdir() if path.is_dir()):
        for case in sorted(path for path in topic.iterdir() if path.suffix in ("", ".py")):
            yield f"case {topic.name}/{case.stem}", case_files(case)


def case_files(case: Path) -> Files:
    """Return the files of a case: a program of one file, or a folder of several."""
    if case.is_file():
        return {"a.py": case.read_text(encoding="utf-8")}
    found = sorted(case.rglob("*.py"))
    return {str(path.relative_to(case)): path.read_text(encoding="utf-8") for path in found}


def findings_in(files: Files) -> Iterator[dict[str, Any]]:
    """Check a program under each of the settings; a finding that several show comes once."""
    for name, text in files.items():
        path = DIRECTORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shown: dict[Finding, list[str]] = {}
    for name, settings in SETTINGS.items():
        for finding in check_paths([DIRECTORY], settings).findings:
            shown.setdefault(finding, []).append(name)
    for name in files:
        (DIRECTORY / name).unlink()
    for finding, names in shown.items():
        yield {"settings": names, **fields_of(finding)}


def fields_of(finding: Finding) -> dict[str, Any]:
    """Return the fields of a finding that differ from their defaults, as JSON has them."""
    plain = {name: getattr(finding, name) for name in DEFAULTS}
    return {name: to_plain(v) for name, v in plain.items() if v != DEFAULTS[name]}


def lines_of(program: str, files: Files) -> Iterator[str]:
    for finding in findings_in(files):
        yield json.dumps({"program": program, **finding}, ensure_ascii=False)


def test_the_findings_are_those_of_the_golden_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = sorted(line for program, files in programs() for line in lines_of(program, files))
    if os.environ.get(UPDATE):
        GOLDEN.write_text("\n".join(found) + "\n", encoding="utf-8")
    golden = GOLDEN.read_text(encoding="utf-8").splitlines()
    if found != golden:
        pytest.fail(difference(golden, found), pytrace=False)


def difference(golden: list[str], found: list[str]) -> str:
    """Say which findings are lost and which are new; those of one program stand together."""
    lost, new = Counter(golden) - Counter(found), Counter(found) - Counter(golden)
    signed = [(line, "-") for line in lost.elements()] + [(line, "+") for line in new.elements()]
    head = f"{lost.total()} findings lost (-), {new.total()} new (+); a changed one is both"
    how = f"If all of this is meant: {UPDATE}=1 python -m pytest tests/lint/{Path(__file__).name}"
    return "\n".join([head, *(f"{sign} {line}" for line, sign in sorted(signed)), how])


def test_a_difference_shows_the_findings() -> None:
    message = difference(['{"a": 1}', '{"b": 1}'], ['{"a": 1}', '{"b": 2}'])
    assert '- {"b": 1}\n+ {"b": 2}\n' in message
    assert message.startswith("1 findings lost (-), 1 new (+)")
