"""Every catalogue entry's own snippets: the linter finds what `hit` shows and not `miss`."""

from __future__ import annotations

import pytest

from asyncguard import catalogue
from asyncguard.catalogue import SyncPoint
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence

POINTS = [point for point in catalogue.load() if point.source is not None]
AUDIT = Settings(select=("ALL",))
HOT = Settings(min_confidence=Confidence.LOW)  # a miss may still wait where it is not hot


def apis(source: str, rule: str, settings: Settings) -> set[str]:
    return {f.api for f in check_source(source, "snippet.py", settings) if f.code == rule}


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_the_hit_is_found(point: SyncPoint) -> None:
    assert point.id in apis(point.hit, point.rule, AUDIT)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_the_miss_is_not(point: SyncPoint) -> None:
    assert point.id not in apis(point.miss, point.rule, HOT)
