"""Each rule's own examples: what it must find, what it must leave alone, what its fix makes."""

from __future__ import annotations

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.report import registry
from asyncguard.lint.report.registry import Example, Rule
from asyncguard.lint.run.settings import Settings

RULES = registry.rules()
DEFAULTS = Settings(select=tuple(rule.code for rule in RULES))
VALID = [(rule, source) for rule in RULES for source in rule.valid]
INVALID = [(rule, example) for rule in RULES for example in rule.invalid]


def name(value: object) -> str:
    if isinstance(value, Rule):
        return value.code
    source = value.source if isinstance(value, Example) else str(value)
    return (source.strip().splitlines() or ["nothing"])[-1].strip()


def found(rule: Rule, source: str) -> list[int]:
    return [f.line for f in check_source(source, "example.py", DEFAULTS) if f.code == rule.code]


@pytest.mark.parametrize(("rule", "source"), VALID, ids=name)
def test_leaves_the_valid_example_alone(rule: Rule, source: str) -> None:
    assert found(rule, source) == []


@pytest.mark.parametrize(("rule", "example"), INVALID, ids=name)
def test_finds_the_invalid_example(rule: Rule, example: Example) -> None:
    assert len(found(rule, example.source)) == example.count


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_a_rule_is_documented(rule: Rule) -> None:
    assert rule.summary
    assert rule.valid
    assert rule.invalid
    assert "Reference: https://" in rule.explanation


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
