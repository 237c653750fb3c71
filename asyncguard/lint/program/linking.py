"""Linking: each candidate gets its final context from the call graph.

A read of a parameter is as hot as the calls that pass a device value, if there are any, else as its
function. It is reported where it stands.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from asyncguard.lint.domain.explained import PLACE
from asyncguard.lint.domain.hotness import Context, Hotness
from asyncguard.lint.evidence import words
from asyncguard.lint.evidence.weights import of_way, weighed
from asyncguard.lint.labels import IN_EVERY_STEP
from asyncguard.lint.names import family
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Candidate, FileFacts, FileResult, FunctionId, Spot, Via
from asyncguard.lint.program.merging import Told, merged
from asyncguard.lint.program.regions import Regions
from asyncguard.lint.program.ways import Ways
from asyncguard.lint.source.notebook import Notebook
from asyncguard.model import CallSite, Confidence, Finding, FindingReason, Loop


def link(network: CallGraph) -> dict[str, FileResult]:
    """Give every candidate of every file its final context."""
    files = network.facts
    candidates = {c for facts in files.values() for c in facts.candidates if _is_met(c, network)}
    silenced = {c for c in candidates if c.by is not None and _is_silenced(c.by, c, files)}
    told: dict[str, list[Told]] = {path: [] for path in files}
    regions = Regions(network)
    for candidate, finding in _in_contexts(candidates, network):
        if finding.path not in files:
            continue  # a read in a file that was followed to, of which nothing is reported
        call = _call(candidate.by, files)
        told[finding.path].append(Told(finding, call, candidate in silenced))
        if (worse := regions.found(candidate, finding)) is not None:
            told[finding.path].append(Told(worse, call, candidate in silenced))
    return {
        path: FileResult(
            tuple(_in_cells(found, files) for found in _weighed([*merged(told[path])], network)),
            facts.suppressions,
            facts.notebook,
            frozenset((c.by.line, c.finding.code) for c in silenced if c.by and c.by.path == path),
            facts.bounds,
            facts.skipped,
            any(_TEST_CASE(each.qualname) for each in facts.defined),
        )
        for path, facts in files.items()
    }


def _is_met(candidate: Candidate, network: CallGraph) -> bool:
    """Whether a program can wait there: it is not compiled, and calls hand in what waits."""
    if not network.compiled.isdisjoint((candidate.home, candidate.function)):
        return False
    called = candidate.function, candidate.params
    if not network.is_caused(*called):
        return False
    if candidate.measures and candidate.function not in network.trained:
        return False
    return not candidate.if_handed or network.is_handed(*called)


def _weighed(findings: Sequence[Finding], network: CallGraph) -> Iterator[Finding]:
    """Give the findings of a file their probabilities, by all that is known of their functions."""
    known: dict[str, tuple[str, ...]] = {}
    for function, count in Counter(finding.function for finding in findings).items():
        beside = next(most for most in (10, 4, 2, 1) if count >= most)
        told = *network.known_of(findings[0].path, function), *words.of_function(function)
        known[function] = *told, f"beside.{beside}"
    for finding in findings:
        yield weighed(worded(finding), *known[finding.function])


def _in_contexts(
    candidates: Collection[Candidate], network: CallGraph
) -> Iterator[tuple[Candidate, Finding]]:
    """Yield each candidate with its finding as often as its function is entered."""
    entries, ways = _Entries(candidates, network), Ways(network)
    for candidate in candidates:
        finding = candidate.finding
        if not network.off.isdisjoint(candidate.switches):
            finding = replace(finding, guarded=True)
        function = candidate.function
        levels = entries.levels_of(candidate)
        level = levels.get(function, Hotness.COLD)
        if _is_no_program(function) or network.is_aside(function[1]):
            yield candidate, replace(finding, loop=Loop.NONE)
            continue
        if candidate.named and level >= Hotness.RARE:
            finding = replace(finding, confidence=Confidence.MEDIUM)
        if _is_rare(candidate, network):
            finding = replace(finding, guarded=True)
        hot = in_context(finding, level)
        if hot is not finding:
            inside = tuple(why for why in finding.reasons if why.about != PLACE)
            way = ways.to(function, levels)
            along = *of_way(way.calls, way.conditions), *words.of_callers(way.callers)
            items = finding.evidence and (*finding.evidence, *along)
            hot = replace(hot, reasons=inside + way.reasons, evidence=items)
        yield candidate, hot


class _Entries:
    """How often functions are entered, as far as it matters to each of some candidates."""

    def __init__(self, candidates: Collection[Candidate], network: CallGraph) -> None:
        self._network = network
        self._told = _told_at_calls(candidates)
        barriers = {c.function for c in candidates if _is_wrapped_barrier(c)}
        self._nearby = network.entered_nearby(barriers)

    def levels_of(self, candidate: Candidate) -> Mapping[FunctionId, Hotness]:
        """Return how often functions are entered for this candidate."""
        network, function = self._network, candidate.function
        if params := candidate.params:
            if (candidate.finding.code, candidate.place, candidate.read) in self._told:
                return network.hooks
            level = network.causing(function, params)
            if level < network.entered.get(function, Hotness.COLD):
                return ChainMap({function: level}, network.entered)
        is_near = function in self._nearby and _is_wrapped_barrier(candidate)
        return self._nearby if is_near else network.entered


def _is_rare(candidate: Candidate, network: CallGraph) -> bool:
    """Whether a place is run in few steps, however often its function is entered.

    Its loops run as seldom as a fallback, or as an option that no call gives.
    """
    if not network.fallbacks.isdisjoint((candidate.function, candidate.home)):
        return True
    in_loop = candidate.finding.loop is Loop.STEP
    return in_loop and network.is_closed(candidate.function, candidate.params)


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
