"""What one place is told of by several rules becomes one finding.

ASG102 says that a number is read in every step. That it is only added up (ASG302), or that one
transfer would serve three such reads (ASG301), tells what to do about it; reported apart it would
say the same place twice. So these rules are off by default, and what they found becomes the advice
of the finding that they refine (see `asyncguard.lint.advice`), and, here, its fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from asyncguard.lint.labels import IN_GRAPHS, labels
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
    refined = [_refined(f, better.get((f.line, f.column)), refines) for f in kept]
    return list(_worst(refined, findings))


def _worst(kept: list[Finding], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield one finding of each wait: in code that runs as a graph, what it does to that.

    What repairs the wait repairs that as well, unless it waits less often.
    """
    rank = {code: index for index, code in enumerate(IN_GRAPHS)}
    worst: dict[tuple[object, ...], str] = {}
    for finding in kept:
        if finding.code in rank:
            known = worst.setdefault(_wait(finding), finding.code)
            worst[_wait(finding)] = min(known, finding.code, key=rank.__getitem__)
    fixes = {_wait(f): f.fix for f in findings if f.fix is not None and not f.fix.reports_less}
    for finding in kept:
        code = worst.get(_wait(finding)) if finding.evidence else None
        if code is None or finding.code == code:
            fix = finding.fix if code is None else fixes.get(_wait(finding))
            yield finding if fix is finding.fix else replace(finding, fix=fix)


def _wait(finding: Finding) -> tuple[object, ...]:
    return finding.line, finding.column, finding.end_line, finding.end_column, finding.api


def _refined(
    finding: Finding, better: Finding | None, refines: dict[str, tuple[str, ...]]
) -> Finding:
    if better is None or finding.code not in refines[better.code]:
        return finding
    return replace(finding, fix=finding.fix or better.fix)
