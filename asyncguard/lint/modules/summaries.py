"""Summaries of functions, each found once, with a fixpoint for those that call each other.

A function is run when its summary is first asked for. Functions that call each other form a
strongly connected component of the call graph. Members start from the empty summary and are run
in rounds, each with the summaries of the round before, until nothing changes: a round runs only
those that asked for what has changed (semi-naive evaluation). Only then are the summaries kept, so
that they do not depend on which member was asked first. Results are widened, so that those that
would nest deeper in each round settle as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from asyncguard.lint.domain.definitions import EMPTY, FunctionInfo, Site, Summary
from asyncguard.lint.domain.values import Value, widened

ROUNDS = 40  # of a component: what one member tells goes one call further in each; 2 are usual
GROWTHS = 100  # of a component, when more turn out to be members; a dozen are many
NESTED = 400  # functions that wait for each other's summaries; deeper calls count as unresolved
Key = tuple[object, ...]
T = TypeVar("T")
Assumed = dict[FunctionInfo, Summary]


@dataclass(eq=False)
class _Basis:
    """The summaries that a run or a derivation rests on before they are final."""

    lowest: int  # the least depth that it depends on
    asked: set[FunctionInfo] = field(default_factory=set)  # the functions that it asked for
    partial: bool = False  # it saw something that was still being found out

    def join(self, other: _Basis) -> None:
        """Rest on what another one does as well."""
        self.lowest = min(self.lowest, other.lowest)
        self.asked |= other.asked
        self.partial |= other.partial

    def holds(self, changed: frozenset[FunctionInfo]) -> bool:
        """Whether another run would see the same, now that the summaries of some have changed."""
        return not self.partial and self.asked.isdisjoint(changed)


Runs = dict[FunctionInfo, tuple[Summary, _Basis]]


class Summaries:
    """The summaries of all functions that one worker has run."""

    def __init__(self) -> None:
        self._derived: dict[object, tuple[_Basis, Any]] = {}  # in this round
        self._deriving: dict[object, int] = {}  # now, and the depths of the runs that asked
        self._open: dict[FunctionInfo, int] = {}  # being run, and their depths
        self._bases: list[_Basis] = []  # of these and of what is being derived, the last on top
        self._waiting: Runs = {}  # of members of open components
        self._assumed: list[tuple[int, Assumed]] = []  # by the rounds under way, and their depths

    def of(self, info: FunctionInfo) -> Summary:
        """Return the summary of a function; an approximation while its component is open."""
        if info.summary is not None:
            return info.summary
        for depth, assumed in reversed(self._assumed):
            known: Summary | None = assumed.get(info)
            if known is not None:
                self._rest_on(_Basis(depth, {info}))
                return known
        if info in self._waiting:
            return self._approximation(info)
        if info in self._open:
            self._rest_on(_Basis(self._open[info], {info}))
            return EMPTY
        if len(self._open) >= NESTED:
            _bounded(info, f"the callers of `{info.name}` wait for more summaries", NESTED)
            return EMPTY
        return self._find(info)

    def derive(self, key: object, compute: Callable[[], T]) -> tuple[T, bool]:
        """Return what is derived from summaries, and whether that is final.

        What is not is derived anew in each round.
        """
        if key in self._derived:
            basis, known = self._derived[key]
            self._rest_on(basis)
            return known, False
        basis = _Basis(NESTED)
        self._bases.append(basis)
        self._deriving[key] = len(self._open) - 1
        try:
            value = compute()
        finally:
            self._bases.pop()
            del self._deriving[key]
        if basis.lowest == NESTED:
            return value, True
        self._derived[key] = basis, value
        self._rest_on(basis)
        return value, False

    def ask(self, key: object) -> None:
        """Note that the run on top sees as much of what is derived as is known, if it still is."""
        depth = self._deriving.get(key, -1)
        if 0 <= depth < len(self._open) - 1:
            self._rest_on(_Basis(depth, partial=True))

    def _approximation(self, info: FunctionInfo) -> Summary:
        """Return what is known of a function that waits for others."""
        known, basis = self._waiting[info]
        self._rest_on(_Basis(basis.lowest, {info}, partial=True))
        return known

    def _rest_on(self, basis: _Basis) -> None:
        """Note what the run on top rests on as well."""
        if self._bases:
            self._bases[-1].join(basis)

    def _find(self, info: FunctionInfo) -> Summary:
        depth, first = len(self._open), len(self._waiting)
        found, basis = self._attempt(info, depth)
        if basis.lowest > depth:
            info.summary = found
            if info.given is None:  # nobody asked meanwhile: another run would give the same
                info.given = info.noted
            return found
        members = [*list(self._waiting)[first:], info]
        self._waiting[info] = found, basis
        if basis.lowest < depth:  # part of a component that began further down
            return self._approximation(info)
        return self._iterate(info, members, depth)

    def _attempt(self, info: FunctionInfo, depth: int) -> tuple[Summary, _Basis]:
        """Run a function; return its summary and what this rests on."""
        self._open[info] = depth
        basis = _Basis(depth + 1)
        self._bases.append(basis)
        try:
            return info.module.run(info), basis
        finally:
            self._bases.pop()
            del self._open[info]

    def _iterate(self, info: FunctionInfo, members: list[FunctionInfo], depth: int) -> Summary:
        """Find the summaries of a component of which `info` is a member."""
        assumed: Assumed = {}
        changed = frozenset[FunctionInfo]()
        runs = {m: (_widened(found), basis) for m in members for found, basis in [self._waiting[m]]}
        for _ in range(ROUNDS):
            runs, more = self._round(members, assumed, depth, runs, changed)
            grown = 0
            while more and grown < GROWTHS:  # on with all of them
                changed = frozenset(more)
                runs, more = self._round(members, assumed, depth, runs, changed)
                grown += 1
            found = {member: summary for member, (summary, _) in runs.items()}
            if more:
                self._leave(info, more)
                break
            lowest = min(basis.lowest for _, basis in runs.values())
            if lowest < depth:  # the component is part of one that began further down
                basis = _Basis(lowest, partial=True)
                self._waiting.update((m, (summary, basis)) for m, summary in found.items())
                return self._approximation(info)
            changed = _changed(assumed, found)
            if not changed:
                break
            assumed = found
        else:
            _bounded(info, f"`{info.name}` and what it calls in a circle do not settle", ROUNDS)
        for member, summary in found.items():
            member.summary = summary
        self._derived.clear()
        return found[info]

    def _leave(self, info: FunctionInfo, more: Iterable[FunctionInfo]) -> None:
        """Take further members for functions that tell nothing: no end of them is in sight."""
        _bounded(info, f"more and more depends on `{info.name}`, which depends on it", GROWTHS)
        for member in more:
            del self._waiting[member]
            member.summary = EMPTY

    def _round(
        self,
        members: list[FunctionInfo],
        assumed: Assumed,
        depth: int,
        before: Runs,
        changed: frozenset[FunctionInfo],
    ) -> tuple[Runs, Sequence[FunctionInfo]]:
        """Run all members once, but for those that would see what they saw before.

        `changed`: those whose summaries are others than they were then. Adds to `members`, and
        returns, what turned out to depend on them; not where all depend on what is further down.
        """
        for member in members:
            self._waiting.pop(member, None)
        derived = self._derived.items()
        self._derived = {key: known for key, known in derived if known[0].holds(changed)}
        members.sort(key=lambda member: member.place)
        first = len(self._waiting)
        self._assumed.append((depth, {m: assumed.get(m, EMPTY) for m in members}))
        runs: Runs = {}
        for member in members:
            if member in before and before[member][1].holds(changed):
                runs[member] = before[member]
            else:
                found, basis = self._attempt(member, depth)
                runs[member] = _widened(found), basis
        self._assumed.pop()
        more = list(self._waiting)[first:]
        members += more
        if all(basis.lowest >= depth for _, basis in runs.values()):
            return runs, more
        return runs | {member: self._waiting[member] for member in more}, ()


def _widened(summary: Summary) -> Summary:
    return summary._replace(result=widened(summary.result))


def _changed(before: Assumed, after: Assumed) -> frozenset[FunctionInfo]:
    """Return the functions of which callers can tell the summaries after from those before."""
    return frozenset(m for m, found in after.items() if not _same(found, before.get(m, EMPTY)))


def _bounded(info: FunctionInfo, text: str, bound: int) -> None:
    line = info.outlined.line if info.outlined is not None else 0
    info.module.bounded(line, text, bound)


def _same(one: Summary, other: Summary) -> bool:
    return one is other or _key(one) == _key(other)


def _key(summary: Summary) -> Key:
    """Return what callers can tell a summary by."""
    plain = summary._replace(
        result=EMPTY.result, reads=(), sites=(), edges=(), events=(), added=(), races=()
    )
    edges = {(id(e.callee), e.context, e.handed) for e in summary.edges if e.callee.name}
    sites = (_site_keys(summary.reads), _site_keys(summary.sites))
    added = ((index, key, _value_key(value)) for index, key, value in summary.added)
    return (_value_key(summary.result), *sites, frozenset(edges), *added, *plain)


def _site_keys(sites: Iterable[Site]) -> frozenset[Key]:
    return frozenset(map(_site_key, sites))


def _site_key(site: Site) -> Key:
    """Return a site as data. Of the calls that lead to a read, only where they end counts.

    Around a circle of calls they grow longer in each round.
    """
    known = (site.point.id, site.where, site.context, site.confidence, site.params)
    return (*known, site.sink, site.whole, site.compared, site.read.where)


def _value_key(value: Value | None) -> Key:
    """Return a value as data; a lambda is the same whenever it is made anew."""
    if value is None:
        return ()
    ref = value.ref
    if isinstance(ref, FunctionInfo):
        ref = id(ref.node)
    elif isinstance(ref, Value):
        ref = _value_key(ref)
    items = tuple(map(_value_key, value.items)) if value.items is not None else None
    fields = tuple((name, _value_key(field)) for name, field in value.fields)
    return (*value[:5], _value_key(value.element), items, fields, ref, value.params)
