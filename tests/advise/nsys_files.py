"""Exports of Nsight Systems made to the published schema, for tests: three of its versions.

Names, types and enumerations are those of NVIDIA's "SQLite schema reference" (User Guide 2021.5,
2023 and 2025): columns came and went, and so these differ where the exporters do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PID = 4242
MAIN = (PID << 24) + PID  # Linux's main thread has the number of its process
OTHER = (PID << 24) + 77
EPOCH = 1_700_000_000_000_000_000
MS, US = 1_000_000, 1_000
HTOD, DTOH, DTOD = 1, 2, 8
PAGEABLE, PINNED, DEVICE = 0, 1, 2
EVENT, STREAM_WAITS, STREAM, CONTEXT = 1, 2, 3, 4
PUSHED, STARTED = 59, 60

_CALLS = "start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT, "
_CALLS += "correlationId INT, nameId INT NOT NULL, returnValue INT NOT NULL"
_RAN = "start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, "
_RAN += "streamId INT NOT NULL, correlationId INT"
_PID = ", globalPid INT"
_ENUM = "id INT PRIMARY KEY NOT NULL, name TEXT, label TEXT"
_RANGES = "start INT NOT NULL, end INT, eventType INT NOT NULL, rangeId INT, category INT, "
_RANGES += "color INT, text TEXT, globalTid INT, endGlobalTid INT, textId INT, domainId INT"
_COPY = ", bytes INT NOT NULL, copyKind INT NOT NULL"
_KINDS = ", srcKind INT, dstKind INT"
BASE = {
    "StringIds": "id INTEGER PRIMARY KEY NOT NULL, value TEXT NOT NULL",
    "ThreadNames": "nameId INT NOT NULL, priority INT, globalTid INT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_CALLS}, callchainId INT",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_RAN}{_PID}, demangledName INT NOT NULL, shortName INT",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_RAN}{_PID}{_COPY}{_KINDS}",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_RAN}{_PID}, value INT NOT NULL, bytes INT NOT NULL",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_RAN}{_PID}, syncType INT NOT NULL, eventId INT",
    "CUDA_CALLCHAINS": "id INT NOT NULL, symbol INT, module INT, kernelMode INT, thumbCode INT, "
    "unresolved INT, specifierId INT, originalIP INT, unresolvedIP INT, stackDepth INT NOT NULL",
    "NVTX_EVENTS": _RANGES,
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INT, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "id INT, name TEXT, busLocation TEXT",
}
NEWER = {
    "ENUM_NSYS_EVENT_TYPE": _ENUM,
    "ENUM_CUDA_MEMCPY_OPER": _ENUM,
    "ENUM_CUDA_MEM_KIND": _ENUM,
    "ENUM_CUPTI_SYNC_TYPE": _ENUM,
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
}
NEWEST = {
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_RAN}{_PID}, graphId INT, graphExecId INT",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{BASE['CUPTI_ACTIVITY_KIND_MEMCPY']}, copyCount INT",
}
# 2021 names no processes of what the device did, and no kinds of memory; it has no enumerations.
SCHEMAS = {
    "2021": BASE | {
        "CUPTI_ACTIVITY_KIND_KERNEL": f"{_RAN}, demangledName INT NOT NULL, shortName INT",
        "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_RAN}{_COPY}{_KINDS}",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_RAN}, syncType INT NOT NULL, eventId INT",
    },
    "2023": BASE | NEWER,
    "2025": BASE | NEWER | NEWEST,
}  # fmt: skip
ENUMS = {
    "ENUM_NSYS_EVENT_TYPE": {"NvtxPushPopRange": PUSHED, "NvtxStartEndRange": STARTED},
    "ENUM_CUDA_MEMCPY_OPER": {"CUDA_MEMCPY_KIND_HTOD": HTOD, "CUDA_MEMCPY_KIND_DTOH": DTOH},
    "ENUM_CUDA_MEM_KIND": {
        "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE": PAGEABLE, "CUDA_MEMOPR_MEMORY_KIND_PINNED": PINNED,
    },
    "ENUM_CUPTI_SYNC_TYPE": {
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE": EVENT,
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT": STREAM_WAITS,
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE": STREAM,
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE": CONTEXT,
    },
}  # fmt: skip


@dataclass
class Report:
    """What a report holds, by table; times in ns of its clock."""

    schema: Mapping[str, str] = field(default_factory=lambda: SCHEMAS["2025"])
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    last: int = 0  # the number of the last call
    process: int = PID

    def add(self, table: str, **values: Any) -> None:
        """Add a row; columns that this version lacks are left out."""
        self.rows.setdefault(table, []).append(values)

    def text(self, value: str) -> int:
        """The number of a string."""
        return self.strings.setdefault(value, len(self.strings) + 1)

    def call(
        self, name: str, begin: int, end: int, thread: int = MAIN, chain: int | None = None,
        number: int | None = None,
    ) -> int:  # fmt: skip
        """The host called CUDA; returns the call's number."""
        if number is None:
            self.last = number = self.last + 1
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME", start=begin, end=end, eventClass=0, globalTid=thread,
            correlationId=number, nameId=self.text(name), returnValue=0, callchainId=chain,
        )  # fmt: skip
        return number

    def ran(self, kind: str, begin: int, end: int, call: int | None, **more: Any) -> None:
        """The device, or CUPTI's own record of a wait."""
        row = {
            "start": begin, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7,
            "correlationId": call, "globalPid": self.process << 24,
        }  # fmt: skip
        self.add(f"CUPTI_ACTIVITY_KIND_{kind}", **row | more)

    def kernel(
        self, begin: int, end: int, call: int | None, name: str = "gemm", **more: Any
    ) -> None:
        """The device ran a kernel."""
        text = self.text(name)
        self.ran("KERNEL", begin, end, call, demangledName=text, shortName=text, **more)

    def copy(
        self, begin: int, end: int, call: int | None, kind: int = DTOH, host: int = PAGEABLE,
        nbytes: int = 4, **more: Any,
    ) -> None:  # fmt: skip
        """The device copied."""
        memory = (host, DEVICE) if kind == HTOD else (DEVICE, host)
        row = {"bytes": nbytes, "copyKind": kind, "srcKind": memory[0], "dstKind": memory[1]}
        self.ran("MEMCPY", begin, end, call, **row | more)

    def sync(self, begin: int, end: int, call: int | None, kind: int = STREAM, **more: Any) -> None:
        """CUPTI recorded a wait."""
        self.ran("SYNCHRONIZATION", begin, end, call, syncType=kind, eventId=0, **more)

    def range(
        self, name: str, begin: int, end: int | None, thread: int = MAIN, registered: bool = False,
        kind: int = PUSHED,
    ) -> None:  # fmt: skip
        """An NVTX range."""
        named = {"textId": self.text(name)} if registered else {"text": name}
        self.add("NVTX_EVENTS", start=begin, end=end, eventType=kind, globalTid=thread, **named)

    def chain(self, number: int, *frames: tuple[str, str]) -> int:
        """A call stack: symbol and module of each frame, the innermost first."""
        for depth, (symbol, module) in enumerate(frames):
            self.add(
                "CUDA_CALLCHAINS", id=number, symbol=self.text(symbol), module=self.text(module),
                stackDepth=depth,
            )  # fmt: skip
        return number

    def save(self, path: Path, tables: Iterable[str] | None = None) -> Path:
        """Write it as the exporter does: tables that would be empty are not there."""
        rows = dict(self.rows)
        rows["StringIds"] = [{"id": at, "value": text} for text, at in self.strings.items()]
        for table, members in ENUMS.items():
            rows[table] = [{"id": at, "name": name} for name, at in members.items()]
        with closing(sqlite3.connect(path)) as connection:
            for table, columns in self.schema.items():
                if rows.get(table) and (tables is None or table in tables):
                    connection.execute(f"CREATE TABLE {table} ({columns})")
                    known = {part.split()[0] for part in columns.split(", ")}
                    for row in rows[table]:
                        kept = {name: value for name, value in row.items() if name in known}
                        blank = {n: 0 for n in known - kept.keys() if _is_needed(columns, n)}
                        _insert(connection, table, blank | kept)
            connection.commit()
        return path


