"""Many traces beside each other: ranks of one run, or many runs. Where they wait, and who was late.

Each rank writes its own trace; nothing is exchanged while the program runs. At a collective or a
barrier every rank leaves when the last one has come, so the rank that waited least came last. What
the others waited longer than it is what they waited for it, and where most of them did so for more
than a few per cent of the time of the steps, it is the straggler.

Traces are taken in one after the other, and only their figures are kept: there may be thousands.
"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from asyncguard import catalogue
from asyncguard.model import STAND_IN, SiteStats, TraceRecord

MANY = 8  # traces that are not ranks of one run are shown one by one up to so many
FEW = 0.03  # of the time: less is told by machines that are busy now and then, too
CALLED = 20  # sites whose callers are looked up


@dataclass(frozen=True)
class RankSite:
    """One site over all traces: waits and stall (nanoseconds) by trace, in their order.

    The stalls are zero where the CPU stood in for a device: they mean nothing there.
    """

    site: SiteStats
    counts: tuple[int, ...]
    stalls_ns: tuple[int, ...]
    collective: bool
    timed: bool = True  # its stalls mean something, in some of the traces at least

    @property
    def total_ns(self) -> int:
        """The stall in all of them."""
        return sum(self.stalls_ns)

    @property
    def spread_ns(self) -> int:
        """How much longer the longest waiting rank stalled than the shortest waiting one."""
        return max(self.stalls_ns) - min(self.stalls_ns)


@dataclass(frozen=True)
class RankReport:
    """Traces beside each other; all tuples are in rank order, or in the order of the files.

    `noun` is "rank", or "trace" where they are not the ranks of one run; `names` says which each
    is. `identity` holds what all of them have in common.
    """

    ranks: tuple[int, ...]
    totals: tuple[int, ...]  # sync points
    stalls_ns: tuple[int, ...]
    durations_ns: tuple[int, ...]
    sites: tuple[RankSite, ...]  # the longest stall over all first
    straggler: int | None  # the rank that others waited for at collectives; None without any
    waited_for_straggler_ns: tuple[int, ...]  # in complete steps after the warm-up, if there are
    names: tuple[str, ...] = ()
    noun: str = "rank"
    identity: tuple[tuple[str, str], ...] = ()
    verdict: str = ""  # who came last at collectives, or why nobody is named
    limit: int | None = None  # how many sites to show; None: as many as the format does
    troubles: tuple[str, ...] = ()  # why figures may be too low, with the trace's name

    @property
    def timed(self) -> bool:
        """Whether any stall means something."""
        return not self.sites or any(item.timed for item in self.sites)


class Member(NamedTuple):
    """One trace: its name, who it is, and its totals (nanoseconds).

    `collective_ns` is what it waited at collectives in `stepping_ns`, the time of its `steady`
    complete steps after the warm-up, or of the run where there are none; None without a collective.
    `held` is what it waited in each of the newest steps, the last of which is number `steps` - 1.
    """

    name: str
    identity: Mapping[str, Any]
    waits: int
    stall_ns: int
    duration_ns: int
    collective_ns: int | None
    held: array[int]
    steps: int
    steady: int
    stepping_ns: int
    troubles: tuple[str, ...] = ()


Key = tuple[str, int, str, str, str]  # path, line, function, API, frame of a library


class Gathering:
    """Takes traces in, one by one."""

    def __init__(self) -> None:
        self._members: list[Member] = []
        self._sites: dict[Key, _Gathered] = {}

    def add(self, name: str, trace: TraceRecord) -> None:
        """Take in one trace."""
        at = len(self._members)
        stall = sum(map(_stall, trace.sites))
        steady = bool(trace.steady_steps)
        waited = [
            site.steady_stall_ns if steady else _stall(site)
            for site in trace.sites
            if _is_collective(site.api)
        ]
        self._members.append(
            Member(
                name,
                trace.extra,
                trace.total_syncs,
                stall,
                trace.duration_ns,
                sum(waited) if waited else None,
                array("q", trace.step_collective_ns),
                trace.step_count,
                trace.steady_steps,
                trace.steady_duration_ns if steady else trace.duration_ns,
                trace.troubles,
            )
        )
        for site in trace.sites:
            key = _key_of(site)
            gathered = self._sites.get(key)
            if gathered is None:
                gathered = self._sites[key] = _Gathered(_plain(site))
            gathered.add(at, site)

    @property
    def is_ranked(self) -> bool:
        """Whether these are different ranks of one run."""
        ranks = [member.identity.get("rank") for member in self._members]
        runs = {
            (member.identity.get("job"), member.identity.get("run")) for member in self._members
        }
        return None not in ranks and len(set(ranks)) == len(ranks) > 1 and len(runs) == 1

    def report(self, load: Callable[[str], TraceRecord] | None = None) -> RankReport:
        """Put what was taken in beside each other.

        `load` gives a whole trace by its name: the costliest sites then show who called them in
        the trace where they waited longest.
        """
        ranked = self.is_ranked
        order = self._by_rank() if ranked else list(range(len(self._members)))
        ordered = [self._members[at] for at in order]
        sites = self._costliest_first(order)
        if load is not None:
            sites = (*self._with_callers(sites[:CALLED], load), *sites[CALLED:])
        ranks = tuple(m.identity.get("rank", 0) for m in ordered) if ranked else tuple(order)
        noun = "rank" if ranked else "trace"
        late = _latecomer(ranks, ordered) if ranked else _NOBODY
        return RankReport(
            ranks,
            tuple(member.waits for member in ordered),
            tuple(member.stall_ns for member in ordered),
            tuple(member.duration_ns for member in ordered),
            sites,
            late.rank,
            late.waited_ns or (0,) * len(ordered),
            tuple(_name(member, ranked) for member in ordered),
            noun,
            tuple(_common([member.identity for member in ordered])),
            late.verdict,
            troubles=tuple(
                f"{noun} {_name(m, ranked)}: {text}" for m in ordered for text in m.troubles
            ),
        )

    def _costliest_first(self, order: Sequence[int]) -> tuple[RankSite, ...]:
        found = (gathered.over(order) for gathered in self._sites.values())
        return tuple(sorted(found, key=lambda item: (-item.total_ns, -sum(item.counts))))

    def _by_rank(self) -> list[int]:
        ranks = [member.identity.get("rank", 0) for member in self._members]
        return sorted(range(len(ranks)), key=ranks.__getitem__)

    def _with_callers(
        self, sites: Iterable[RankSite], load: Callable[[str], TraceRecord]
    ) -> Iterable[RankSite]:
        wanted: dict[str, set[Key]] = {}
        for item in sites:
            key = _key_of(item.site)
            wanted.setdefault(self._members[self._sites[key].longest].name, set()).add(key)
        found: dict[Key, SiteStats] = {}
        for name, keys in wanted.items():
            for site in load(name).sites:
                key = _key_of(site)
                if key in keys and key not in found:
                    found[key] = site
        for item in sites:
            key = _key_of(item.site)
            if whole := found.get(key):
                called = replace(
                    item.site, callers=whole.callers, library=whole.library, paths=whole.paths
                )
                yield replace(item, site=called)
            else:
                yield item


class _Late(NamedTuple):
    """Who came last at collectives, how long each rank waited for it, and that in words."""

    rank: int | None = None
    waited_ns: tuple[int, ...] = ()
    verdict: str = ""


_NOBODY = _Late()


def _latecomer(ranks: Sequence[int], members: Sequence[Member]) -> _Late:
    """Tell the rank for which most others waited, in most steps, for more than a few per cent.

    Sums would not do: where a machine is busy now and then, a few long waits are most of them.
    """
    known = [member.collective_ns for member in members if member.collective_ns is not None]
    if len(known) < len(members):
        return _Late(
            verdict="No straggler is named: not every rank was held at a collective (those of NCCL "
            "hold the stream, not Python)."
        )
    by_step = _by_step(members)
    held = by_step or [[ns] for ns in known]
    usual = [statistics.median(each) for each in held]
    at = usual.index(min(usual))
    others = [each for number, each in enumerate(held) if number != at]
    share = statistics.median(
        statistics.median_low(waits) - last  # most of them waited as long, or longer
        for last, *waits in zip(held[at], *others, strict=True)
    ) / max(min(_span(member, bool(by_step)) for member in members), 1)
    if share < FEW:
        return _Late(
            verdict="No straggler is named: in most steps the ranks waited for each other equally "
            f"long, but for {max(share, 0):.1%} of the time."
        )
    return _Late(
        ranks[at],
        tuple(max(ns - known[at], 0) for ns in known),
        f"Rank {ranks[at]} came last at collectives most of the time: the others waited "
        f"{share:.0%} of their time for it.",
    )


def _span(member: Member, a_step: bool) -> float:
    """The time of its steps, or of one."""
    return member.stepping_ns / max(member.steady, 1) if a_step else member.stepping_ns


def _by_step(members: Sequence[Member]) -> Sequence[Sequence[int]]:
    """What each waited for the others in the steps that all of them know; empty without."""
    first = max(member.steps - len(member.held) for member in members)
    last = min(member.steps for member in members)
    if first >= last:
        return []
    starts = [first - (member.steps - len(member.held)) for member in members]
    return [
        member.held[start : start + last - first]
        for member, start in zip(members, starts, strict=True)
    ]


def _key_of(site: SiteStats) -> Key:
    return site.path, site.line, site.function, site.api, "".join(site.library[:1])


def _stall(site: SiteStats) -> int:
    """The stall of a site; none where the CPU stood in for a device."""
    return 0 if site.device == STAND_IN else site.cpu_stall_ns


class _Gathered:
    """One site: which traces it is in, with waits and stall."""

    def __init__(self, site: SiteStats) -> None:
        self._site = site
        self._at = array("l")
        self._counts = array("q")
        self._stalls = array("q")
        self._timed = False

    @property
    def longest(self) -> int:
        """The trace in which it waited longest, most often where no stall means anything."""
        of = self._stalls if self._timed else self._counts
        return self._at[of.index(max(of))]

    def add(self, at: int, site: SiteStats) -> None:
        """Take in one trace's figures; several threads of it are added up."""
        self._timed |= site.device != STAND_IN
        if self._at and self._at[-1] == at:
            self._counts[-1] += site.count
            self._stalls[-1] += _stall(site)
            return
        self._at.append(at)
        self._counts.append(site.count)
        self._stalls.append(_stall(site))

    def over(self, order: Sequence[int]) -> RankSite:
        """The site over all traces, in that order."""
        counts = dict(zip(self._at, self._counts, strict=True))
        stalls = dict(zip(self._at, self._stalls, strict=True))
        return RankSite(
            self._site,
            tuple(counts.get(at, 0) for at in order),
            tuple(stalls.get(at, 0) for at in order),
            _is_collective(self._site.api),
            self._timed,
        )


