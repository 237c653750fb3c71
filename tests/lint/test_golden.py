"""Every finding in every small program of the repository, field by field, as `golden.jsonl` has it.

What the other tests leave open (a message, a column, the confidence, an edit) this one holds still.
A change that is meant to change findings rewrites the file, and its author reads the difference:

    ASYNCGUARD_UPDATE_GOLDEN=1 python -m pytest tests/lint/test_golden.py
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.lint.report import registry
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding, to_plain
from tests.lint.case_files import Case, all_cases
from tests.lint.programs import Programs

GOLDEN = Path(__file__).parent / "golden.jsonl"
UPDATE = "ASYNCGUARD_UPDATE_GOLDEN"
DEFAULT = Settings(cache=False, jobs=1)
DEFAULTS = {field.name: field.default for field in fields(Finding)}


def all_programs() -> Iterator[Case]:
    """Return every program that the repository tells a verdict of."""
    for point in catalogue.load():
        yield Case(f"catalogue {point.id} hit", {"snippet.py": point.hit}, DEFAULT)
        yield Case(f"catalogue {point.id} miss", {"snippet.py": point.miss}, DEFAULT)
    for rule in registry.rules():
        for number, source in enumerate(rule.valid):
            yield Case(f"{rule.code} valid {number}", {"example.py": source}, DEFAULT)
        for number, example in enumerate(rule.invalid):
            files = {"example.py": example.source}
            yield Case(f"{rule.code} invalid {number}", files, DEFAULT)
    for case in all_cases():
        yield case._replace(name=f"case {case.name}")


def findings_in(case: Case, programs: Programs) -> Iterator[dict[str, Any]]:
    """Show a program's findings with its settings and with all rules; one of both comes once."""
    shown: dict[Finding, list[str]] = {}
    for name, select in (("ALL", ("ALL",)), ("default", case.settings.select)):
        for finding in programs.findings(case.files, replace(case.settings, select=select)):
            shown.setdefault(finding, []).append(name)
    for finding, names in shown.items():
        yield {"settings": names, **fields_of(finding)}


# Reasons have tests of their own; what evidence is worth changes whenever it is fitted.
FITTED = {"reasons", "evidence", "probability"}


def fields_of(finding: Finding) -> dict[str, Any]:
    """Return the fields of a finding that differ from their defaults, as JSON has them."""
    plain = {name: getattr(finding, name) for name in DEFAULTS if name not in FITTED}
    told = {name: to_plain(v) for name, v in plain.items() if v != DEFAULTS[name]}
    if finding.fix is not None and not finding.fix.reports_less:
        del told["fix"]["reports_less"]
    return told


def lines_of(case: Case, programs: Programs) -> Iterator[str]:
    for finding in findings_in(case, programs):
        yield json.dumps({"program": case.name, **finding}, ensure_ascii=False)


def test_the_findings_are_those_of_the_golden_file(programs: Programs) -> None:
    found = sorted(line for case in all_programs() for line in lines_of(case, programs))
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
