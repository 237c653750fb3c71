"""Every catalogue entry's own snippets: the linter finds what `hit` shows and not `miss`."""

from __future__ import annotations

from asyncguard import catalogue
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence
from tests.lint.programs import Programs

POINTS = [point for point in catalogue.load() if point.source is not None]
AUDIT = Settings(select=("ALL",))
HOT = Settings(min_confidence=Confidence.LOW)  # a miss may still wait where it is not hot


def test_the_hits_are_found_and_the_misses_are_not(programs: Programs) -> None:
    def found(source: str, settings: Settings) -> set[tuple[str, str]]:
        findings = programs.in_source(source, settings, "snippet.py")
        return {(f.code, f.api) for f in findings}

    assert [p.id for p in POINTS if (p.rule, p.id) not in found(p.hit, AUDIT)] == []
    assert [p.id for p in POINTS if (p.rule, p.id) in found(p.miss, HOT)] == []
