"""From a recorder's reading to the record that everything else works on: pure functions."""

from __future__ import annotations

import bisect
import linecache
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from asyncguard import catalogue
from asyncguard.model import STAND_IN, CallPath, SiteStats, TimelineEvent, TraceRecord
from asyncguard.runtime.cells import Cell
from asyncguard.runtime.figures import Reading
from asyncguard.runtime.shells import named
from asyncguard.runtime.sinks import Event
from asyncguard.runtime.sites import Site
from asyncguard.version import __version__

Row = tuple[Site, str, Cell]  # a site, the thread that waited, the figures
_DONE: Any = None
EXCERPTS = 200  # sites whose surroundings are kept
CONTEXT_LINES = 3  # on either side
LINE_WIDTH = 200  # characters kept of a line

STAND_IN_NOTE = (
    "No accelerator was in use: reads of CPU tensors were counted as if they were on a device."
    " Times mean nothing here. Left out are reads in data sets, samplers, collate functions and"
    " transforms, and of copies that `.cpu()` made. It cannot be known here which other tensors"
    " your program would keep on the host (batches before they are moved, values computed from"
    " copies, parts of a copy whose original lives on: their reads are counted), nor which moves"
    " would be uploads (`.to(device)`: not counted)."
)


def to_record(
    reading: Reading, root: str, command: str, frameworks: Mapping[str, str]
) -> TraceRecord:
    """The record, its sites sorted by stall, what cost most first.

    There may be very many: what is held of a site goes as its part of the record is made.
    """
    rows = list(reading.cells)
    reading = replace(reading, cells=())
    keys = [(site, thread) for site, thread, _ in rows] if reading.keeps_timeline else []
    files = {relative(site.path, root): site.path for site, _, _ in rows}
    idle = _once_each(reading.idle, rows)
    once, made = _Once(), []
    for at in range(len(rows)):
        site, thread, cell = rows[at]
        rows[at] = _DONE
        made.append(_site(site, thread, cell, reading.steps, root, idle.get((site, thread)), once))
    order = sorted(range(len(made)), key=lambda at: _weight(made[at]), reverse=True)
    sites = tuple([made[at] for at in order])
    devices = {site.device for site in sites}
    basis = _basis(devices, reading.stand_in, frameworks)
    index = {keys[at]: place for place, at in enumerate(order)} if keys else {}
    return TraceRecord(
        sites=sites,
        step_count=reading.steps,
        duration_ns=reading.duration,
        steady_steps=reading.steady_steps,
        steady_duration_ns=reading.steady_duration,
        step_syncs=reading.step_syncs,
        step_allowed=reading.step_allowed,
        step_collective_ns=reading.step_collective_ns,
        command=command,
        root=root,
        asyncguard_version=__version__,
        frameworks=frameworks,
        notes=(STAND_IN_NOTE,) if STAND_IN in devices else (),
        basis=basis,
        device=", ".join(sorted(filter(None, devices)))
        or (STAND_IN if basis == "stand-in" else ""),
        timeline=_timeline(reading, index),
        sources=_sources(sites[:EXCERPTS], files),
    )


def sites_of(rows: Iterable[Row], steps: int, root: str) -> tuple[SiteStats, ...]:
    """A few sites as the record would have them, in their order, but for the device's idle time."""
    once = _Once()
    return tuple(_site(site, thread, cell, steps, root, None, once) for site, thread, cell in rows)


def _basis(devices: Set[str], stand_in: bool, frameworks: Iterable[str]) -> str:
    """Whether the figures are of devices, or of the CPU in their stead."""
    if devices:
        return "stand-in" if STAND_IN in devices else "measured"
    known = catalogue.load().frameworks
    synchronous = any(not known[name].asynchronous_cpu for name in frameworks if name in known)
    return "stand-in" if stand_in and synchronous else "measured"


def _weight(site: SiteStats) -> tuple[int, int]:
    """Stalls come first; where the CPU stood in for a device they mean nothing, and counts do."""
    return (0, site.count) if site.device == STAND_IN else (site.cpu_stall_ns, site.count)


def _once_each(idle: Mapping[Site, int], rows: Sequence[Row]) -> dict[tuple[Site, str], int]:
    """The idle time of each site, with the thread that waited longest."""
    longest: dict[Site, tuple[int, str]] = {}
    for site, thread, cell in rows:
        if site in idle:
            longest[site] = max(longest.get(site, (-1, "")), (cell.stall, thread))
    return {(site, thread): idle[site] for site, (_, thread) in longest.items()}


class _Once:
    """What many sites have in common, kept once."""

    def __init__(self) -> None:
        self._histograms: dict[tuple[tuple[int, int], ...], dict[int, int]] = {}
        self._frames: dict[tuple[str, ...], tuple[str, ...]] = {}

    def histogram(self, buckets: Mapping[int, int]) -> dict[int, int]:
        made = _histogram(buckets)
        return self._histograms.setdefault(tuple(made.items()), made)

    def frames(self, entries: tuple[str, ...], root: str) -> tuple[str, ...]:
        found = self._frames.get(entries)
        if found is None:
            found = self._frames[entries] = tuple(relative(entry, root) for entry in entries)
        return found