def is_ranked(records: Sequence[TraceRecord]) -> bool:
    """Whether these are traces of different ranks, to be merged rather than listed."""
    return _gathered(records).is_ranked


def merge(records: Sequence[TraceRecord]) -> RankReport:
    """Put the traces of several ranks beside each other."""
    return _gathered(records).report()


def _gathered(records: Iterable[TraceRecord]) -> Gathering:
    gathering = Gathering()
    for at, record in enumerate(records):
        gathering.add(str(at), record)
    return gathering


def _plain(site: SiteStats) -> SiteStats:
    """What a site is, without figures."""
    return SiteStats(
        site.path, site.line, site.function, site.api, site.framework, site.kind, 0, 0,
        source=site.source, device=site.device, library=site.library[:1], why=site.why,
    )  # fmt: skip


def _name(member: Member, ranked: bool) -> str:
    if ranked:
        rank, host = member.identity["rank"], member.identity.get("host")
        return f"{rank} ({host})" if host else str(rank)
    return member.name


def _common(identities: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """What all have in common: job, run, revision, devices."""
    for name in ("job", "run", "revision"):
        values = {each.get(name) for each in identities}
        if len(values) == 1 and (value := values.pop()):
            yield name, value
    devices = {device for each in identities for device in each.get("devices", ())}
    if devices:
        yield "devices", ", ".join(sorted(devices))
    hosts = {each["host"] for each in identities if each.get("host")}
    if hosts:
        yield "hosts", hosts.pop() if len(hosts) == 1 else f"{len(hosts):,}"


def _is_collective(api: str) -> bool:
    """Whether every rank takes part in it: the catalogue says that it waits for the others."""
    try:
        return catalogue.load()[api].waits_for == "ranks"
    except KeyError:  # an API of a third party's adapter that brings no catalogue entry
        return False
