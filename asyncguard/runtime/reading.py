"""From a recorder's reading to the record that everything else works on: pure functions."""

from __future__ import annotations

import bisect
import linecache
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

import asyncguard
from asyncguard.model import SiteStats, TimelineEvent, TraceRecord
from asyncguard.runtime.recorder import Cell, Reading, Span
from asyncguard.runtime.sites import Site

STAND_IN_NOTE = (
    "CPU tensors stood in for device tensors, as no accelerator was in use: counts are those of a"
    " run on a device, stalls are not."
)


def to_record(
    reading: Reading, root: str, command: str, frameworks: Mapping[str, str]
) -> TraceRecord:
    """The record, its sites sorted by stall, what cost most first."""
    rows = sorted(reading.cells, key=lambda row: -row[2].stall)
    index = {(site, thread): at for at, (site, thread, _) in enumerate(rows)}
    idle = dict(reading.idle)  # a site's is told once, with the thread that waited longest
    return TraceRecord(
        sites=tuple(
            _site(site, thread, cell, reading.steps, root, idle.pop(site, None))
            for site, thread, cell in rows
        ),
        step_count=reading.steps,
        duration_ns=reading.duration,
        steady_steps=reading.steady_steps,
        steady_duration_ns=reading.steady_duration,
        step_syncs=reading.step_syncs,
        step_allowed=reading.step_allowed,
        command=command,
        root=root,
        asyncguard_version=asyncguard.__version__,
        frameworks=frameworks,
        notes=_notes(reading),
        timeline=_timeline(reading, index),
    )


def _site(
    site: Site, thread: str, cell: Cell, steps: int, root: str, idle: int | None
) -> SiteStats:
    blocker = site.blocker
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
        source=linecache.getline(site.path, site.line).strip(),
        device=blocker.device,
        first_step=cell.first if steps else None,
        last_step=cell.step if steps else None,
        steady_count=cell.steady,
        steady_stall_ns=cell.steady_stall,
        max_stall_ns=cell.longest,
        stall_histogram=_histogram(cell.buckets),
        stack=tuple(relative(entry, root) for entry in site.stack),
        thread=thread,
        allowed=site.reason,
    )


def _histogram(buckets: list[int]) -> dict[int, int]:
    """log2(ns) -> waits; a wait of no measurable time falls into 0."""
    result: dict[int, int] = {}
    for bits, count in enumerate(buckets):
        if count:
            exponent = max(bits - 1, 0)
            result[exponent] = result.get(exponent, 0) + count
    return result


def relative(path: str, root: str) -> str:
    """`path` from `root` where it lies below, with forward slashes; else as it is."""
    prefix = root.rstrip(os.sep) + os.sep
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else path


def _notes(reading: Reading) -> tuple[str, ...]:
    stood_in = any(site.blocker.stand_in for site, _, _ in reading.cells)
    return (STAND_IN_NOTE,) if stood_in else ()


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
    events = [_event(span, index, start) for span in reading.spans]
    ordered = sorted(steps + events, key=lambda event: (event.begin_ns, -event.end_ns))
    return tuple(_with_causes(ordered))


def _event(span: Span, index: Mapping[tuple[Site, str], int], start: int) -> TimelineEvent:
    at = None
    if span.site is not None:
        at = next((n for (site, _), n in index.items() if site is span.site), None)
        at = index.get((span.site, span.thread), at)
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
