"""What the device of an exported report did, and which waits left it without work.

A report may hold millions of kernels: they are read in the order in which they were enqueued and
forgotten once the idle time before them is settled.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from asyncguard.advise.imported import MOST_EVENTS, Place, PlacedWait
from asyncguard.advise.nsys.export import API, PID, Export, Process, is_number, is_time
from asyncguard.idle import Wait
from asyncguard.model import TimelineEvent
from asyncguard.runtime.device import ORPHANS, SKEW
from asyncguard.timeline.bubbles import Activity, Sweep

PORTION = 50_000  # activities between two settlements
NEEDED = ("start", "end", "deviceId", "correlationId")
# Tables of what a device ran, each with the column that names it, if one does.
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "shortName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "",
    "CUPTI_ACTIVITY_KIND_MEMSET": "",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "",
}


class Run(NamedTuple):
    """A device ran something; `launched` is the call that enqueued it, where that is known."""

    known_since: int
    begin: int
    end: int
    device: int
    call: int
    name: str
    launched: tuple[int, int] | None


@dataclass
class Idle:
    """Idle time by the place of the wait that caused it; `runs` is what was seen of the device."""

    by_place: dict[Place, int] = field(default_factory=dict)
    runs: int = 0
    unknown: int = 0  # of those, without the call that enqueued them
    last: int = 0  # when the last one ended
    first: int | None = None
    call: int = -1  # that enqueued the last one
    events: deque[tuple[TimelineEvent, Place | None]] = field(
        default_factory=lambda: deque(maxlen=MOST_EVENTS)
    )

    @property
    def note(self) -> str:
        """What keeps the figures too small; "" where nothing does."""
        if self.unknown <= ORPHANS * self.runs:
            return ""
        return (
            f"GPU stalls are too small: {self.unknown:,} of {self.runs:,} device activities came"
            " without the call that enqueued them, and the idle time before those is not counted."
        )


def measure(export: Export, process: Process, waits: Sequence[PlacedWait]) -> Idle:
    """Charge the idle time of a process's devices to its waits, which have to be in order."""
    idle, sweep, ahead = Idle(), Sweep(slack=SKEW), deque(waits)
    portion: list[Activity] = []
    for run in heapq.merge(*_tables(export, process), key=lambda run: run.known_since):
        idle.runs += 1
        idle.unknown += run.launched is None
        idle.last = max(idle.last, run.end)
        idle.first = run.begin if idle.first is None else min(run.begin, idle.first)
        _tell(idle, run)
        enqueued = None if run.launched is None else run.launched[0]
        portion.append(Activity(run.device, run.begin, run.end, enqueued))
        if len(portion) >= PORTION:
            _settle(idle, sweep, ahead, portion, run.known_since)
    _settle(idle, sweep, ahead, portion, None)
    return idle


def _settle(
    idle: Idle, sweep: Sweep, ahead: deque[PlacedWait], portion: list[Activity], until: int | None
) -> None:
    begun = []
    while ahead and (until is None or ahead[0].begin < until):
        wait = ahead.popleft()
        begun.append(Wait(wait.begin, wait.end, wait.place))
    sweep.add(begun, portion)
    portion.clear()
    for bubble in sweep.settle(until):
        place = bubble.wait.owner
        idle.by_place[place] = idle.by_place.get(place, 0) + bubble.end - bubble.begin
        if bubble:
            span = bubble.begin, bubble.end, f"cuda:{bubble.device}"
            idle.events.append((TimelineEvent("idle", "", *span), place))


def _tell(idle: Idle, run: Run) -> None:
    """Put a run on the timeline; one call may enqueue many, and took its time once."""
    serial = idle.runs
    span = run.begin, run.end, f"cuda:{run.device}"
    idle.events.append((TimelineEvent("run", run.name, *span, serial=serial), None))
    if run.launched is not None:
        begin, end = run.launched
        if run.call == idle.call:
            begin = end
        idle.call = run.call
        idle.events.append((TimelineEvent("enqueue", run.name, begin, end, serial=serial), None))


def _tables(export: Export, process: Process) -> Iterator[Iterator[Run]]:
    for table, named in TABLES.items():
        if table in export.tables and export.has(table, NEEDED):
            where = export.of_process(table, process, "k")
            if where is not None:
                yield _runs(export, table, named, process, where)


def _runs(export: Export, table: str, named: str, process: Process, where: str) -> Iterator[Run]:
    """The runs of a table in the order in which they were enqueued; else in that of their begins.

    A launch is known by its number, which each process counts for itself.
    """
    columns = export.columns(table)
    name, names = "NULL", ""
    if named in columns and {"id", "value"} <= export.columns("StringIds"):
        name, names = "s.value", f'LEFT JOIN StringIds AS s ON s.id = k."{named}"'
    launch, launches = "NULL, NULL", ""
    if {"start", "end", "globalTid", "correlationId"} <= export.columns(API):
        launch = "r.begun, r.ended"
        launches = (
            'LEFT JOIN (SELECT "correlationId" AS call, min("start") AS begun, "end" AS ended '
            f'FROM {API} WHERE ("globalTid" >> 24) & {PID} = {process.number} '
            'GROUP BY "correlationId") AS r ON r.call = k."correlationId"'
        )
    begun = "r.begun" if launches else "NULL"
    sql = (
        f'SELECT k."start", k."end", k."deviceId", k."correlationId", {launch}, {name} '
        f"FROM {table} AS k {launches} {names} WHERE {where} "
        f'ORDER BY min(coalesce({begun}, k."start"), k."start")'
    )
    for begin, end, device, call, launched, returned, text in export.spans(export.rows(sql)):
        if not is_number(device) or not 0 <= device < 2**31:
            export.skipped += 1
            continue
        known = is_time(launched) and is_time(returned) and launched <= returned
        yield Run(
            min(launched, begin) if known else begin, begin, end, device,
            call if is_number(call) else -1, text if isinstance(text, str) else _named(table),
            (launched, returned) if known else None,
        )  # fmt: skip


def _named(table: str) -> str:
    return table.removeprefix("CUPTI_ACTIVITY_KIND_").capitalize().replace("_", " ")
