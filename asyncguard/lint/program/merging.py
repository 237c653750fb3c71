"""One read, one finding: what several callers tell of one place becomes one finding there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from asyncguard.lint.domain.explained import DOUBT
from asyncguard.lint.domain.hotness import OF_LOOP
from asyncguard.model import CallSite, Confidence, Finding

_SURENESS = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
Heat = tuple[int, bool, int]


class Told(NamedTuple):
    """A finding in the context that one call gives it; `call` is None where it needs none.

    `silenced`: a comment at the call keeps it from counting.
    """

    finding: Finding
    call: CallSite | None = None
    silenced: bool = False


def merged(told: Iterable[Told]) -> Iterator[Finding]:
    """Yield one finding of each place and rule: the hottest, with the calls that lead to it.

    `x[mask] += 1` reads and writes at one place, so it is one finding, not two. Calls that reach
    it less often than the hottest of them are left out. Where a call is silenced, only the others
    count.
    """
    groups: dict[tuple[object, ...], list[Told]] = {}
    for each in told:
        f = each.finding
        key = f.line, f.column, f.end_line, f.end_column, f.code
        groups.setdefault(key, []).append(each)
    for group in groups.values():
        if any(each.silenced for each in group):
            group = [each for each in group if each.call is not None and not each.silenced]
        if not group:
            continue
        hottest = max(group, key=_rank).finding
        calls = tuple(_calls(group, hottest))
        yield hottest if calls == hottest.reached_from else replace(hottest, reached_from=calls)


def _calls(group: list[Told], hottest: Finding) -> Iterator[CallSite]:
    """Yield the calls in the loop context of the finding, each once, the hottest first."""
    found: dict[CallSite, Heat] = {}
    for finding, call, _ in group:
        if call is not None and finding.loop is hottest.loop:
            found[call] = max(found.get(call, (0, False, 0)), heat(finding))
    yield from sorted(found, key=lambda call: (*(-part for part in found[call]), _place(call)))


def _place(call: CallSite) -> tuple[str, int, int, str]:
    return call.path, call.cell or 0, call.line, call.function


def _rank(told: Told) -> tuple[object, ...]:
    """Return what orders the ways to one finding, in whatever order they were found.

    Names of files and functions come late, evidence last.
    """
    finding = told.finding
    doubts = sum(why.about == DOUBT for why in finding.reasons)
    texts = tuple(f"{why.about} {why.text}" for why in finding.reasons)
    places = tuple((why.path, why.line) for why in finding.reasons)
    said = finding.message, finding.advice, -doubts, texts, places, finding.api
    return (heat(finding), *said, finding.function, finding.evidence)


def heat(finding: Finding) -> Heat:
    """Return how often a finding executes, and how sure that is; more is hotter."""
    return OF_LOOP[finding.loop], not finding.guarded, _SURENESS.index(finding.confidence)
