"""Summaries of functions, each found once, with a fixpoint for those that call each other.

A function is run when its summary is first asked for. Functions that call each other form a
strongly connected component of the call graph. All members start from the empty summary and are run
in rounds, each with the summaries of the round before, until nothing changes. Only then are the
summaries kept, so that they do not depend on which member was asked first. Results are widened, so
that those that would nest deeper in each round settle as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from asyncguard.lint.domain.definitions import EMPTY, FunctionInfo, Site, Summary
from asyncguard.lint.domain.values import Value, widened

ROUNDS = 40  # of a component: what one member tells goes one call further in each; 2 are usual
STARTS = 100  # of a component that turns out to have more members; a dozen are many
NESTED = 400  # functions that wait for each other's summaries; deeper calls count as unresolved
Key = tuple[object, ...]
T = TypeVar("T")
Assumed = dict[FunctionInfo, Summary]


class Summaries:
    """The summaries of all functions that one worker has run."""

    def __init__(self) -> None:
        self._derived: dict[object, tuple[int, Any]] = {}  # in this round, with what it depends on
        self._deriving: dict[object, int] = {}  # now, and the depths of the runs that asked
        self._open: dict[FunctionInfo, int] = {}  # being run, and their depths
        self._lowest: list[int] = []  # for each, the least depth that its run depends on
        self._waiting: dict[FunctionInfo, tuple[Summary, int]] = {}  # run within open components
        self._assumed: list[tuple[int, Assumed]] = []  # by the rounds under way, and their depths

    def of(self, info: FunctionInfo) -> Summary:
        """Return the summary of a function; an approximation while its component is open."""
        if info.summary is not None:
            return info.summary
        for depth, assumed in reversed(self._assumed):
            known: Summary | None = assumed.get(info)
            if known is not None:
                return self._depend(depth, known)
        if info in self._waiting:
            approximation, depth = self._waiting[info]
            return self._depend(depth, approximation)
        if info in self._open:
            return self._depend(self._open[info], EMPTY)
        if len(self._open) >= NESTED:
            _bounded(info, f"the callers of `{info.name}` wait for more summaries", NESTED)
            return EMPTY
        return self._find(info)

    def derive(self, key: object, compute: Callable[[], T]) -> tuple[T, bool]:
        """Return what is derived from summaries, and whether that is final.

        What is not is derived anew in each round.
        """
        if key in self._derived:
            return self._depend(*self._derived[key]), False
        self._lowest.append(NESTED)
        self._deriving[key] = len(self._open) - 1
        try:
            value = compute()
        finally:
            lowest = self._lowest.pop()
            del self._deriving[key]
        if lowest == NESTED:
            return value, True
        self._derived[key] = lowest, value
        return self._depend(lowest, value), False

    def ask(self, key: object) -> None:
        """Note that the run on top sees as much of what is derived as is known, if it still is."""
        depth = self._deriving.get(key, -1)
        if 0 <= depth < len(self._open) - 1:
            self._depend(depth, None)

    def _depend(self, depth: int, known: T) -> T:
        """Note that the run on top depends on what began at a depth."""
        if self._lowest:
            self._lowest[-1] = min(self._lowest[-1], depth)
        return known

    def _find(self, info: FunctionInfo) -> Summary:
        depth, first = len(self._open), len(self._waiting)
        found, lowest = self._attempt(info, depth)
        if lowest > depth:
            info.summary = found
            if info.given is None:  # nobody asked meanwhile: another run would give the same
                info.given = info.noted
            return found
        members = [info, *list(self._waiting)[first:]]
        if lowest < depth:  # part of a component that began further down
            self._waiting[info] = found, lowest
            return self._depend(lowest, found)
        assumed = {info: found} if members == [info] else {}
        return self._iterate(info, members, depth, assumed)

    def _attempt(self, info: FunctionInfo, depth: int) -> tuple[Summary, int]:
        """Run a function; return its summary and the least depth that this depends on."""
        self._open[info] = depth
        self._lowest.append(depth + 1)
        try:
            return info.module.run(info), self._lowest[-1]
        finally:
            self._lowest.pop()
            del self._open[info]

    def _iterate(
        self, info: FunctionInfo, members: list[FunctionInfo], depth: int, assumed: Assumed
    ) -> Summary:
        """Find the summaries of a component of which `info` is a member.

        `assumed`: those that the first round would find, where a run has seen what it would see.
        """
        for _ in range(ROUNDS - bool(assumed)):
            after, lowest, grew = self._round(members, assumed, depth)
            starts = 0
            while grew and starts < STARTS:  # more members: all start anew
                assumed = {}
                after, lowest, grew = self._round(members, assumed, depth)
                starts += 1
            if grew:
                self._leave(info, members, after)
                break
            if lowest < depth:  # the component is part of one that began further down
                self._waiting.update((member, (after[member], lowest)) for member in members)
                return self._depend(lowest, after[info])
            if assumed and all(_same(after[m], assumed[m]) for m in members):
                break
            assumed = after
        else:
            _bounded(info, f"`{info.name}` and what it calls in a circle do not settle", ROUNDS)
        for member in members:
            member.summary = after[member]
        self._derived.clear()
        return after[info]

    def _leave(self, info: FunctionInfo, members: list[FunctionInfo], found: Assumed) -> None:
        """Take what was not run yet for functions that tell nothing: no end of them is in sight."""
        _bounded(info, f"more and more depends on `{info.name}`, which depends on it", STARTS)
        for member in members:
            if member not in found:
                del self._waiting[member]
                member.summary = EMPTY
        members[:] = found

    def _round(
        self, members: list[FunctionInfo], assumed: Assumed, depth: int
    ) -> tuple[Assumed, int, bool]:
        """Run all members once; return their summaries, what they depend on, and if there are more.

        Adds to `members` what turned out to depend on them.
        """
        for member in members:
            self._waiting.pop(member, None)
        self._derived.clear()
        members.sort(key=lambda member: member.place)
        first = len(self._waiting)
        self._assumed.append((depth, {m: assumed.get(m, EMPTY) for m in members}))
        after: Assumed = {}
        least = depth
        for member in members:
            found, lowest = self._attempt(member, depth)
            after[member] = found._replace(result=widened(found.result))
            least = min(least, lowest)
        self._assumed.pop()
        new = list(self._waiting)[first:]
        members += new
        if new and least < depth:
            after.update((m, self._waiting[m][0]) for m in new)
        return after, least, bool(new) and least == depth


def _bounded(info: FunctionInfo, text: str, bound: int) -> None:
    line = info.outlined.line if info.outlined is not None else 0
    info.module.bounded(line, text, bound)


def _same(one: Summary, other: Summary) -> bool:
    return one is other or _key(one) == _key(other)


def _key(summary: Summary) -> Key:
    """Return what callers can tell a summary by."""
    plain = summary._replace(result=EMPTY.result, reads=(), sites=(), edges=(), events=(), added=())
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
