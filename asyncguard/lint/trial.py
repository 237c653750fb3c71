"""A trial of a team's own catalogue: do its examples come out as it says?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from asyncguard import additions
from asyncguard.additions import Addition
from asyncguard.lint import names
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence

FILE = "snippet.py"


class Outcome(NamedTuple):
    """One example: the file and entry that it belongs to, and what is wrong ("": nothing)."""

    path: str
    entry: str
    problem: str = ""


def trial(own: tuple[Addition, ...]) -> Iterator[Outcome]:
    """Yield the outcome of each hit and each miss of these files."""
    for addition in own:
        yield from _points(addition, own)
        yield from _snippets(addition, own)
        yield from _names(addition)


def _points(addition: Addition, own: tuple[Addition, ...]) -> Iterator[Outcome]:
    """A hit is found by an audit; a miss may still wait where it is not hot."""
    audit = Settings(select=("ALL",), catalogue=own)
    hot = Settings(min_confidence=Confidence.LOW, catalogue=own)
    for point in additions.own_points(addition):
        for shown, settings, expected in ((point.hit, audit, True), (point.miss, hot, False)):
            found = check_source(shown, FILE, settings)
            told = any(f.api == point.id and f.code == point.rule for f in found)
            problem = "" if told is expected else _problem(expected, f"a wait for {point.id}")
            yield Outcome(addition.path, f"sync {point.id!r}", problem)


def _snippets(addition: Addition, own: tuple[Addition, ...]) -> Iterator[Outcome]:
    settings = Settings(catalogue=own)
    for snippet in additions.snippets(addition):
        for shown, expected in ((snippet.hit, True), (snippet.miss, False)):
            told = bool(check_source(shown, FILE, settings))
            problem = "" if told is expected else _problem(expected, "a finding")
            yield Outcome(addition.path, f"snippet {snippet.says!r}", problem)


def _names(addition: Addition) -> Iterator[Outcome]:
    for id, entries in names.own((addition,)).items():
        for family in entries:
            for name, expected in (
                *((n, True) for n in family.hit),
                *((n, False) for n in family.miss),
            ):
                problem = "" if family.holds(name) is expected else _problem(expected, repr(name))
                yield Outcome(addition.path, f"name {id!r}", problem)


def _problem(expected: bool, subject: str) -> str:
    return f"its hit lacks {subject}" if expected else f"its miss has {subject}"
