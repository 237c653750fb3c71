"""Where a steady step goes: the figures that the HTML page begins with."""

from __future__ import annotations

from dataclasses import dataclass

from asyncguard.model import SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render.stacks import frame
from asyncguard.render.summary import has_times
from asyncguard.render.words import count, duration

PARTS = 6  # sites shown one by one


@dataclass(frozen=True)
class Share:
    """One part of the whole: its name, what it comes to from 0 to 1, and that in words.

    `sort` is "site", "more" for the sites that are not shown one by one, or "rest" for no wait.
    """

    name: str
    part: float
    said: str
    sort: str = "site"

    @property
    def site(self) -> bool:
        """Whether it is one site."""
        return self.sort == "site"


@dataclass(frozen=True)
class Shares:
    """Parts that make a whole."""

    title: str
    parts: tuple[Share, ...]


def tiles(record: TraceRecord) -> list[tuple[str, str]]:
    """The figures of a run with their names: those of a steady step first."""
    timed = has_times(record)
    found: list[tuple[str, str]] = []
    if record.steady_steps and timed:
        stall = sum(site.steady_stall_ns for site in record.sites)
        share = stall / record.steady_duration_ns if record.steady_duration_ns else 0.0
        found.append((duration(record.steady_duration_ns / record.steady_steps), "a steady step"))
        found.append((f"{share:.0%}", "of it waiting"))
    if record.syncs_per_step is not None:
        found.append((f"{record.syncs_per_step:,.2f}", "waits per step"))
    found.append((f"{record.total_syncs:,}", "waits"))
    found.append((f"{record.step_count:,}", "steps"))
    if timed:
        idle = record.gpu_stall_ns
        found.append((duration(record.cpu_stall_ns), "Python waited"))
        found.append((duration(record.duration_ns), "total time"))
        found.append(("not measured" if idle is None else duration(idle), "GPU idle time"))
    return found


def shares(record: TraceRecord) -> Shares | None:
    """The parts of a steady step's time; of its waits, where times mean nothing. None without."""
    if not record.steady_steps:
        return None
    if has_times(record):
        return _of_time(record)
    whole = sum(site.steady_count for site in record.sites)
    sites = sorted(record.sites, key=lambda site: -site.steady_count)
    rates = [
        Share(_name(site), site.steady_count / whole, f"{_rate(record, site):,.2f} waits")
        for site in sites[:PARTS]
        if site.steady_count
    ]
    rest = sum(site.steady_count for site in sites[PARTS:])
    if rest:
        said = f"{rest / record.steady_steps:,.2f} waits"
        rates.append(Share(count(len(sites) - PARTS, "more site"), rest / whole, said, "more"))
    return Shares("Waits of a steady step, by site", tuple(rates)) if rates else None


def _of_time(record: TraceRecord) -> Shares | None:
    whole, steps = record.steady_duration_ns, record.steady_steps
    if not whole:
        return None
    sites = sorted(record.sites, key=lambda site: -site.steady_stall_ns)
    waiting = sum(site.steady_stall_ns for site in sites)
    scale = max(whole, waiting)  # several threads may wait at once
    named = [site for site in sites[:PARTS] if site.steady_stall_ns]
    parts = [_time(_name(site), site.steady_stall_ns, scale, steps) for site in named]
    rest = sum(site.steady_stall_ns for site in sites[PARTS:])
    if rest:
        parts.append(_time(count(len(sites) - PARTS, "more site"), rest, scale, steps, "more"))
    parts.append(_time("not waiting", max(whole - waiting, 0), scale, steps, "rest"))
    return Shares("Where a steady step goes", tuple(parts))


def _time(name: str, total: int, scale: int, steps: int, sort: str = "site") -> Share:
    part = total / scale
    return Share(name, part, f"{part:.1%}, {duration(total / steps)}", sort)


def _name(site: SiteStats) -> str:
    """The place that waits, in a library where that is, and the API."""
    where = frame(site.library[0]).place if site.library else place_of(site.path, site.line)
    return f"{where} {site.api}"


def _rate(record: TraceRecord, site: SiteStats) -> float:
    return site.steady_count / record.steady_steps
