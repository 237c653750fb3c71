"""Reports of records: the advice and the suggestions that belong to a trace, in any format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from asyncguard import catalogue, files, render
from asyncguard.advise import hints, kineto, libraries, nsys, outcome, ranks, repairs, suggest
from asyncguard.advise.processes import process_of
from asyncguard.gate.difference import Difference, Expectation, difference
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.render import Screen, TraceReport
from asyncguard.render.merged import merged
from asyncguard.runtime import family, store


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
    """Return a report of one traced run in format `name`, without repairs: no file is read."""
    return render.find(name, "traces")(of(record), screen)


def of_files(paths: Sequence[Path], name: str, screen: Screen, limit: int | None = None) -> str:
    """Return a report in format `name` of the traces in files, and of those below folders.

    The ranks of one run, the traces of a folder, many traces, and several where a report is a whole
    document are put beside each other; else each has a report of its own. `limit` is how many sites
    are shown. Formats that show repairs have those of files below the working directory that read
    as in the run. Raises AsyncguardError for what cannot be read, and where the format cannot show
    it.
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
        whole, many = render.has(name, "WHOLE"), len(every) > ranks.MANY
        joined = gathering.is_ranked or gathering.is_family
        if joined or many or whole or any(map(Path.is_dir, paths)):
            return _beside(gathering, name, screen, limit)
    show = render.find(name, "traces")
    titled = len(every) > 1
    return "\n".join(_one(show, path, name, titled, screen, limit) for path in every)


def _beside(gathering: ranks.Gathering, name: str, screen: Screen, limit: int | None) -> str:
    """Traces beside each other, and what to do first in the one that waited longest."""
    if name in render.formats("traces") and name not in render.formats("ranks"):
        raise AsyncguardError(f"{name} shows one trace, not several beside each other; name one")
    report = replace(gathering.report(lambda path: store.load(Path(path))), limit=limit)
    if _patches(name):
        longest = of(store.load(Path(report.files[report.longest])))
        report = replace(report, advised=_patched(longest, True))
    return render.find(name, "ranks")(report, screen)


def _patches(name: str) -> bool:
    return render.has(name, "PATCHES")


def _patched(report: TraceReport, wanted: bool) -> TraceReport:
    if not wanted:
        return report
    found = repairs.patches(Path.cwd(), report.record, report.suggestions)
    troubles = tuple(f"No repair is shown for a file. {text}" for text in found.troubles)
    return replace(report, patches=found.found, hints=(*report.hints, *troubles))


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


def _processes(path: Path) -> ranks.RankReport | None:
    """Return the process that a trace is of, and those that it has started; None if there are none.

    Traces of other runs, and what is none, are left out; one that cannot be read is told.
    """
    first = store.load_figures(path)
    process = process_of(first.extra)
    if process is None or process.how:
        return None
    gathering, troubles = ranks.Gathering(), []
    gathering.add(str(path), first)
    for other in family.siblings(path):
        try:
            record = store.load_figures(other)
        except AsyncguardError as error:
            troubles.append(str(error))
            continue
        if record.extra.get("family") == first.extra["family"]:
            gathering.add(str(other), record)
    if not (gathering.is_family or troubles):
        return None
    report = gathering.report(lambda name: store.load(Path(name)))
    return replace(report, troubles=(*report.troubles, *troubles))


def diff(
    before: TraceRecord,
    after: TraceRecord,
    names: tuple[str, str] = ("the trace before", "the trace after"),
) -> Difference:
    """Put two traces side by side, with the step time that replay of the first one predicts.

    Raises AsyncguardError, with their `names`, where one was measured and the other was not.
    """
    found = difference(before, after, names)
    moves = [
        outcome.Moved(change.numbers, change.site.function, change.before.waits, change.after.waits)
        for change in found.sites
        if change.unit == found.unit
    ]
    expected = outcome.expected(before, moves) if found.unit == "step" else None
    if expected is None:
        return found
    return replace(found, expected=Expectation(expected.step_ns, expected.low_ns, expected.high_ns))


def _require_replaceable(output: Path, source: Path) -> None:
    try:
        files.require_replaceable(output, [source])
    except OSError as error:
        reason = error.strerror or error
        raise AsyncguardError(
            f"{output}: cannot write the trace: {reason}; name another file with -o"
        ) from error


def _one(
    show: render.Format, path: Path, name: str, titled: bool, screen: Screen, limit: int | None
) -> str:
    report = replace(
        of(store.load(path), str(path) if titled else ""), limit=limit, processes=_processes(path)
    )
    try:
        return show(_patched(report, _patches(name)), screen)
    except AsyncguardError as error:
        raise AsyncguardError(f"{path}: {error}") from error
