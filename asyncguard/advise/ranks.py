"""Many traces beside each other: ranks of one run, or many runs. Where they wait, and who was late.

Each rank writes its own trace; nothing is exchanged while the program runs.
Traces are taken in one after the other, and only their figures are kept: there may be thousands.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asyncguard import catalogue
from asyncguard.advise.processes import began, process_of
from asyncguard.advise.straggler import NOBODY, Member, latecomer
from asyncguard.model import STAND_IN, SiteStats, TraceRecord

MANY = 8  # traces that are not ranks of one run are shown one by one up to so many
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

    `noun` is "rank", "process" of those of one run, or "trace" of different runs; `names` says
    which each is. `identity` holds what all of them have in common.
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
    files: tuple[str, ...] = ()  # the names that they were taken in by
    steps: tuple[int, ...] = ()
    devices: tuple[str, ...] = ()  # in words, each once; so are the bases of figures, and commands
    bases: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    started: str = ""  # when the first of them was, as ISO 8601; "" where that is not known
    advised: Any = None  # a report of the one that waited longest, for formats that show patches

    @property
    def longest(self) -> int:
        """The index of the trace that waited longest; most often, where no stall means anything."""
        of = self.stalls_ns if self.timed else self.totals
        return of.index(max(of))

    @property
    def timed(self) -> bool:
        """Whether any stall means something."""
        return not self.sites or any(item.timed for item in self.sites)


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
                trace.device,
                trace.basis,
                trace.command,
            )
        )
        for site in trace.sites:
            key = _key_of(site)
            gathered = self._sites.get(key)
            if gathered is None:
                gathered = self._sites[key] = _Gathered(_plain(site))
            gathered.add(at, site)

    @property
    def is_family(self) -> bool:
        """Whether these are several processes of one run, which `run --children` has followed."""
        if not all(process_of(member.identity) for member in self._members):
            return False
        families = {member.identity["family"] for member in self._members}
        return len(self._members) > 1 and len(families) == 1

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
        ranked, noun = self.is_ranked, self._noun
        order = self._order()
        ordered = [self._members[at] for at in order]
        sites = self._costliest_first(order)
        if load is not None:
            sites = (*self._with_callers(sites[:CALLED], load), *sites[CALLED:])
        ranks = tuple(m.identity.get("rank", 0) for m in ordered) if ranked else tuple(order)
        late = latecomer(ranks, ordered) if ranked else NOBODY
        return RankReport(
            ranks,
            tuple(member.waits for member in ordered),
            tuple(member.stall_ns for member in ordered),
            tuple(member.duration_ns for member in ordered),
            sites,
            late.rank,
            late.waited_ns or (0,) * len(ordered),
            tuple(_name(member, noun) for member in ordered),
            noun,
            tuple(_common([member.identity for member in ordered])),
            late.verdict,
            troubles=tuple(
                f"{noun} {_name(m, noun)}: {text}" for m in ordered for text in m.troubles
            ),
            **_origins(ordered),
        )

    def _costliest_first(self, order: Sequence[int]) -> tuple[RankSite, ...]:
        found = (gathered.over(order) for gathered in self._sites.values())
        return tuple(sorted(found, key=lambda item: (-item.total_ns, -sum(item.counts))))

    @property
    def _noun(self) -> str:
        if self.is_ranked:
            return "rank"
        return "process" if self.is_family else "trace"

    def _order(self) -> list[int]:
        """Ranks by number, processes of one run as they began, others as they were taken in."""
        order = list(range(len(self._members)))
        if self.is_ranked:
            order.sort(key=lambda at: self._members[at].identity["rank"])
        elif self.is_family:
            order.sort(key=lambda at: began(self._members[at].identity))
        return order

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


def _origins(members: Sequence[Member]) -> dict[str, Any]:
    """Where figures come from: fields of a report."""
    return {
        "files": tuple(member.name for member in members),
        "steps": tuple(member.steps for member in members),
        "devices": _each(member.device for member in members),
        "bases": _each(member.basis for member in members),
        "commands": _each(member.command for member in members),
        "started": min(_each(str(m.identity.get("started", "")) for m in members), default=""),
    }


def _each(values: Iterable[str]) -> tuple[str, ...]:
    """Each of them once, without empty ones."""
    return tuple(dict.fromkeys(filter(None, values)))


def _name(member: Member, noun: str) -> str:
    process = process_of(member.identity)
    if noun == "process" and process is not None:
        rank = member.identity.get("rank")
        return str(process) if rank is None else f"{process}, rank {rank}"
    if noun == "rank":
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
