"""Kineto traces (torch.profiler's JSON): the waits for CUDA in them, as a trace of ours.

A Kineto trace holds microseconds from `baseTimeNanoseconds`, on the clock of Unix. Waits are the
calls of CUDA's runtime and driver that synchronise; Python's frames are there where the profile was
taken `with_stack=True`, and operators of torch say which API it was.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from asyncguard import files
from asyncguard.advise import imported
from asyncguard.advise.imported import (
    OPERATORS,
    Frame,
    Place,
    PlacedWait,
    Profile,
    is_installed,
    line_of,
    operator_of,
)
from asyncguard.model import AsyncguardError, SyncKind, TraceRecord

# Calls that hold the host until the device has done something.
WAITS = {
    "cudaDeviceSynchronize": SyncKind.BARRIER,
    "cudaStreamSynchronize": SyncKind.BARRIER,
    "cudaEventSynchronize": SyncKind.BARRIER,
    "cuCtxSynchronize": SyncKind.BARRIER,
    "cuStreamSynchronize": SyncKind.BARRIER,
    "cuEventSynchronize": SyncKind.BARRIER,
    "hipDeviceSynchronize": SyncKind.BARRIER,
    "hipStreamSynchronize": SyncKind.BARRIER,
    "hipEventSynchronize": SyncKind.BARRIER,
    "cudaMemcpy": SyncKind.ARRAY,
    "cuMemcpyDtoH_v2": SyncKind.ARRAY,
}
CALLS = {"cuda_runtime", "cuda_driver"}
STEP = "ProfilerStep#"
UNKNOWN = "<kineto>"


class Span(NamedTuple):
    """One event with a duration; nanoseconds of Unix's clock."""

    category: str
    name: str
    process: str
    thread: str
    begin: int
    end: int


@dataclass(frozen=True)
class Kineto:
    """A Kineto trace: the plain data, and the time that its events count from."""

    data: Mapping[str, Any]
    base_ns: int

    @property
    def events(self) -> list[Any]:
        """The events as they stand there."""
        found: list[Any] = self.data["traceEvents"]
        return found

    def spans(self) -> Iterator[Span]:
        """The events that last, and are understood; others are skipped."""
        for event in self.events:
            if event.get("ph") == "X" and _is_time(event.get("ts")) and _is_time(event.get("dur")):
                begin = self.base_ns + round(event["ts"] * 1000)
                yield Span(
                    str(event.get("cat", "")), str(event.get("name", "")), str(event.get("pid")),
                    str(event.get("tid")), begin, begin + round(event["dur"] * 1000),
                )  # fmt: skip


def load(path: Path) -> Kineto:
    """Read a Kineto trace, plain or gzipped; raises AsyncguardError naming file and remedy."""
    try:
        text = files.read(path)
        if path.suffix == ".gz":
            text = _unzipped(text)
        data = files.parse_json(text)
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the Kineto trace: {error.strerror or error}; "
            "prof.export_chrome_trace(FILE) writes one"
        ) from error
    except (ValueError, EOFError, zlib.error) as error:
        raise AsyncguardError(f"{path}: not a Kineto trace: {error}; export it again") from error
    events = data.get("traceEvents") if isinstance(data, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise AsyncguardError(
            f"{path}: not a Kineto trace: it lacks a list of 'traceEvents'; export it again"
        )
    base = data.get("baseTimeNanoseconds", 0)
    if not isinstance(base, int) or isinstance(base, bool) or not 0 <= base < 2**62:
        raise AsyncguardError(
            f"{path}: not a Kineto trace: baseTimeNanoseconds is {str(base)[:40]}; export it again"
        )
    return Kineto(data, base)


def _unzipped(text: bytes) -> bytes:
    """Unpack at most as much as a file may hold."""
    unpacker = zlib.decompressobj(wbits=31)
    found = unpacker.decompress(text, files.MOST)
    if unpacker.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {files.MOST:,} bytes")
    if not unpacker.eof:
        raise ValueError("it is cut")
    return found


def _is_time(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value < 2**52  # type: ignore[operator,arg-type]


def record(trace: Kineto, command: str) -> TraceRecord:
    """The waits of a Kineto trace as a trace of ours; steps are those that `prof.step()` marked.

    Raises AsyncguardError where it holds no call of CUDA's: it was taken on the CPU alone.
    """
    spans = sorted(trace.spans(), key=lambda span: (span.begin, -span.end))
    if not any(span.category in CALLS for span in spans):
        raise AsyncguardError(
            f"{command}: holds no CUDA events; profile with activities=[CPU, CUDA] on a GPU"
        )
    start = min(span.begin for span in spans)
    return imported.to_record(
        Profile(
            begin=start,
            end=max(span.end for span in spans),
            steps=sorted({(s.begin, s.end) for s in spans if s.name.startswith(STEP)}),
            waits=list(_waits(spans)),
            framework="torch",
            started_ns=start,
            notes=("Imported from a Kineto trace: waits are CUDA's own synchronising calls.",),
        ),
        command,
    )


def _waits(spans: Iterable[Span]) -> Iterator[PlacedWait]:
    """The waits, with what was under way in their thread; the spans have to be in order."""
    around: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        stack = around[span.process, span.thread]
        while stack and stack[-1].end <= span.begin:
            stack.pop()
        if span.category in CALLS and span.name in WAITS:
            yield PlacedWait(span.begin, span.end, _place(span, stack))
        else:
            stack.append(span)


def _place(span: Span, stack: list[Span]) -> Place:
    """What waited, and on which line: the nearest one that is not a library's."""
    api, kind = span.name, WAITS[span.name]
    operator = operator_of(each.name for each in stack if each.category == "cpu_op")
    if operator is not None:
        api, kind = operator, OPERATORS[operator]
    charged = line_of([f for s in reversed(stack) if (f := _frame(s)) is not None])
    if charged is None:
        return Place(UNKNOWN, 0, "", api, kind, span.thread)
    own, callers, library = charged
    return Place(own.path, own.line, own.function, api, kind, span.thread, callers, library)


_PYTHON = re.compile(r"(?P<path>.+)\((?P<line>\d{1,9})\): (?P<function>.+)")


def _frame(span: Span) -> Frame | None:
    """A frame of Python's; None for what is none, and for built-in functions."""
    found = _PYTHON.fullmatch(span.name) if span.category == "python_function" else None
    if found is None:
        return None
    path = found["path"]
    return Frame(path, int(found["line"]), found["function"], is_installed(path))
