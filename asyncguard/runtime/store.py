"""Traces on disk: plain JSON, versioned, described by `trace.schema.json` beside this file."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from asyncguard import files
from asyncguard.model import (
    AsyncguardError,
    CallPath,
    SiteStats,
    SyncKind,
    TimelineEvent,
    TraceRecord,
    to_plain,
)
from asyncguard.plain import made
from asyncguard.runtime.calltree import CallTree, Paths

FORMAT = "asyncguard-trace"
VERSION = 3
MOST_DIGITS = 18  # of a number that is a key
SCHEMA_PATH = Path(__file__).with_name("trace.schema.json")


def save(record: TraceRecord, path: Path) -> None:
    """Write a trace in one piece: a reader finds the old file or the new one, never half of it."""
    try:
        files.replace(path, (part.encode() for part in _parts(record)))
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot write the trace: {error.strerror or error}; name another file"
        ) from error


def load(path: Path) -> TraceRecord:
    """Read a trace; raises AsyncguardError naming the file and the remedy."""
    try:
        data = files.parse_json(files.read(path))
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the trace: {error.strerror or error}; "
            "'asyncguard run -o TRACE script.py' writes one"
        ) from error
    except ValueError as error:
        raise AsyncguardError(f"{path}: not a trace: {error}; record it again") from error
    try:
        return from_json(data)
    except (KeyError, TypeError, ValueError) as error:
        raise AsyncguardError(
            f"{path}: not a trace that this version reads: {_why(error)}; record it again"
        ) from error


def to_json(record: TraceRecord) -> dict[str, Any]:
    """The record as JSON-ready data."""
    data: dict[str, Any] = json.loads("".join(_parts(record)))
    return data


def _parts(record: TraceRecord) -> Iterator[str]:
    """The text of a trace, a line for each site: there may be too many for one text in memory.

    Fields that are as they are by default are left out, and call paths are branches of one tree.
    """
    tree = CallTree()
    yield f'{{"format": "{FORMAT}", "version": {VERSION}'
    for item in fields(TraceRecord):
        if item.name not in ("sites", "timeline"):
            yield f',\n"{item.name}": {json.dumps(to_plain(getattr(record, item.name)))}'
    for name in ("sites", "timeline"):
        comma = ""
        yield f',\n"{name}": ['
        for each in getattr(record, name):
            yield f"{comma}\n{json.dumps(to_plain(_in_tree(_told(each), tree)))}"
            comma = ","
        yield "]"
    yield f',\n"frames": {json.dumps(tree.frames, indent=0)}'
    yield f',\n"tree": {json.dumps(tree.nodes)}}}\n'


def _in_tree(data: dict[str, Any], tree: CallTree) -> dict[str, Any]:
    """The data of a site, its frames as numbers."""
    if "callers" in data:
        data["callers"] = tree.node(data["callers"])
    if "library" in data:
        data["library"] = [tree.frame(entry) for entry in data["library"]]
    if "paths" in data:
        data["paths"] = [_in_tree(_told(path), tree) for path in data["paths"]]
    return data


def _told(record: SiteStats | TimelineEvent | CallPath) -> dict[str, Any]:
    """The fields of a record that say something: those without a default, or other than it."""
    values = (
        (name, getattr(record, name), default) for name, default in _DEFAULTS[record.__class__]
    )
    return {name: value for name, value, default in values if value != default}


def _defaults(record: type[Any]) -> tuple[tuple[str, object], ...]:
    """Each field's name and default; what equals nothing where it has none."""
    made = ((f, f.default_factory) for f in fields(record))
    return tuple(
        (f.name, factory() if factory is not MISSING else f.default) for f, factory in made
    )


_DEFAULTS = {record: _defaults(record) for record in (SiteStats, TimelineEvent, CallPath)}


def from_json(data: Any) -> TraceRecord:
    """Rebuild a record from `to_json`'s result. Raises KeyError, TypeError or ValueError."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f"it lacks 'format': {FORMAT!r}")
    version = data.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(
            f"its version is {version!r}, and {VERSION} is the newest that this asyncguard knows"
        )
    values = _known(TraceRecord, data)
    frames = data.get("frames", [])
    if not isinstance(frames, list) or not all(isinstance(entry, str) for entry in frames):
        raise ValueError(f"frames is {reprlib.repr(frames)}")
    paths = Paths(frames, data.get("tree", []))
    values["sites"] = tuple(_site(site, paths) for site in _objects(data, "sites"))
    values["sources"] = _sources(data.get("sources", {}))
    values["timeline"] = tuple(_event(event, data) for event in _objects(data, "timeline"))
    _require_natural(values, "step_count", "duration_ns", "steady_steps", "steady_duration_ns")
    return made(TraceRecord, values)


def _objects(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; an empty one where an optional list is missing."""
    found = data[name] if name == "sites" else data.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise ValueError(f"{name} is {reprlib.repr(found)}")
    return found


_NATURAL = "line", "count", "cpu_stall_ns", "gpu_stall_ns", "steady_count", "steady_stall_ns"


def _require_natural(values: Mapping[str, Any], *names: str) -> None:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{name} is {value}")


def _sources(data: Any) -> dict[str, dict[int, str]]:
    """Lines by path; JSON's keys are texts."""
    if not isinstance(data, Mapping) or not all(isinstance(v, Mapping) for v in data.values()):
        raise ValueError(f"sources is {reprlib.repr(data)}")
    return {
        path: {_number(at, "the number of a line"): text for at, text in lines.items()}
        for path, lines in data.items()
    }


def _number(key: str, what: str) -> int:
    """A whole number that JSON has as a text."""
    if not key.isdecimal() or len(key) > MOST_DIGITS:
        raise ValueError(f"{reprlib.repr(key)} is not {what}")
    return int(key)


def _site(data: Mapping[str, Any], paths: Paths) -> SiteStats:
    values = _known(SiteStats, data) | paths.of(data)
    values["paths"] = tuple(_path(each, paths) for each in _objects(data, "paths"))
    values["kind"] = SyncKind(data["kind"])
    histogram = data.get("stall_histogram", {})
    if not isinstance(histogram, Mapping):
        raise ValueError(f"stall_histogram is {reprlib.repr(histogram)}")
    values["stall_histogram"] = {
        _number(key, "a power of two"): count for key, count in histogram.items()
    }
    _require_natural(values, *_NATURAL)
    return made(SiteStats, values)


def _path(data: Mapping[str, Any], paths: Paths) -> CallPath:
    _require_natural(data, "count", "cpu_stall_ns")
    return made(CallPath, _known(CallPath, data) | paths.of(data))


def _event(data: Mapping[str, Any], trace: Mapping[str, Any]) -> TimelineEvent:
    event = made(TimelineEvent, _known(TimelineEvent, data))
    for name, index, among in (
        ("site", event.site, trace["sites"]),
        ("cause", event.cause, trace["timeline"]),
    ):
        if index is not None and not 0 <= index < len(among):
            raise ValueError(f"{name} of an event is {index}, of {len(among)}")
    return event


def _known(record: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `record` that `data` holds; what a newer minor version added is skipped."""
    return {field.name: data[field.name] for field in fields(record) if field.name in data}


def _why(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)