def _site(
    site: Site, thread: str, cell: Cell, steps: int, root: str, idle: int | None, once: _Once
) -> SiteStats:
    blocker = site.blocker
    paths = _paths(site, cell, root, once)
    return SiteStats(
        path=relative(site.path, root),
        line=site.line,
        function=site.function,
        api=blocker.point.id,
        framework=blocker.point.framework,
        kind=blocker.point.kind,
        count=cell.count,
        cpu_stall_ns=cell.stall,
        gpu_stall_ns=idle,
        source=sys.intern(linecache.getline(site.path, site.line).strip()[:LINE_WIDTH]),
        device=blocker.device,
        first_step=cell.first if steps else None,
        last_step=cell.step if steps else None,
        steady_count=cell.steady,
        steady_stall_ns=cell.steady_stall,
        max_stall_ns=cell.longest,
        stall_histogram=once.histogram(cell.buckets),
        callers=paths[0].callers,
        library=paths[0].library,
        paths=paths if len(paths) > 1 else (),
        thread=thread,
        allowed=site.reason,
        steps=min(cell.steps, steps),
        steady_visits=cell.visits,
        steady_most=cell.most,
        inclusive_ns=cell.stall + cell.beside if cell.beside else None,
        why=blocker.why,
    )


def _paths(site: Site, cell: Cell, root: str, once: _Once) -> tuple[CallPath, ...]:
    """The call paths of a line, what waited longest first; the first one has what is left."""
    others = dict(cell.paths or {})
    count = cell.count - sum(count for count, _ in others.values())
    stall = cell.stall - sum(stall for _, stall in others.values())
    waits = ({site: (count, stall)} if count or not others else {}) | others
    found = [
        CallPath(once.frames(way.callers, root), *figures, once.frames(way.library, root))
        for way, figures in waits.items()
    ]
    return tuple(sorted(found, key=lambda path: (-path.cpu_stall_ns, -path.count)))


def _sources(sites: Iterable[SiteStats], files: Mapping[str, str]) -> dict[str, dict[int, str]]:
    """The lines around the sites: reports show them, and read no file themselves."""
    found: dict[str, dict[int, str]] = {}
    for site in sites:
        lines = linecache.getlines(files[site.path])
        if 0 < site.line <= len(lines):
            kept = found.setdefault(site.path, {})
            first = max(site.line - CONTEXT_LINES, 1)
            for at, text in enumerate(lines[first - 1 : site.line + CONTEXT_LINES], first):
                kept[at] = text.rstrip()[:LINE_WIDTH]
    return {path: dict(sorted(kept.items())) for path, kept in found.items()}


def _histogram(buckets: Mapping[int, int]) -> dict[int, int]:
    """log2(ns) -> waits; a wait of no measurable time falls into 0."""
    result: dict[int, int] = {}
    for bits, count in sorted(buckets.items()):
        exponent = max(bits - 1, 0)
        result[exponent] = result.get(exponent, 0) + count
    return result


def relative(path: str, root: str) -> str:
    """`path` from `root` where it lies below, with forward slashes; a cell's by its number."""
    path, prefix = named(path), root.rstrip(os.sep) + os.sep
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else path


def _timeline(reading: Reading, index: Mapping[tuple[Site, str], int]) -> tuple[TimelineEvent, ...]:
    """The newest events and steps, in order; nothing where no timeline was asked for."""
    if not reading.keeps_timeline:
        return ()
    start, newest = reading.start, reading.steps
    pairs = list(zip(reading.boundaries, reading.boundaries[1:], strict=False))
    first = newest - len(pairs)
    steps = [
        TimelineEvent("step", f"step {first + at}", begin - start, end - start)
        for at, (begin, end) in enumerate(pairs)
    ]
    anywhere = {site: at for (site, _), at in reversed(list(index.items()))}
    events = [_event(span, index, anywhere, start) for span in reading.events]
    ordered = sorted(steps + events, key=lambda event: (event.begin_ns, -event.end_ns))
    return tuple(_with_causes(ordered))


def _event(
    span: Event,
    index: Mapping[tuple[Site, str], int],
    anywhere: Mapping[Site, int],
    start: int,
) -> TimelineEvent:
    at = None
    if span.site is not None:
        at = index.get((span.site, span.thread), anywhere.get(span.site))
    return TimelineEvent(
        kind=span.kind,
        name=span.site.blocker.point.id if span.site is not None else span.name,
        begin_ns=span.begin - start,
        end_ns=span.end - start,
        thread=span.thread,
        site=at,
        serial=span.serial,
        nbytes=span.nbytes,
    )


def _with_causes(events: list[TimelineEvent]) -> Iterator[TimelineEvent]:
    """Point each idle span to the newest wait at its site that had begun before its end."""
    waits: dict[int | None, list[tuple[int, int]]] = {}
    for at, event in enumerate(events):
        if event.kind == "wait":
            waits.setdefault(event.site, []).append((event.begin_ns, at))
    for event in events:
        begun = waits.get(event.site, []) if event.kind == "idle" else []
        newest = bisect.bisect_left(begun, (event.end_ns, 0)) - 1
        yield replace(event, cause=begun[newest][1]) if newest >= 0 else event
