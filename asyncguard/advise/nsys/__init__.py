"""Exported reports of Nsight Systems: the waits for CUDA in them, as a trace of ours.

A trace is of one process: that which is asked for, or which waited longest. A wait's line is that
of Python's call stack, where the export holds one, or of a range that `trace(ranges="nvtx")` put
round it; else the innermost NVTX range around the call stands for the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from asyncguard.advise.imported import Profile, to_record
from asyncguard.advise.nsys import calls, ranges
from asyncguard.advise.nsys.calls import Blocked, Call
from asyncguard.advise.nsys.device import measure
from asyncguard.advise.nsys.export import (
    API,
    LATEST,
    MOST_ROWS,
    PID,
    Export,
    Process,
    is_time,
    opened,
)
from asyncguard.advise.nsys.places import placed
from asyncguard.model import AsyncguardError, TraceRecord

NEEDED = ("start", "end", "globalTid", "nameId")
PROCESSES_SHOWN = 8


def record(path: Path, process: int | None = None, steps: str | None = None) -> TraceRecord:
    """The waits of a process in an export; None: of the one that waited longest.

    steps: the NVTX ranges that begin a step, by name (`*` for anything); None: see `ranges`.

    Raises AsyncguardError naming the file and the remedy for what is no export, for one without
    calls of CUDA, and for a process or steps that are not in it.
    """
    with opened(path) as export:
        if API not in export.tables:
            raise AsyncguardError(
                f"holds no CUDA calls (no table {API}); profile with nsys profile "
                "--trace=cuda,nvtx, and export again"
            )
        export.require(API, NEEDED)
        return to_record(_profile(export, process, steps), str(path))


def _profile(export: Export, wanted: int | None, steps: str | None) -> Profile:
    names = calls.names_of(export)
    processes = _processes(export, names)
    process = _chosen(processes, wanted)
    blocked, span = _blocked(export, process, names)
    found = ranges.read(export, process)
    waits = sorted(placed(export, blocked, found))
    idle = measure(export, process, waits)
    spans = [span, *((w.begin, w.end) for w in waits), *map(_extent, found)]
    spans += [(idle.first, idle.last)] if idle.first is not None else []
    begin, end = min(begun for begun, _ in spans), max(over for _, over in spans)
    marked = ranges.steps(found, steps, end)
    notes = (
        "Imported from Nsight Systems: waits are calls of CUDA that held the host.",
        _about_processes(processes, process),
        _about_steps(marked),
        "" if idle.runs else _NO_DEVICE,
        idle.note,
        _about_gaps(export),
    )
    return Profile(
        begin=begin,
        end=end,
        steps=marked.spans,
        waits=waits,
        framework="torch" if any(each.name.startswith("aten::") for each in found) else "cuda",
        idle_ns=idle.by_place if idle.runs else None,
        events=idle.events,
        notes=tuple(filter(None, notes)),
        started_ns=_started(export, begin),
        device=_devices(export),
    )


_NO_DEVICE = (
    "GPU stalls were not measured: the export says nothing of kernels and copies of this process."
)


def _extent(each: ranges.Range) -> tuple[int, int]:
    return each.begin, each.begin if each.end == LATEST else each.end


def _processes(export: Export, names: Mapping[int, str]) -> dict[int, int]:
    """The processes that called CUDA, and how long each was in calls that may wait (ns)."""
    sql = (
        f'SELECT ("globalTid" >> 24) & {PID} AS process, total(CASE WHEN "nameId" IN '
        f'({", ".join(map(str, calls.waiting(names)))}) THEN max("end" - "start", 0) ELSE 0 END) '
        f"FROM {API} WHERE typeof(\"globalTid\") = 'integer' GROUP BY process"
    )
    found = {number: round(stall) for number, stall in export.kept(API, sql)}
    if not found:
        raise AsyncguardError(
            "holds no CUDA calls; profile a program that uses the GPU with nsys profile "
            "--trace=cuda,nvtx, and export again"
        )
    return found


def _chosen(processes: Mapping[int, int], wanted: int | None) -> Process:
    if wanted is not None and wanted not in processes:
        raise AsyncguardError(
            f"process {wanted} called no CUDA; those that did are {_listed(processes)}"
        )
    number = max(processes, key=lambda at: (processes[at], -at)) if wanted is None else wanted
    return Process(number, alone=len(processes) == 1)


def _listed(processes: Iterable[int]) -> str:
    every = sorted(processes)
    more = f" and {len(every) - PROCESSES_SHOWN} more" if len(every) > PROCESSES_SHOWN else ""
    return ", ".join(map(str, every[:PROCESSES_SHOWN])) + more


def _about_processes(processes: Mapping[int, int], process: Process) -> str:
    if process.alone:
        return ""
    others = _listed(number for number in processes if number != process.number)
    return f"Of process {process.number} alone; --process imports one of the others: {others}."


def _about_steps(found: ranges.Steps) -> str:
    if found.spans:
        return (
            f"A step lasts from one NVTX range {found.name!r} to the next (--steps names another)."
        )
    return (
        "No steps: no NVTX range that is named like one (step, iteration, batch) repeats; --steps"
        " NAME takes the ranges of that name."
    )


def _about_gaps(export: Export) -> str:
    texts = []
    if export.lacking:
        texts.append(f"The export lacks {', '.join(export.lacking)}; less can be told without.")
    if export.skipped:
        texts.append(f"Skipped rows that make no sense: {export.skipped:,}.")
    return " ".join(texts)


def _blocked(
    export: Export, process: Process, names: Mapping[int, str]
) -> tuple[list[Blocked], tuple[int, int]]:
    """The waits of a process, and from when to when it called CUDA."""
    span = [LATEST, 0]

    def noted() -> Iterator[Call]:
        for call in calls.calls(export, process, names):
            span[:] = min(span[0], call.begin), max(span[1], call.end)
            yield call

    found: list[Blocked] = []
    for each in calls.waits(noted(), calls.records(export, process)):
        if len(found) == MOST_ROWS:
            raise AsyncguardError(
                f"holds more than {MOST_ROWS:,} waits of one process; profile a shorter range "
                "(nsys profile --duration, --capture-range)"
            )
        found.append(each)
    return found, (span[0], span[1]) if span[0] <= span[1] else (0, 0)


def _started(export: Export, begin: int) -> int | None:
    """The Unix time (ns) of a moment of the export's clock; None where it does not say."""
    table, column = "TARGET_INFO_SESSION_START_TIME", "utcEpochNs"
    if column not in export.columns(table):
        return None
    for (epoch,) in export.rows(f"SELECT {column} FROM {table} LIMIT 1"):
        if is_time(epoch) and epoch + begin < LATEST:
            return int(epoch) + begin
    return None


def _devices(export: Export) -> str:
    """The models of the machine's GPUs, each once."""
    if "name" not in export.columns("TARGET_INFO_GPU"):
        return ""
    rows = export.rows("SELECT DISTINCT name FROM TARGET_INFO_GPU LIMIT 8")
    return ", ".join(sorted(name for (name,) in rows if isinstance(name, str) and name))
