"""Traces on disk: plain JSON, versioned, described by `trace.schema.json` beside this file."""

from __future__ import annotations

import json
import os
import reprlib
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from asyncguard import files
from asyncguard.model import (
    AsyncguardError,
    SiteStats,
    SyncKind,
    TimelineEvent,
    TraceRecord,
    to_plain,
)
from asyncguard.plain import made

FORMAT = "asyncguard-trace"
VERSION = 1
SCHEMA_PATH = Path(__file__).with_name("trace.schema.json")


def save(record: TraceRecord, path: Path) -> None:
    """Write a trace in one piece: a reader finds the old file or the new one, never half of it."""
    text = json.dumps(to_json(record), indent=1) + "\n"
    try:
        _replace(Path(os.path.abspath(path)), text)
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
    data = to_plain(record)
    for site in data["sites"]:
        for name in [name for name, value in site.items() if value is None]:
            del site[name]
    return {"format": FORMAT, "version": VERSION, **data}


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
    values["sites"] = tuple(_site(site) for site in _objects(data, "sites"))
    values["timeline"] = tuple(_event(event, data) for event in _objects(data, "timeline"))
    _require_natural(values, "step_count", "duration_ns", "steady_steps", "steady_duration_ns")
    return made(TraceRecord, values)


def _objects(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; an empty one where an optional list is missing."""
    found = data.get(name, []) if name != "sites" else data[name]
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise ValueError(f"{name} is {reprlib.repr(found)}")
    return found


_NATURAL = "line", "count", "cpu_stall_ns", "gpu_stall_ns", "steady_count", "steady_stall_ns"


def _require_natural(values: Mapping[str, Any], *names: str) -> None:
    for name in names:
        value = values.get(name)
        if isinstance(value, int) and value < 0:
            raise ValueError(f"{name} is {value}")


def _site(data: Mapping[str, Any]) -> SiteStats:
    values = _known(SiteStats, data)
    values["kind"] = SyncKind(data["kind"])
    histogram = data.get("stall_histogram", {})
    if not isinstance(histogram, Mapping):
        raise ValueError(f"stall_histogram is {reprlib.repr(histogram)}")
    values["stall_histogram"] = {int(exponent): count for exponent, count in histogram.items()}
    _require_natural(values, *_NATURAL)
    return made(SiteStats, values)


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


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
