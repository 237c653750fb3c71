"""Traces on disk: JSON in the format of `trace_format`, written and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from asyncguard import files
from asyncguard.model import (
    AsyncguardError,
    CallPath,
    SiteStats,
    TimelineEvent,
    TraceRecord,
    to_plain,
)
from asyncguard.runtime.calltree import CallTree, Paths
from asyncguard.runtime.trace_format import (
    FORMAT,
    VERSION,
    Extra,
    Figures,
    StoredEvent,
    StoredPath,
    StoredSite,
    StoredTrace,
)

_dumps = json.dumps  # as it is before a traced program changes it
_START = f'{{"format": "{FORMAT}"'
_OWN = "sites", "timeline"  # a line for each


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
    data = _read(path)
    try:
        return _record(_decoded(data, _TRACES))
    except (ValueError, RecursionError) as error:
        raise _refused(path, error) from error


def load_figures(path: Path) -> TraceRecord:
    """Read a trace fast, without timeline, sources and callers; a fleet has thousands of them.

    Its sites are structs with the fields of `SiteStats` but callers, paths and histogram; `library`
    has the innermost frame alone. Raises as `load` does.
    """
    data = _read(path)
    try:
        stored = _decoded(data, _FIGURES)
        paths = Paths(stored.frames, ())
        sites = tuple(_site_alone(site, paths) for site in stored.sites)
        return _whole(stored, sites=sites, timeline=(), sources={})
    except (ValueError, RecursionError) as error:
        raise _refused(path, error) from error


def traces_in(folder: Path) -> list[Path]:
    """Return the traces in a folder, not those in the folders in it, by name."""
    return sorted(path for path in folder.glob("*.json") if _is_trace(path))


def traces_below(folder: Path) -> list[Path]:
    """Return the traces in a folder and the folders in it, by name; other files are left out."""
    try:
        found = sorted(path for path in folder.rglob("*.json") if _is_trace(path))
    except OSError as error:
        raise AsyncguardError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if not found:
        raise AsyncguardError(f"{folder}: holds no traces; 'asyncguard run -o TRACE' writes one")
    return found


def to_json(record: TraceRecord) -> dict[str, Any]:
    """Return the record as JSON-ready data."""
    data: dict[str, Any] = json.loads("".join(_parts(record)))
    return data


def from_json(data: Any) -> TraceRecord:
    """Rebuild a record from `to_json`'s result. Raises ValueError."""
    return _record(msgspec.convert(data, StoredTrace, str_keys=True))


_TRACES, _FIGURES = msgspec.json.Decoder(StoredTrace), msgspec.json.Decoder(Figures)


def _read(path: Path) -> bytes:
    try:
        return files.read(path)
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the trace: {error.strerror or error}; "
            "'asyncguard run -o TRACE script.py' writes one"
        ) from error


def _decoded(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Names of files may hold bytes that are no text: lone surrogates, which msgspec refuses.
        return msgspec.convert(files.parse_json(data), decoder.type, str_keys=True)


def _refused(path: Path, error: Exception) -> AsyncguardError:
    newer = str(error).endswith(f"<= {VERSION} - at `$.version`")
    remedy = (
        "a newer asyncguard wrote it: upgrade, or record it again" if newer else "record it again"
    )
    return AsyncguardError(f"{path}: not a trace that this version reads: {error}; {remedy}")


def _is_trace(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_START)) == _START.encode()


def _parts(record: TraceRecord) -> Iterator[str]:
    """Yield the text of a trace, a line for each site: it may not fit into memory at once."""
    tree = CallTree()
    yield f'{_START}, "version": {VERSION}'
    for field in fields(TraceRecord):
        if field.name not in _OWN:
            yield f',\n"{field.name}": {_dumps(to_plain(getattr(record, field.name)))}'
    yield from _listed("sites", (_site(site, tree) for site in record.sites))
    yield from _listed("timeline", (_event(event) for event in record.timeline))
    yield f',\n"frames": {_dumps(tree.frames, indent=0)}'
    yield f',\n"tree": {_dumps(tree.nodes)}}}\n'


def _listed(name: str, stored: Iterator[msgspec.Struct]) -> Iterator[str]:
    comma = ""
    yield f',\n"{name}": ['
    for each in stored:
        # Not msgspec's encoder, which refuses lone surrogates.
        yield f"{comma}\n{_dumps(msgspec.to_builtins(each, str_keys=True))}"
        comma = ","
    yield "]"


def _values(record: SiteStats | CallPath | TimelineEvent) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _FIELDS[type(record)]}


def _site(site: SiteStats, tree: CallTree) -> Any:
    paths = tuple(StoredPath(**_values(path) | _nodes(path, tree)) for path in site.paths)
    return StoredSite(**_values(site) | _nodes(site, tree) | {"paths": paths})


def _nodes(path: SiteStats | CallPath, tree: CallTree) -> dict[str, Any]:
    library = tuple(tree.frame(entry) for entry in path.library)
    return {"callers": tree.node(path.callers), "library": library}


def _event(event: TimelineEvent) -> Any:
    return StoredEvent(**_values(event))


def _record(stored: Any) -> TraceRecord:
    """Rebuild a record. Raises ValueError for numbers that name nothing."""
    paths = Paths(stored.frames, stored.tree)
    return _whole(
        stored,
        sites=tuple(_loaded_site(site, paths) for site in stored.sites),
        timeline=tuple(_loaded_event(event, stored) for event in stored.timeline),
    )


def _whole(stored: Any, **own: Any) -> TraceRecord:
    msgspec.convert(stored.extra, Extra)
    record: TraceRecord = _loaded(TraceRecord, stored, own)
    return record


def _loaded_site(stored: Any, paths: Paths) -> SiteStats:
    own = f"{stored.path}:{stored.line} {stored.function}"
    ways = {"paths": tuple(_loaded(CallPath, path, paths.of(path)) for path in stored.paths)}
    site: SiteStats = _loaded(SiteStats, stored, paths.of(stored, own) | ways)
    return site


def _site_alone(stored: Any, paths: Paths) -> SiteStats:
    library = tuple(map(paths.frame, stored.library[:1]))
    alone: SiteStats = msgspec.structs.replace(stored, library=library) if library else stored
    return alone


def _loaded_event(stored: Any, trace: Any) -> TimelineEvent:
    for name, index, among in (
        ("site", stored.site, trace.sites),
        ("cause", stored.cause, trace.timeline),
    ):
        if index is not None and index >= len(among):
            raise ValueError(f"{name} of an event is {index}, of {len(among)}")
    event: TimelineEvent = _loaded(TimelineEvent, stored, {})
    return event


def _loaded(record: type[Any], stored: Any, own: dict[str, Any]) -> Any:
    names = (name for name in _FIELDS[record] if name not in own)
    return record(**{name: getattr(stored, name) for name in names}, **own)


_FIELDS = {
    record: tuple(field.name for field in fields(record))
    for record in (TraceRecord, SiteStats, CallPath, TimelineEvent)
}
