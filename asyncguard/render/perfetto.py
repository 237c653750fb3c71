"""Perfetto: the timeline in the Trace Event Format, which ui.perfetto.dev opens.

One process for the host with a track a thread (steps, enqueues, waits), one for the device (runs,
idle spans), and a flow arrow from each sync point to the idle time that it caused. Times are in
microseconds, as the format asks. A trace without a timeline is an error: totals have no places in
time.
"""

from __future__ import annotations

import json
from typing import Any

from asyncguard.model import AsyncguardError, TimelineEvent, TraceRecord
from asyncguard.places import place_of
from asyncguard.render import Screen, TraceReport

HOST, DEVICE = 1, 2
PROCESSES = {HOST: "host (Python)", DEVICE: "device"}
UNNAMED = {HOST: "steps", DEVICE: "device"}  # tracks of events that are no thread's
ON_DEVICE = {"run", "idle"}


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the JSON text of the trace."""
    data: dict[str, Any] = {"traceEvents": events(report.record), "displayTimeUnit": "ns"}
    if report.record.troubles:
        data["otherData"] = {"warnings": " ".join(report.record.troubles)}
    return json.dumps(data) + "\n"


def events(record: TraceRecord) -> list[dict[str, Any]]:
    """Return the events; raises AsyncguardError where the trace holds no timeline."""
    if not record.timeline:
        raise AsyncguardError(
            "this trace holds no timeline; record one with `asyncguard run --timeline` or "
            "asyncguard.trace(timeline=100_000)"
        )
    tracks = _tracks(record)
    used = sorted({pid for pid, _ in tracks})
    found: list[dict[str, Any]] = [
        *(_name("process_name", pid, 0, PROCESSES[pid]) for pid in used),
        *(
            _name("thread_name", pid, tid, thread or UNNAMED[pid])
            for (pid, thread), tid in tracks.items()
        ),
    ]
    for index, event in enumerate(record.timeline):
        pid = _process(event)
        tid = tracks[pid, event.thread]
        found.append(_span(record, event, pid, tid))
        if event.cause is not None and 0 <= event.cause < len(record.timeline):
            cause = record.timeline[event.cause]
            cause_pid = _process(cause)
            start = {"ph": "s", "pid": cause_pid, "tid": tracks[cause_pid, cause.thread]}
            finish = {"ph": "f", "bp": "e", "pid": pid, "tid": tid}
            flow = {"cat": "bubble", "name": "sync point -> idle device", "id": index}
            found.append(flow | start | {"ts": cause.begin_ns / 1e3})
            # An arrow that ends before it begins would not be drawn.
            end = max(event.begin_ns, cause.begin_ns)
            found.append(flow | finish | {"ts": end / 1e3})
    return found


def _tracks(record: TraceRecord) -> dict[tuple[int, str], int]:
    """Number the tracks: one for each thread of each process, in order of appearance."""
    tracks: dict[tuple[int, str], int] = {}
    for event in record.timeline:
        tracks.setdefault((_process(event), event.thread), len(tracks) + 1)
    return tracks


def _process(event: TimelineEvent) -> int:
    return DEVICE if event.kind in ON_DEVICE else HOST


def _span(record: TraceRecord, event: TimelineEvent, pid: int, tid: int) -> dict[str, Any]:
    span: dict[str, Any] = {
        "ph": "X",
        "cat": event.kind,
        "name": f"start-up and {event.name}" if _is_first_step(event) else event.name,
        "pid": pid,
        "tid": tid,
        "ts": event.begin_ns / 1e3,
        "dur": (event.end_ns - event.begin_ns) / 1e3,
    }
    if event.site is not None:
        site = record.sites[event.site]
        span["args"] = {"site": place_of(site.path, site.line), "source": site.source}
    return span


def _is_first_step(event: TimelineEvent) -> bool:
    """Whether it begins with the trace: imports and set-up lie in it."""
    return event.kind == "step" and event.begin_ns == 0


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