def _is_needed(columns: str, name: str) -> bool:
    part = next(part for part in columns.split(", ") if part.split()[0] == name)
    return "NOT NULL" in part


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def training(schema: str = "2025", steps: int = 4) -> Report:
    """A loop that reads its loss in every step (1 ms each), and waits for an event now and then.

    In each step: 10 us launches a kernel of 200 us; the read (a copy into pageable memory, and
    torch's wait for the stream after it) lasts from 20 to 230 us, the device copies from 220 to
    228; another kernel starts at 500 us: the device is idle from 228 to 500 us.
    """
    report = Report(SCHEMAS[schema])
    report.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=EPOCH, utcTime="", localTime="")
    report.add("TARGET_INFO_GPU", id=0, name="NVIDIA H200", busLocation="")
    report.add("ThreadNames", nameId=report.text("python"), priority=0, globalTid=MAIN)
    report.range("main", 0, (steps + 1) * MS)
    for at in range(steps):
        t = at * MS
        report.range(f"step {at}", t, t + 900 * US)
        report.range("forward", t + 5 * US, t + 15 * US)
        report.kernel(
            t + 20 * US,
            t + 220 * US,
            report.call("cudaLaunchKernel_v7000", t + 10 * US, t + 12 * US),
        )
        report.range("log", t + 18 * US, t + 240 * US, registered=True)
        call = report.call("cudaMemcpyAsync_v3020", t + 20 * US, t + 229 * US)
        report.copy(t + 220 * US, t + 228 * US, call)
        call = report.call("cudaStreamSynchronize_v3020", t + 229 * US, t + 230 * US)
        report.sync(t + 229 * US, t + 230 * US, call)
        report.kernel(
            t + 500 * US,
            t + 600 * US,
            report.call("cudaLaunchKernel_v7000", t + 490 * US, t + 492 * US),
        )
    return report
