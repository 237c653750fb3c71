"""Linking: each candidate gets its final context from the call graph.

A read of a parameter is as hot as the calls that pass a device value, if there are any, else as its
function. It is reported where it stands.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from asyncguard.lint.domain.explained import PLACE
from asyncguard.lint.domain.hotness import Context, Hotness
from asyncguard.lint.evidence.weights import of_way, weighed
from asyncguard.lint.labels import IN_EVERY_STEP
from asyncguard.lint.names import family
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Candidate, FileFacts, FileResult, FunctionId, Spot, Via
from asyncguard.lint.program.merging import Told, merged
from asyncguard.lint.program.ways import Ways
from asyncguard.lint.source.notebook import Notebook
from asyncguard.model import CallSite, Confidence, Finding, FindingReason, Loop


def link(network: CallGraph) -> dict[str, FileResult]:
    """Give every candidate of every file its final context."""
    files = network.facts
    candidates = {
        candidate
        for facts in files.values()
        for candidate in facts.candidates
        if network.compiled.isdisjoint((candidate.home, candidate.function))
        and network.is_caused(candidate.function, candidate.params)
        and (not candidate.if_handed or network.is_handed(candidate.function, candidate.params))
    }
    silenced = {c for c in candidates if c.by is not None and _is_silenced(c.by, c, files)}
    told: dict[str, list[Told]] = {path: [] for path in files}
    for candidate, finding in _in_contexts(candidates, network):
        if finding.path not in files:
            continue  # a read in a file that was followed to, of which nothing is reported
        call = _call(candidate.by, files)
        told[finding.path].append(Told(finding, call, candidate in silenced))
    return {
        path: FileResult(
            tuple(
                _in_cells(weighed(worded(f), *network.known_of(f.path, f.function)), files)
                for f in merged(told[path])
            ),
            facts.suppressions,
            facts.notebook,
            frozenset((c.by.line, c.finding.code) for c in silenced if c.by and c.by.path == path),
            facts.bounds,
            facts.skipped,
            any(_TEST_CASE(each.qualname) for each in facts.defined),
        )
        for path, facts in files.items()
    }


def _in_contexts(
    candidates: Collection[Candidate], network: CallGraph
) -> Iterator[tuple[Candidate, Finding]]:
    """Yield each candidate with its finding as often as its function is entered."""
    told = _told_at_calls(candidates)
    ways = Ways(network)
    nearby = network.entered_nearby({c.function for c in candidates if _is_wrapped_barrier(c)})

    def levels_of(candidate: Candidate) -> Mapping[FunctionId, Hotness]:
        """Return how often functions are entered, as far as it matters to this candidate."""
        if params := candidate.params:
            if (candidate.finding.code, candidate.place, candidate.read) in told:
                return network.hooks
            level = network.causing(candidate.function, params)
            if level < network.entered.get(candidate.function, Hotness.COLD):
                return ChainMap({candidate.function: level}, network.entered)
        is_near = candidate.function in nearby and _is_wrapped_barrier(candidate)
        return nearby if is_near else network.entered

    for candidate in candidates:
        finding = candidate.finding
        if not network.off.isdisjoint(candidate.switches):
            finding = replace(finding, guarded=True)
        function = candidate.function
        levels = levels_of(candidate)
        level = levels.get(function, Hotness.COLD)
        if _is_no_program(function) or network.is_aside(function[1]):
            yield candidate, replace(finding, loop=Loop.NONE)
            continue
        if candidate.named and level >= Hotness.RARE:
            finding = replace(finding, confidence=Confidence.MEDIUM)
        if function in network.fallbacks:  # its loops run as seldom as it
            finding = replace(finding, guarded=True)
        hot = in_context(finding, level)
        if hot is not finding:
            inside = tuple(why for why in finding.reasons if why.about != PLACE)
            way = ways.to(function, levels)
            items = finding.evidence and (*finding.evidence, *of_way(way.calls, way.conditions))
            hot = replace(hot, reasons=inside + way.reasons, evidence=items)
        yield candidate, hot


def _told_at_calls(candidates: Iterable[Candidate]) -> set[tuple[str, Spot, Spot]]:
    """Return the reads in helpers that calls in their own file cause.

    By the rule, the place where the call leads, and the read: one call may lead to several.
    """
    return {
        (c.finding.code, place, c.read)
        for c in candidates
        if c.by is not None and not _is_doubtful(c)
        for place in c.by.places
        if place[0] == c.by.path
    }


def _is_silenced(by: Via, candidate: Candidate, files: Mapping[str, FileFacts]) -> bool:
    """Whether a comment at the call silences what it causes elsewhere.

    Of the calls in a file that was merely followed to, the comments are not known.
    """
    comments = files[by.path].suppressions if by.path in files else ()
    return any(comment.covers_line(by.line, candidate.finding.code) for comment in comments)


def _call(by: Via | None, files: Mapping[str, FileFacts]) -> CallSite | None:
    if by is None:
        return None
    notebook = files[by.path].notebook if by.path in files else None
    line, cell = notebook.cell(by.line) if notebook is not None else (by.line, None)
    return CallSite(by.path, line, by.function, cell)


def _in_cells(finding: Finding, files: Mapping[str, FileFacts]) -> Finding:
    """Return a finding whose reasons count the lines of notebooks within their cells."""
    notebooks = {why.path: files[why.path].notebook for why in finding.reasons if why.path in files}
    if not any(notebooks.values()):
        return finding
    return replace(finding, reasons=tuple(_in_cell(w, notebooks) for w in finding.reasons))


def _in_cell(why: FindingReason, notebooks: Mapping[str, Notebook | None]) -> FindingReason:
    notebook = notebooks.get(why.path)
    if notebook is None or not why.line:
        return why
    line, cell = notebook.cell(why.line)
    return replace(why, line=line, cell=cell)


def _is_wrapped_barrier(candidate: Candidate) -> bool:
    """Whether it is a barrier in a function that is one, by its name: whoever calls it, waits."""
    finding = candidate.finding
    barrier = finding.code in ("ASG201", "ASG202")
    return barrier and _BARRIER(finding.function.rpartition(".")[2])


_BARRIER = family("function.barrier")
_TEST_CASE, _TESTS = family("function.test_case"), family("file.test")
_EXPORTS = family("file.exporter")


def _is_no_program(function: FunctionId) -> bool:
    """Whether a function runs no steps of a program: it is a unit test, or exports a model."""
    path, name = function
    return _EXPORTS(path) or (_TEST_CASE(name) and _TESTS(path))


def _is_doubtful(candidate: Candidate) -> bool:
    return candidate.finding.confidence == Confidence.LOW and not candidate.named


def in_context(finding: Finding, level: Hotness) -> Finding:
    """Return the finding with the context that its function's entry level gives it."""
    own = Context(finding.loop, finding.guarded)
    context = own.within(level)
    if context is own:
        return finding
    return replace(finding, loop=context.loop, guarded=context.guarded)


def worded(finding: Finding) -> Finding:
    """Say in the message how often it happens."""
    when = {Loop.STEP: IN_EVERY_STEP, Loop.EPOCH: "in every epoch", Loop.NONE: "here"}
    words = "in some steps" if finding.guarded and finding.loop == Loop.STEP else when[finding.loop]
    return replace(finding, message=finding.message.replace("{when}", words))
