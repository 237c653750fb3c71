"""A fix for a finding, from a rule that does not report itself.

ASG102 says that a number is read in every step. That it is only added up (ASG302), or that one
transfer would serve three such reads (ASG301), tells what to do about it; reported apart it would
say the same place twice. So these rules are off by default, and what they found becomes the advice
of the finding that they refine (see `asyncguard.lint.advice`), and, here, its fix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asyncguard.lint.labels import labels
from asyncguard.model import Finding

Place = tuple[int, int]


def refine(findings: Iterable[Finding], enabled: frozenset[str]) -> list[Finding]:
    """Return the findings of the rules that run, with the fixes of those that do not."""
    refines = {rule.code: rule.refines for rule in labels() if rule.refines}
    kept: list[Finding] = []
    better: dict[Place, Finding] = {}
    for finding in sorted(findings, key=lambda f: (f.code, f.message)):
        if finding.code in enabled:
            kept.append(finding)
        elif finding.code in refines:
            better[finding.line, finding.column] = finding
    return [_refined(f, better.get((f.line, f.column)), refines) for f in kept]


def _refined(
    finding: Finding, better: Finding | None, refines: dict[str, tuple[str, ...]]
) -> Finding:
    if better is None or finding.code not in refines[better.code]:
        return finding
    return replace(finding, fix=finding.fix or better.fix)
