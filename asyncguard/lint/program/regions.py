"""Which waits stand in code that runs as a graph, and by which calls that is reached.

A region is a function that is compiled or captured, or a block within one; all that it calls
belongs to it, but for what is kept out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from asyncguard import catalogue
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.explained import PLACE
from asyncguard.lint.domain.hotness import Hotness
from asyncguard.lint.domain.regions import Region
from asyncguard.lint.labels import CAPTURED, IN_EVERY_STEP, SPLIT, labels
from asyncguard.lint.names import family
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Call, Candidate, FunctionId, Via
from asyncguard.lint.program.ways import called, links
from asyncguard.model import Finding, FindingReason

# Items of evidence: of the catalogue's entry, and how an uploaded value is known.
UNSURE, UPLOADED = "entry.medium", frozenset({"upload.usage", "upload.catalogue"})
Sort = tuple[str, bool]  # the kind of a region, and whether a wait in it fails
_TESTS = family("file.test")


class Entered(NamedTuple):
    """How a function comes to be part of a region: by these calls, the outermost last."""

    region: Region
    calls: tuple[Call, ...] = ()
    handed: Dependence = INDEPENDENT  # by all calls that take it in, as far as they hand the same


class Regions:
    """The regions of a program, by the functions that belong to them."""

    def __init__(self, network: CallGraph) -> None:
        self._network = network
        self._known = {r.id: r for f in catalogue.load().frameworks.values() for r in f.region}
        self._others = {
            rule.code for rule in labels() if rule.refines
        }  # they tell of no more waits
        self._roots: dict[Sort, dict[FunctionId, Entered]] = {}
        self._disabled: dict[str, set[FunctionId]] = {}
        marked = {pair for facts in network.facts.values() for pair in facts.regions}
        for function, region in sorted(marked):
            if region.disabled:
                self._disabled.setdefault(region.asks, set()).add(function)
            elif not _TESTS(region.path):
                sort = region.kind, region.whole
                self._roots.setdefault(sort, {}).setdefault(function, Entered(region))
        self._sorts = sorted(self._roots.keys() | self._blocks.keys(), key=self._severity)
        self._reached: dict[Sort, dict[FunctionId, Entered]] = {}
        self._off: dict[str, frozenset[str]] = {}

    def found(self, candidate: Candidate, finding: Finding) -> Finding | None:
        """Return what the worst region around a wait makes of its finding; None: there is none."""
        if finding.code in self._others or not finding.api:
            return None
        entered = self._around(candidate)
        if entered is None or _TESTS(finding.path) or _TESTS(entered.region.path):
            return None
        region, known = entered.region, self._known[entered.region.kind]
        code = CAPTURED if region.whole else SPLIT
        where = FindingReason(
            PLACE, f"`{region.api}` makes it {known.says}", region.path, region.line
        )
        inside = tuple(why for why in finding.reasons if why.about != PLACE)
        message = _message(finding, candidate, entered, known)
        if region.whole and self._is_hot_elsewhere(candidate.home, (region.kind, True)):
            message += f"; outside of that it waits {IN_EVERY_STEP}"
        read = _read_in_helper(candidate.by, finding) if candidate.by is not None else ()
        reasons = (*inside, *read, *links(entered.calls), where)
        return replace(finding, code=code, message=message, reasons=reasons, fix=None)

    def _around(self, candidate: Candidate) -> Entered | None:
        """Return the worst region that a wait stands in."""
        within = {(r.kind, r.whole): r for r in sorted(candidate.graphs.within)}
        sorts = sorted({*self._sorts, *within}, key=self._severity) if within else self._sorts
        for sort in sorts:
            known = self._known[sort[0]]
            if not _breaks(known, candidate) or self._is_disabled(candidate.home, known):
                continue
            if sort[1] and self._is_conditional(candidate):
                continue  # what fails has not run: the condition does not hold there, as a rule
            if sort in within:
                return Entered(within[sort])
            if (entered := self._by_calls(candidate, sort)) is not None:
                return entered
        return None

    def _by_calls(self, candidate: Candidate, sort: Sort) -> Entered | None:
        """Return how calls enter a region of a sort, if a wait can happen behind them."""
        if self._known[sort[0]].asks in candidate.graphs.outside:
            return None
        entered = self._functions(sort).get(candidate.function)
        if entered is None or _is_ruled_out(candidate, entered):
            return None
        if not candidate.switches.isdisjoint(self._left_off(entered.region.path)):
            return None
        if not entered.calls and not self._is_asked_for(candidate):
            return None
        may_not = sort[1] and any(call.conditions for call in entered.calls)
        return None if may_not else entered

    def _is_conditional(self, candidate: Candidate) -> bool:
        """Whether a wait stands in a branch, or in a helper that is called in one."""
        if any(item.startswith(("if.", "else.")) for item in candidate.finding.evidence):
            return True
        calls = self._outgoing.get(candidate.function, ()) if candidate.by is not None else ()
        asked = [c.conditions for c in calls if (c.callee_path, c.callee) == candidate.home]
        return bool(asked) and all(asked)

    def _is_asked_for(self, candidate: Candidate) -> bool:
        """Whether a call in sight may give the options that a wait hangs on, if it does on any."""
        params, calls = candidate.params, self._network.calls_of(candidate.function)
        given = not all(params.is_ruled_out_by(call.handed) for call in calls)
        return given or not params.options

    def _severity(self, sort: Sort) -> tuple[bool, int]:
        kind, whole = sort
        return not whole, [*self._known].index(kind)

    def _is_disabled(self, function: FunctionId, known: catalogue.Region) -> bool:
        return function in self._disabled.get(known.asks, ())

    def _functions(self, sort: Sort) -> Mapping[FunctionId, Entered]:
        """Return the functions that belong to regions of a sort, by the shortest ways."""
        if sort not in self._reached:
            self._reached[sort] = dict(self._spread(sort))
        return self._reached[sort]

    def _spread(self, sort: Sort) -> Iterator[tuple[FunctionId, Entered]]:
        known = self._known[sort[0]]
        found = {
            function: entered
            for function, entered in self._roots.get(sort, {}).items()
            if not self._is_disabled(function, known)
        }
        waiting = [*found]
        for call in self._blocks.get(sort, ()):
            region = min(r for r in call.context.graphs.within if (r.kind, r.whole) == sort)
            waiting += self._follow(call, Entered(region), known, found)
        for function in waiting:
            for call in self._outgoing.get(function, ()):
                waiting += self._follow(call, found[function], known, found)
        yield from found.items()

    def _follow(
        self,
        call: Call,
        entered: Entered,
        known: catalogue.Region,
        found: dict[FunctionId, Entered],
    ) -> Iterable[FunctionId]:
        """Note that a call in a region takes its callee in; return that if it says anything new."""
        callee = call.callee_path, call.callee
        out = call.context.guarded or known.asks in call.context.graphs.outside
        if out or self._is_disabled(callee, known) or self._is_closed(call, entered):
            return ()
        handed = call.handed | entered.handed.renamed(call.handed_on)
        before = found.get(callee)
        if before is None:
            found[callee] = Entered(entered.region, (call, *entered.calls), handed)
        elif not before.calls or before.handed & handed == before.handed:
            return ()
        else:
            found[callee] = before._replace(handed=before.handed & handed)
        return (callee,)

    def _is_closed(self, call: Call, entered: Entered) -> bool:
        """Whether a call hangs on options that no way into its region gives."""
        if not call.context.switches.isdisjoint(self._left_off(entered.region.path)):
            return True
        if entered.calls:
            return call.when.is_ruled_out_by(entered.handed)
        return self._network.is_closed((call.caller_path, call.caller), call.when)

    def _left_off(self, path: str) -> frozenset[str]:
        """Return the options that the file of a region gives nothing but `False` or the like."""
        if path not in self._off:
            given = self._network.facts[path].options
            others = given.true | given.other | {each.name for each in given.hanging}
            self._off[path] = given.false - others
        return self._off[path]

    def _is_hot_elsewhere(self, function: FunctionId, sort: Sort) -> bool:
        """Whether code outside of such regions calls a function in every step."""
        inside, network = self._functions(sort), self._network
        return any(
            (call.caller_path, call.caller) not in inside
            and all((r.kind, r.whole) != sort for r in call.context.graphs.within)
            and network.level(call, network.entered_by(call)) is Hotness.STEP
            for call in self._network.known_calls(function)
        )

    @cached_property
    def _outgoing(self) -> Mapping[FunctionId, list[Call]]:
        outgoing: dict[FunctionId, list[Call]] = {}
        for call in sorted(self._network.calls, key=_order):
            outgoing.setdefault((call.caller_path, call.caller), []).append(call)
        return outgoing

    @cached_property
    def _blocks(self) -> Mapping[Sort, list[Call]]:
        """The calls in blocks that are regions themselves."""
        blocks: dict[Sort, list[Call]] = {}
        for call in sorted(self._network.calls, key=_order):
            for sort in {(r.kind, r.whole) for r in call.context.graphs.within}:
                if not _TESTS(call.caller_path):
                    blocks.setdefault(sort, []).append(call)
        return blocks


def _order(call: Call) -> tuple[str, int, str, str, str]:
    return call.caller_path, call.line, call.caller, call.callee_path, call.callee


def _breaks(known: catalogue.Region, candidate: Candidate) -> bool:
    """Whether a wait breaks a region of a kind, which may hold it as a part of the graph.

    Code that breaks one as a whole has never run, so an entry of which the catalogue is not sure
    does not count, but for the upload of a value that is in host memory by more than that.
    """
    if UNSURE in candidate.finding.evidence and UPLOADED.isdisjoint(candidate.finding.evidence):
        return False
    listed = not known.breaks or candidate.finding.api in (*known.breaks, *known.holds)
    return listed and candidate.how not in known.traces


def _is_ruled_out(candidate: Candidate, entered: Entered) -> bool:
    """Whether the calls that take a function in hand it what does not wait."""
    return bool(entered.calls) and candidate.params.is_ruled_out_by(entered.handed)


def _read_in_helper(by: Via, finding: Finding) -> tuple[FindingReason, ...]:
    """Return the call by which a helper's read is reached, as a reason."""
    text = called(finding.function, by.function)
    return (FindingReason(PLACE, text, by.path, by.line, kind="call"),)


def _message(
    finding: Finding, candidate: Candidate, entered: Entered, known: catalogue.Region
) -> str:
    """Say what a wait does to a region, how that is reached, and what it costs besides."""
    site = finding.message[: finding.message.find("`", 1) + 1]
    region = entered.region
    ways = [call.callee for call in reversed(entered.calls)]
    if candidate.by is not None:
        ways.append(finding.function)
    names = [f"`{name.rpartition('.')[2]}`" for name in ways]
    way = f", by way of {', '.join(names)}" if names else ""
    place = f"(`{region.api}`, line {region.line}{way})"
    if not region.whole:
        return (
            f"{site} splits {known.says} {place} into two graphs, and waits between them {{when}}"
        )
    if finding.api in known.holds:
        fails = f"fails before torch {known.since}, where {known.error}, and waits in later ones"
    else:
        fails = f"fails: {known.error}"
    return f"{site} waits inside {known.says} {place}, which {fails}"
