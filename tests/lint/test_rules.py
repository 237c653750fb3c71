"""Each rule's own examples: what it must find, what it must leave alone, what its fix makes."""

from __future__ import annotations

from asyncguard.lint.report import registry
from asyncguard.lint.report.registry import Rule
from asyncguard.lint.run.settings import Settings
from tests.lint.programs import Programs

RULES = registry.rules()
DEFAULTS = Settings(select=tuple(rule.code for rule in RULES))


def test_rules_find_their_invalid_examples_and_leave_the_valid_ones_alone(
    programs: Programs,
) -> None:
    def count(rule: Rule, source: str) -> int:
        findings = programs.in_source(source, DEFAULTS, "example.py")
        return sum(f.code == rule.code for f in findings)

    valid = [(rule.code, source) for rule in RULES for source in rule.valid if count(rule, source)]
    assert valid == []
    examples = [(rule, example) for rule in RULES for example in rule.invalid]
    assert [(r.code, x) for r, x in examples if count(r, x.source) != x.count] == []


def test_rules_are_documented() -> None:
    for rule in RULES:
        assert rule.summary, rule.code
        assert rule.valid, rule.code
        assert rule.invalid, rule.code
        assert "Reference: https://" in rule.explanation, rule.code


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
