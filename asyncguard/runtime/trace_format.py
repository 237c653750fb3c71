"""The format of trace files: structs made from the records of `asyncguard.model`, and its schema.

A record's field is the file's field, and has the record's default where the file leaves it out.
Only call paths are stored in another form, as nodes of one tree (see `calltree`).
`trace.schema.json` beside this file is `schema()`: `python -m asyncguard.runtime.trace_format`
writes it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

import msgspec
from msgspec import Meta

from asyncguard.model import CallPath, SiteStats, TimelineEvent, TraceRecord

FORMAT = "asyncguard-trace"
VERSION = 3
SCHEMA_PATH = Path(__file__).with_name("trace.schema.json")
MOST = 2**63 - 1  # of a count, a line or a time; Python's own integers have no end
NO_NODE = -1  # nobody called

Natural = Annotated[int, Meta(ge=0, le=MOST)]
Instant = Annotated[int, Meta(ge=-MOST, le=MOST)]  # ns; a device's clock may begin earlier
Index = Annotated[int, Meta(ge=NO_NODE, le=MOST)]
Share = Annotated[float, Meta(ge=0, le=1)]


class StoredBreak(TypedDict):
    """One place at which torch.compile breaks its graph."""

    path: Annotated[str, Meta(description="empty where dynamo does not tell")]
    line: Natural
    function: str
    source: str
    reason: str
    explanation: str
    effect: Annotated[
        Literal["split", "uncompiled"],
        Meta(description="compiled in two, or the whole function left to Python"),
    ]
    count: Annotated[int, Meta(ge=0, le=MOST, description="compilations during the trace")]
    before: Annotated[int, Meta(ge=0, le=MOST, description="compilations before it")]


class Process(TypedDict):
    """One process of a family."""

    pid: Natural
    parent: Natural
    name: str
    how: Annotated[
        Literal["", "forked", "started"], Meta(description="by its parent; empty for the first")
    ]


class StoredUnit(TypedDict):
    """How often the units of one name waited, of those that are complete."""

    name: str
    count: Annotated[int, Meta(ge=1, le=MOST)]
    waits: Natural
    steady_count: Annotated[int, Meta(ge=0, le=MOST, description="of `count`, after the warm-up")]
    steady_waits: Annotated[int, Meta(ge=0, le=MOST, description="the waits of those")]
    most: Annotated[int, Meta(ge=0, le=MOST, description="waits in one of those")]


class Extra(TypedDict, total=False):
    """Facts that only some runs have."""

    family: Annotated[str, Meta(description="the same for all processes that a run followed")]
    process: Annotated[Process, Meta(description="which of them it is")]
    rank: Natural
    world_size: Annotated[int, Meta(ge=2, le=MOST)]
    local_rank: Natural
    host: str
    job: Annotated[str, Meta(description="the scheduler's job")]
    run: Annotated[str, Meta(description="the same for all ranks of one run")]
    revision: Annotated[str, Meta(description="git commit of `root`")]
    started: Annotated[str, Meta(description="UTC, ISO 8601")]
    started_ns: Annotated[
        int, Meta(ge=0, le=MOST, description="the Unix time from which events count")
    ]
    devices: Annotated[list[str], Meta(description="models")]
    peak_memory_growth_bytes: Annotated[
        int, Meta(ge=0, le=MOST, description="the most memory of the process beyond its first")
    ]
    peak_pending_bytes: Annotated[
        int, Meta(ge=0, le=MOST, description="the most that pending results were to take")
    ]
    backend_overlap: Annotated[
        float,
        Meta(ge=0, le=1, description="share of host time in which a CPU backend worked as well"),
    ]
    backend_overlap_range: Annotated[
        tuple[Share, Share], Meta(description="the least and the most that this share may be")
    ]
    backend_overlap_by_site: Annotated[
        dict[str, tuple[Share, Share, Share]],
        Meta(description="by index of `sites`, before its waits: likely, least and most"),
    ]
    device_times: Annotated[dict[str, Any], Meta(description="the source of GPU stalls")]
    graph_breaks: Annotated[
        list[StoredBreak], Meta(description="of torch.compile, as dynamo found them")
    ]
    units: Annotated[list[StoredUnit], Meta(description="what `asyncguard.step(name)` marked")]
    races: Annotated[
        list[dict[str, Any]],
        Meta(description="host memory that was used while a copy might still use it"),
    ]
    driver: Annotated[
        dict[str, Any], Meta(description="waits that the driver saw: by hooks, and outside of them")
    ]
    cross_check: Annotated[dict[str, Any], Meta(description="waits that torch itself reported")]


ABOUT: dict[type[Any], dict[str, str]] = {
    TraceRecord: {
        "sites": "the costliest first",
        "step_count": "step boundaries",
        "steady_steps": "complete steps after the warm-up",
        "step_syncs": "waits in each of the newest steady steps",
        "step_collective_ns": "what each of the newest steady steps waited for other ranks",
        "step_allowed": "of `step_syncs`, the waits that `allow_syncs` covers",
        "basis": "measured, modelled (by a simulated device) or stand-in (the CPU in its stead)",
        "device": "the devices that the program waited for",
        "root": "the folder from which relative paths start",
        "faults": "what was not hooked, or failed: waits may be missing",
        "complete": "false: saved while the program ran, which may have been killed since",
        "exit_status": "of the program; null: not known",
        "exception": "that ended the program, or left the traced block",
        "timeline": "the newest events, where they were asked for",
        "sources": "path -> line number -> text, around the costliest sites",
        "frames": "`path:line function`, each once",
        "tree": "call tree: the number of a node's parent (-1: none), which stands before it, and "
        "of its frame",
    },
    SiteStats: {
        "path": "relative to `root` where it lies below",
        "api": "id of the catalogue's entry",
        "count": "waits",
        "cpu_stall_ns": "host time spent waiting, summed",
        "gpu_stall_ns": "device idle time that the waits caused; null where it was not measured",
        "source": "text of the line",
        "steady_count": "of `count`, the waits in complete steps after the warm-up",
        "stall_histogram": "log2 of the stall in ns -> waits",
        "callers": "the call path to the site's function: a node of `tree`",
        "library": "frames of libraries between the line and the wait, innermost first",
        "paths": "all call paths, where there are several; the longest wait first",
        "stack": "versions 1 and 2: frames as texts or numbers, innermost first",
        "steps": "in how many steps it waited",
        "steady_visits": "in how many of the complete steps after the warm-up it waited",
        "steady_most": "the most waits in one of those",
        "inclusive_ns": "the whole time of calls that do more than wait; null where they do not",
        "allowed": "the reason given to `allow_syncs`",
        "why": "of a copy that waited although it was told not to block: pageable, gapped or "
        "unpinned destination",
    },
    TimelineEvent: {
        "kind": "step, wait, enqueue, run or idle",
        "begin_ns": "from the start of the trace",
        "site": "index into `sites`",
        "cause": "of an idle span: index into `timeline`",
        "serial": "the same for an enqueue and the run that it led to",
        "nbytes": "of an enqueue: the size of the result",
    },
}


def _struct(record: type[Any], without: Collection[str] = (), **stored: Any) -> Any:
    """Return a struct with a record's fields; `stored` has those of another type on disk.

    A value of `stored` is a type, or a type and a default.
    """
    members = {
        name: (kind, _default_of(field))
        for name, kind, field in _fields(record)
        if name not in without
    }
    for name, value in stored.items():
        given = value if isinstance(value, tuple) else (value, members[name][1])
        members[name] = given
    about = ABOUT.get(record, {})
    described = [
        (name, Annotated[kind, Meta(description=about[name])] if name in about else kind, default)
        for name, (kind, default) in members.items()
    ]
    return msgspec.defstruct(
        _NAMES[record], described, frozen=True, kw_only=True, omit_defaults=True, gc=False
    )


_NAMES = {TraceRecord: "trace", SiteStats: "site", CallPath: "path", TimelineEvent: "event"}


def _fields(record: type[Any]) -> Iterator[tuple[str, Any, dataclasses.Field[Any]]]:
    """Yield the name, the type and the field; numbers of the records are natural."""
    kinds = get_type_hints(record)
    for field in dataclasses.fields(record):
        kind = kinds[field.name]
        yield field.name, next((to for of, to in _KINDS if of == kind), kind), field


_KINDS: tuple[tuple[Any, Any], ...] = (
    (int, Natural),
    (int | None, Natural | None),
    (tuple[int, ...], tuple[Natural, ...]),
    (Mapping[int, int], Mapping[Natural, Natural]),
    (Mapping[str, Mapping[int, str]], Mapping[str, Mapping[Natural, str]]),
)


def _default_of(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field() if field.default is dataclasses.MISSING else field.default


def _tuple_of(struct: Any) -> Any:
    return GenericAlias(tuple, (struct, ...))


_Frames = tuple[Natural | str, ...]
_PATH: dict[str, Any] = {"callers": (Index, NO_NODE), "library": (_Frames, ())}
StoredPath = _struct(CallPath, **_PATH)
StoredSite = _struct(SiteStats, **_PATH, paths=_tuple_of(StoredPath), stack=(_Frames, ()))
StoredEvent = _struct(TimelineEvent, begin_ns=Instant, end_ns=Instant)
_HEAD: dict[str, Any] = {
    "format": (Literal["asyncguard-trace"], msgspec.field()),
    "version": (Annotated[int, Meta(ge=1, le=VERSION)], msgspec.field()),
    "sites": _tuple_of(StoredSite),
    "frames": (tuple[str, ...], ()),
}
StoredTrace = _struct(
    TraceRecord,
    **_HEAD,
    timeline=_tuple_of(StoredEvent),
    tree=(tuple[tuple[Index, Natural], ...], ()),
)
# The figures alone: the bulk of a file is its timeline, sources and call paths.
_SiteFigures = _struct(
    SiteStats, without=("callers", "paths", "stall_histogram"), library=(_Frames, ())
)
Figures = _struct(
    TraceRecord, without=("timeline", "sources"), **_HEAD | {"sites": _tuple_of(_SiteFigures)}
)


def schema() -> dict[str, Any]:
    """Return the JSON schema of trace files."""
    found: dict[str, Any] = msgspec.json.schema(StoredTrace, ref_template="#/$defs/{name}")
    parts = found["$defs"]
    whole = parts.pop(_NAMES[TraceRecord])
    (extra,), more = msgspec.json.schema_components([Extra], ref_template="#/$defs/{name}")
    parts.update(more)
    whole["properties"]["extra"] = {"description": "facts that only some runs have", **extra}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": "asyncguard trace",
        "description": "The sync points of one run. All times are nanoseconds. Readers skip fields "
        "that they do not know.",
        "$defs": parts,
    }


def main() -> None:
    """Write the schema."""
    SCHEMA_PATH.write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
