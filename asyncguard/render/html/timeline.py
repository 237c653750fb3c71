"""The timeline of the newest steps: one lane for each kind of event, and the same as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asyncguard.model import TimelineEvent, TraceRecord
from asyncguard.render.html.document import Detail
from asyncguard.render.words import count, duration

BARS = 120  # steps whose waits are drawn
TICKS = 5  # of the axis
LEGEND = {
    "step": "whole steps",
    "enqueue": "Python hands operations over",
    "wait": "Python waits",
    "run": "the device works",
    "idle": "the device has nothing to do",
}


@dataclass(frozen=True)
class Span:
    """One event, or several that lie close together, in percent of the width."""

    left: float
    width: float
    label: str


@dataclass(frozen=True)
class Lane:
    """The events of one kind."""

    kind: str
    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Timeline:
    """Lanes, the times of the axis, and for each step its figures, by `columns`."""

    lanes: tuple[Lane, ...]
    ticks: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Bars:
    """One bar for each of many: the name, the value in words and the height in percent of each."""

    bars: tuple[tuple[str, str, float], ...]
    highest: str


def timeline(record: TraceRecord, detail: Detail) -> Timeline | None:
    """The newest steps; None where no timeline was kept."""
    steps = [event for event in record.timeline if event.kind == "step"][-detail.steps :]
    shown = steps or record.timeline
    if not shown:
        return None
    begin, end = min(e.begin_ns for e in shown), max(e.end_ns for e in shown)
    events = [e for e in record.timeline if e.end_ns > begin and e.begin_ns < end]
    by_kind = {kind: [e for e in events if e.kind == kind] for kind in LEGEND}
    lanes = tuple(
        Lane(kind, LEGEND[kind], _spans(found, begin, end, detail.grain if kind != "step" else 0))
        for kind, found in by_kind.items()
        if found
    )
    ticks = tuple(duration((end - begin) * at / TICKS) for at in range(TICKS + 1))
    return Timeline(lanes, ticks, *_table(steps, by_kind))


def _table(
    steps: Sequence[TimelineEvent], by_kind: Mapping[str, Sequence[TimelineEvent]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns, one for each kind of event that there is, and a row for each step."""
    kinds = [kind for kind, found in by_kind.items() if found and kind != "step"]
    rows = tuple(_row(step, [by_kind[kind] for kind in kinds]) for step in steps)
    return ("time", *(LEGEND[kind] for kind in kinds)), rows


def _row(step: TimelineEvent, kinds: Sequence[Sequence[TimelineEvent]]) -> tuple[str, ...]:
    """The name of a step, what it took, and what each kind of event took of it."""
    begin, end = step.begin_ns, step.end_ns
    inside = [
        sum(max(min(e.end_ns, end) - max(e.begin_ns, begin), 0) for e in events) for events in kinds
    ]
    return (step.name, duration(end - begin), *map(duration, inside))


def _spans(events: Sequence[TimelineEvent], begin: int, end: int, grain: float) -> tuple[Span, ...]:
    """The spans of events; those that lie closer together than the grain are one."""
    scale = 100 / max(end - begin, 1)
    groups: list[list[TimelineEvent]] = []
    until = 0
    for event in sorted(events, key=lambda each: each.begin_ns):
        if groups and (event.begin_ns - until) * scale < grain:
            groups[-1].append(event)
            until = max(until, event.end_ns)
        else:
            groups.append([event])
            until = event.end_ns
    return tuple(_span(group, begin, end, scale) for group in groups)


def _span(group: Sequence[TimelineEvent], begin: int, end: int, scale: float) -> Span:
    left = (max(group[0].begin_ns, begin) - begin) * scale
    right = (min(max(event.end_ns for event in group), end) - begin) * scale
    took = duration(sum(event.end_ns - event.begin_ns for event in group))
    name = group[0].name if len(group) == 1 else count(len(group), "event")
    return Span(left, max(right - left, 0.05), f"{name} ({took})")


def step_bars(record: TraceRecord) -> Bars | None:
    """The waits of the newest steps; None where they are not known, or all alike."""
    newest = record.step_syncs[-BARS:]
    if len(set(newest)) < 2:
        return None
    first = record.step_count - len(newest)
    values = [(f"step {first + at:,}", waits) for at, waits in enumerate(newest)]
    highest = max(newest)
    bars = tuple((name, count(waits, "wait"), 100 * waits / highest) for name, waits in values)
    return Bars(bars, count(highest, "wait"))
