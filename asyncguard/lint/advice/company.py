"""Predicates about the other findings of a file: what could be read together, what rules add."""

from __future__ import annotations

from functools import cache

from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import is_repeated
from asyncguard.lint.fixes.transfers import MOST
from asyncguard.lint.labels import labels
from asyncguard.model import Finding


def better(scene: Scene) -> Finding | None:
    """Return what a rule of advice says of the same place."""
    here = scene.spot.finding
    said = (scene.company.at(here.line, here.column, code) for code in _refining(here.code))
    return next((found for found in said if found is not None), None)


@cache
def _refining(code: str) -> tuple[str, ...]:
    """Return the rules of advice that refine a rule, the last code first."""
    return tuple(rule.code for rule in reversed(labels()) if code in rule.refines)


def _is_bettered(scene: Scene, code: str) -> bool:
    found = better(scene)
    return found is not None and found.code == code


@predicate
def is_only_added_up(scene: Scene) -> bool:
    """The number is added up or collected on the host, and not used in the loop."""
    return _is_bettered(scene, "ASG302")


@predicate
def is_read_with_others(scene: Scene) -> bool:
    """Several reads wait one after the other, or one for each element."""
    return _is_bettered(scene, "ASG301")


@predicate
def is_followed_by_a_read(scene: Scene) -> bool:
    """The read after a barrier waits for its own value."""
    return _is_bettered(scene, "ASG203")


def others(scene: Scene) -> list[int]:
    """Return the lines of the later reads of its block that could be made together with it."""
    later = scene.company.later(scene.spot, MOST)
    found = {other.finding.line for other in later if is_repeated(scene.spot, other)}
    return sorted(found - {scene.spot.finding.line})


@predicate
def has_company(scene: Scene) -> bool:
    """Later statements of its block read values that exist already."""
    return bool(others(scene))
