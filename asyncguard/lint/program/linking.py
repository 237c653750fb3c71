"""Linking: each candidate gets its final context from the call graph.

A read of a parameter is reported at the calls that pass a device value if there are any, else where
it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from asyncguard.lint.names import family
from asyncguard.lint.program.facts import Candidate, Linked
from asyncguard.lint.program.network import COLD, EPOCH, GUARDED, LEVELS, Network
from asyncguard.model import Confidence, Finding, Loop


def link(network: Network) -> dict[str, Linked]:
    """Give every candidate of every file its final context."""
    files = network.facts
    candidates = {
        candidate
        for facts in files.values()
        for candidate in facts.candidates
        if candidate.home not in network.compiled
    }
    told = {
        place
        for c in candidates
        if not _is_doubtful(c)
        for place in c.via
        if place[0] == c.finding.path
    }
    spared = network.spared()
    nearby = network.entered_nearby({c.function for c in candidates if _is_wrapped_barrier(c)})
    found: dict[str, list[Finding]] = {path: [] for path in files}
    for candidate in candidates:
        finding = candidate.finding
        function = candidate.function
        levels = network.entered
        if function in nearby and _is_wrapped_barrier(candidate):
            levels = nearby
        if params := candidate.params:
            by = candidate.by or (finding.path, finding.function, finding.line, finding.column)
            at_calls = (by[0], *by[2:]) in told
            if at_calls or _is_spared(params, spared.get(function, frozenset())):
                levels = network.hooks
        level = levels.get(function, COLD)
        if candidate.named and level >= GUARDED:
            finding = replace(finding, confidence=Confidence.MEDIUM)
        found[finding.path].append(in_context(finding, level))
    return {
        path: Linked(
            tuple(worded(f) for f in _hottest(findings)),
            files[path].suppressions,
            files[path].notebook,
        )
        for path, findings in found.items()
    }


def _is_spared(params: frozenset[int], spared: frozenset[int]) -> bool:
    """Whether no call hands a function what it reads, or all what spares it to make that (`~p`)."""
    read = {p for p in params if p >= 0}
    return (bool(read) and read <= spared) or any(p < 0 for p in params & spared)


def _hottest(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Keep one finding of what several callers heat: that of the hottest, or else the surest."""
    kept: dict[tuple[int, int, int, int, str, str], Finding] = {}
    for finding in findings:
        place = finding.line, finding.column, finding.end_line, finding.end_column
        key = (*place, finding.code, finding.api)
        if key not in kept or _heat(finding) > _heat(kept[key]):
            kept[key] = finding
    return kept.values()


def _heat(finding: Finding) -> tuple[int, bool, int, str, str]:
    sure = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH).index(finding.confidence)
    return LEVELS[finding.loop], not finding.guarded, sure, finding.message, finding.advice


def _is_wrapped_barrier(candidate: Candidate) -> bool:
    """Whether it is a barrier in a function that is one, by its name: whoever calls it, waits."""
    finding = candidate.finding
    barrier = finding.code in ("ASG201", "ASG202")
    return barrier and _BARRIER(finding.function.rpartition(".")[2])


_BARRIER = family("function.barrier")


def _is_doubtful(candidate: Candidate) -> bool:
    return candidate.finding.confidence == Confidence.LOW and not candidate.named


def in_context(finding: Finding, level: int) -> Finding:
    """Return the finding with the context that its function's entry level gives it."""
    if finding.loop == Loop.STEP or level == COLD:
        return finding
    if level == EPOCH:
        return replace(finding, loop=Loop.EPOCH)
    return replace(finding, loop=Loop.STEP, guarded=finding.guarded or level == GUARDED)


def worded(finding: Finding) -> Finding:
    """Say in the message how often it happens."""
    when = {Loop.STEP: "in every step", Loop.EPOCH: "in every epoch", Loop.NONE: "here"}
    words = "in some steps" if finding.guarded and finding.loop == Loop.STEP else when[finding.loop]
    return replace(finding, message=finding.message.replace("{when}", words))
