"""Traces on disk: plain JSON, versioned, described by `trace.schema.json` beside this file."""

from __future__ import annotations

import json
import os
import reprlib
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from asyncguard.model import (
    AsyncguardError,
    SiteStats,
    SyncKind,
    TimelineEvent,
    TraceRecord,
    to_plain,
)

FORMAT = "asyncguard-trace"
VERSION = 1
SCHEMA_PATH = Path(__file__).with_name("trace.schema.json")

R = TypeVar("R")


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
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the trace: {error.strerror}; "
            "'asyncguard run -o TRACE script.py' writes one"
        ) from error
    except (ValueError, RecursionError) as error:
        raise AsyncguardError(f"{path}: not a trace: {error}; record it again") from error
    try:
        return from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
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
    values["sites"] = tuple(_site(site) for site in data["sites"])
    values["timeline"] = tuple(_event(event, data) for event in data.get("timeline", ()))
    return _made(TraceRecord, values)


def _site(data: Mapping[str, Any]) -> SiteStats:
    values = _known(SiteStats, data)
    values["kind"] = SyncKind(data["kind"])
    histogram = data.get("stall_histogram", {})
    values["stall_histogram"] = {int(exponent): count for exponent, count in histogram.items()}
    return _made(SiteStats, values)


def _event(data: Mapping[str, Any], trace: Mapping[str, Any]) -> TimelineEvent:
    event = _made(TimelineEvent, _known(TimelineEvent, data))
    for name, index, among in (
        ("site", event.site, trace["sites"]),
        ("cause", event.cause, trace["timeline"]),
    ):
        if index is not None and not 0 <= index < len(among):
            raise ValueError(f"{name} of an event is {index}, of {len(among)}")
    return event


def _made(record: type[R], values: Mapping[str, Any]) -> R:
    """The record, if each value is of the type that it declares."""
    hints = _hints(record)  # type: ignore[arg-type]  # classes can be hashed
    checked = {}
    for name, value in values.items():
        value = tuple(value) if isinstance(value, list) else value
        if not _fits(value, hints[name]):
            raise ValueError(f"{name} is {reprlib.repr(value)}")
        checked[name] = value
    return record(**checked)


_hints = lru_cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON's is of a type, as the records write types."""
    parts = get_args(hint)
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in parts)
    kind = get_origin(hint) or hint
    if kind is Any:
        return True
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return False
    if kind is tuple:
        return all(_fits(item, parts[0]) for item in value)
    if parts:  # a mapping
        return all(_fits(k, parts[0]) and _fits(v, parts[1]) for k, v in value.items())
    return True


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
