"""Pictures of what the engine did: the dependency graph, and the timeline of both sides.

Stands above `hooks.py`. A `Recording` listens to a stretch of a program; the functions turn it into
text: `dot_graph` into DOT, `svg_graph` into SVG (with the graphviz package and its `dot` program),
`timeline` into the trace event format that https://ui.perfetto.dev opens
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).

    with Recording() as recording:
        z = x * y + 2
        engine.waitall()
    print(dot_graph(recording))
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from asyncguard.engine import hooks

__all__ = ["Recording", "dot_graph", "svg_graph", "timeline"]


class Recording(hooks.Listener):
    """Everything that the engine reports within the block, in the order of the reports."""

    def __init__(self, clock: hooks.Clock = time.perf_counter_ns) -> None:
        self._clock = clock
        self.enqueues: list[hooks.Enqueue] = []
        self.executions: list[hooks.Execution] = []
        self.syncs: list[hooks.Sync] = []

    def enqueued(self, event: hooks.Enqueue) -> None:
        self.enqueues.append(event)

    def executed(self, event: hooks.Execution) -> None:
        self.executions.append(event)

    def synced(self, sync: hooks.Sync) -> None:
        self.syncs.append(sync)

    def __enter__(self) -> Recording:
        hooks.attach(self, self._clock)
        return self

    def __exit__(self, *_: object) -> None:
        hooks.detach(self)


def dot_graph(recording: Recording) -> str:
    """Return the dependency graph in DOT: variables as ellipses, operations as boxes.

    A variable that is written again gets a new ellipse, one per version, so the graph has no cycle.
    Variables that the stretch only reads are its inputs.
    """
    lines = ["digraph engine {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    names = _Names()
    for event in recording.enqueues:
        box = f"op{event.serial}"
        tooltip = _quoted(f"{event.site.path}:{event.site.line}")
        lines.append(f"  {box} [shape=box, label={_quoted(event.name)}, tooltip={tooltip}];")
        for number in dict.fromkeys(event.reads):
            lines += names.declare(number)
            lines.append(f"  {names.current(number)} -> {box};")
        for number in event.writes:
            lines += names.advance(number)
            lines.append(f"  {box} -> {names.current(number)};")
    return "\n".join([*lines, "}", ""])


class _Names:
    """Gives the variables of a graph short names: v1, v2, ... and v1.2 for a second version."""

    def __init__(self) -> None:
        self._short: dict[int, int] = {}
        self._versions: dict[int, int] = {}

    def current(self, number: int) -> str:
        return f"v{self._short[number]}_{self._versions[number]}"

    def declare(self, number: int) -> Iterator[str]:
        if number not in self._short:
            yield from self.advance(number)

    def advance(self, number: int) -> Iterator[str]:
        short = self._short.setdefault(number, len(self._short) + 1)
        version = self._versions[number] = self._versions.get(number, 0) + 1
        label = f"v{short}" if version == 1 else f"v{short}, version {version}"
        yield f"  {self.current(number)} [shape=ellipse, label={_quoted(label)}];"


def svg_graph(recording: Recording) -> str:
    """Return the dependency graph as SVG.

    Raises RuntimeError, with what to install, where graphviz or its `dot` program is missing.
    """
    try:
        import graphviz
    except ImportError as error:
        raise RuntimeError(
            "drawing needs the graphviz package: pip install graphviz (dot_graph() works without)"
        ) from error
    try:
        return str(graphviz.Source(dot_graph(recording)).pipe(format="svg").decode())
    except graphviz.ExecutableNotFound as error:
        raise RuntimeError(
            "drawing needs the `dot` program of Graphviz: install the system's graphviz package "
            "(apt install graphviz, brew install graphviz); dot_graph() works without"
        ) from error


def timeline(recording: Recording) -> str:
    """Return the timeline as JSON for Perfetto: one track for each frontend thread and worker.

    Frontends show enqueues and sync points, workers executions; an arrow leads from each enqueue to
    its execution. Times are microseconds from the first event.
    """
    tracks: dict[str, int] = {}
    events = [
        *(_enqueue_event(event) for event in recording.enqueues),
        *(_execution_event(event) for event in recording.executions),
        *(_sync_event(sync) for sync in recording.syncs),
    ]
    start = min((event["begin"] for event in events), default=0)
    done = {event.serial for event in recording.executions}
    shown: list[dict[str, Any]] = []
    for event in sorted(events, key=lambda event: int(event["begin"])):
        track = tracks.setdefault(event["track"], len(tracks) + 1)
        shown += _shown(event, track, start, done)
    named = [_event("M", 0, n, "thread_name", args={"name": track}) for track, n in tracks.items()]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": [*named, *shown]}, indent=1)


def _shown(event: dict[str, Any], track: int, start: int, done: set[int]) -> list[dict[str, Any]]:
    begin = (event["begin"] - start) / 1000
    duration = (event["end"] - event["begin"]) / 1000
    slices = [_event("X", begin, track, event["name"], dur=duration, **event["more"])]
    if event["flow"] and event["serial"] in done:
        end = {"bp": "e"} if event["flow"] == "f" else {}
        slices.append(_event(event["flow"], begin, track, "run", id=event["serial"], **end))
    return slices


def _event(phase: str, at: float, track: int, name: str, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "ts": at, "pid": 1, "tid": track, "name": name, "cat": "engine", **more}


def _enqueue_event(event: hooks.Enqueue) -> dict[str, Any]:
    details = {"line": f"{event.site.path}:{event.site.line}", "depth": event.depth}
    track = f"frontend {event.thread}"
    return _part(track, f"enqueue {event.name}", event, "s", details, event.serial)


def _execution_event(event: hooks.Execution) -> dict[str, Any]:
    details = {"failed": event.failed, "lent": event.lent}
    track = f"{event.worker}, lent to the engine" if event.lent else event.worker
    return _part(track, event.name, event, "f", details, event.serial)


def _sync_event(sync: hooks.Sync) -> dict[str, Any]:
    details = {"kind": sync.kind, "idle_us": sync.idle_ns / 1000}
    return _part(f"frontend {sync.thread}", sync.api, sync, "", details, 0)


def _part(
    track: str,
    name: str,
    span: hooks.Enqueue | hooks.Execution | hooks.Sync,
    flow: str,
    details: dict[str, Any],
    serial: int,
) -> dict[str, Any]:
    return {
        "track": track,
        "name": name,
        "begin": span.t_begin,
        "end": span.t_end,
        "flow": flow,
        "more": {"args": details},
        "serial": serial,
    }


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
