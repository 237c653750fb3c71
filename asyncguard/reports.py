"""Reports of records: the advice and the suggestions that belong to a trace, in any format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asyncguard import catalogue, files, render
from asyncguard.advise import hints, kineto, libraries, nsys, ranks, suggest
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.render import Screen, TraceReport
from asyncguard.render.merged import merged
from asyncguard.runtime import store


def of(record: TraceRecord, title: str = "") -> TraceReport:
    """Return one traced run with what to do about it."""
    points = list(catalogue.load())
    return TraceReport(
        record,
        suggest(record),
        {point.id: point.advice for point in points},
        {point.id: point.url for point in points},
        title,
        hints(record),
        libraries.advice(record),
    )


def of_record(record: TraceRecord, name: str, screen: Screen) -> str:
    """Return a report of one traced run in format `name`."""
    return render.find(name, "traces")(of(record), screen)


def of_files(paths: Sequence[Path], name: str, screen: Screen, limit: int | None = None) -> str:
    """Return a report in format `name` of the traces in files, and of those below folders.

    The ranks of one run, the traces of a folder and many traces are put beside each other; else
    each has a report of its own. `limit` is how many sites are shown. Raises AsyncguardError for
    what cannot be read, and where the format cannot show them.
    """
    every = [
        file
        for path in paths
        for file in (store.traces_below(path) if os.path.isdir(path) else [path])
    ]
    if len(every) > 1:
        gathering = ranks.Gathering()
        for path in every:
            gathering.add(str(path), store.load_figures(path))
        if gathering.is_ranked or len(every) > ranks.MANY or any(map(Path.is_dir, paths)):
            report = gathering.report(lambda name: store.load(Path(name)))
            return render.find(name, "ranks")(replace(report, limit=limit), screen)
    show = render.find(name, "traces")
    return "\n".join(_one(show, path, len(every) > 1, screen, limit) for path in every)


def with_kineto(paths: Sequence[Path], other: Path) -> str:
    """Return a trace and a Kineto trace as one file for Perfetto. Raises AsyncguardError."""
    if len(paths) != 1:
        raise AsyncguardError("--with-kineto takes one trace: that of the process it profiled")
    record, profile = store.load(paths[0]), kineto.load(other)
    try:
        return merged(record, profile)
    except AsyncguardError as error:
        raise AsyncguardError(f"{paths[0]}: {error}") from error


def import_kineto(path: Path, output: Path) -> TraceRecord:
    """Save the waits of a Kineto trace as a trace of ours, and return it. Raises AsyncguardError.

    What stands at `output` is replaced only by a whole trace, and never if it is the source.
    """
    _require_replaceable(output, path)
    try:
        record = kineto.record(kineto.load(path), str(path))
    except RecursionError as error:
        raise AsyncguardError(f"{path}: not a Kineto trace: it is nested too deeply") from error
    store.save(record, output)
    return record


def import_nsys(
    path: Path, output: Path, process: int | None = None, steps: str | None = None
) -> TraceRecord:
    """Save the waits of an exported report of Nsight Systems as a trace of ours, and return it.

    process: the number of the process; None: of the one that waited longest.
    steps:   name of the NVTX ranges that begin a step (`*` for anything); None: those named so.

    Raises AsyncguardError; `output` is treated as by `import_kineto`.
    """
    _require_replaceable(output, path)
    record = nsys.record(path, process, steps)
    store.save(record, output)
    return record


def _require_replaceable(output: Path, source: Path) -> None:
    try:
        files.require_replaceable(output, [source])
    except OSError as error:
        reason = error.strerror or error
        raise AsyncguardError(
            f"{output}: cannot write the trace: {reason}; name another file with -o"
        ) from error


def _one(show: render.Format, path: Path, titled: bool, screen: Screen, limit: int | None) -> str:
    report = replace(of(store.load(path), str(path) if titled else ""), limit=limit)
    try:
        return show(report, screen)
    except AsyncguardError as error:
        raise AsyncguardError(f"{path}: {error}") from error
