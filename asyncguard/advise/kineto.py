"""Kineto traces (torch.profiler's JSON): the waits for CUDA in them, as a trace of ours.

A Kineto trace holds microseconds from `baseTimeNanoseconds`, on the clock of Unix. Waits are the
calls of CUDA's runtime and driver that synchronise; Python's frames are there where the profile was
taken `with_stack=True`, and operators of torch say which API it was.
"""

from __future__ import annotations

import bisect
import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from asyncguard import files
from asyncguard.model import AsyncguardError, SiteStats, SyncKind, TimelineEvent, TraceRecord
from asyncguard.version import __version__

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
# Operators around a wait, and the kind of sync point that they are.
OPERATORS = {
    "aten::item": SyncKind.SCALAR,
    "aten::_local_scalar_dense": SyncKind.SCALAR,
    "aten::is_nonzero": SyncKind.TRUTH,
    "aten::equal": SyncKind.TRUTH,
    "aten::nonzero": SyncKind.SHAPE,
    "aten::masked_select": SyncKind.SHAPE,
    "aten::_unique2": SyncKind.SHAPE,
    "aten::copy_": SyncKind.ARRAY,
    "aten::to": SyncKind.ARRAY,
}
STEP = "ProfilerStep#"
MOST_EVENTS = 100_000  # of the timeline that is made
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
    steps = sorted({(s.begin, s.end) for s in spans if s.name.startswith(STEP)})
    sites: dict[_Place, _Sum] = defaultdict(_Sum)
    waits: list[tuple[_Place, Span]] = []
    for place, span in _waits(spans):
        sites[place].add(span, steps)
        waits.append((place, span))
    order = sorted(sites, key=lambda place: -sites[place].stall)
    numbers = {place: at for at, place in enumerate(order)}
    events = [
        *(TimelineEvent("step", f"step {at}", b - start, e - start) for at, (b, e) in
          enumerate(steps)),
        *(TimelineEvent("wait", p.api, s.begin - start, s.end - start, s.thread, numbers[p])
          for p, s in waits[-MOST_EVENTS:]),
    ]  # fmt: skip
    steady = steps[1:]
    return TraceRecord(
        basis="measured",
        sites=tuple(_site(place, sites[place], len(steps)) for place in order),
        step_count=len(steps),
        duration_ns=max(span.end for span in spans) - start,
        steady_steps=len(steady),
        steady_duration_ns=sum(end - begin for begin, end in steady),
        step_syncs=tuple(
            sum(begin <= span.begin < end for _, span in waits) for begin, end in steady[-4096:]
        ),
        command=command,
        asyncguard_version=__version__,
        frameworks={"torch": ""},
        notes=("Imported from a Kineto trace: waits are CUDA's own synchronising calls.",),
        extra={"started_ns": start},
        timeline=tuple(sorted(events, key=lambda event: (event.begin_ns, -event.end_ns))),
    )


class _Place(NamedTuple):
    """Where a wait was: the line, what waited there, who called; frames innermost first."""

    path: str
    line: int
    function: str
    api: str
    kind: SyncKind
    thread: str
    callers: tuple[str, ...]
    library: tuple[str, ...]


class _Sum:
    """What the waits at one place add up to."""

    def __init__(self) -> None:
        self.count = self.stall = self.longest = self.steady = self.steady_stall = 0
        self.histogram: dict[int, int] = {}
        self.steps: set[int] = set()

    def add(self, span: Span, steps: list[tuple[int, int]]) -> None:
        """Take in one wait."""
        stall = span.end - span.begin
        self.count += 1
        self.stall += stall
        self.longest = max(self.longest, stall)
        exponent = max(stall.bit_length() - 1, 0)
        self.histogram[exponent] = self.histogram.get(exponent, 0) + 1
        at = bisect.bisect_right(steps, (span.begin, 2**63)) - 1
        if at >= 0 and span.begin < steps[at][1]:
            self.steps.add(at)
            if at:
                self.steady += 1
                self.steady_stall += stall


def _site(place: _Place, total: _Sum, steps: int) -> SiteStats:
    return SiteStats(
        place.path, place.line, place.function, place.api, "torch", place.kind, total.count,
        total.stall, device="cuda", first_step=min(total.steps, default=None),
        last_step=max(total.steps, default=None), steady_count=total.steady,
        steady_stall_ns=total.steady_stall, max_stall_ns=total.longest,
        stall_histogram=total.histogram, callers=place.callers, library=place.library,
        thread=place.thread, steps=len(total.steps),
    )  # fmt: skip


def _waits(spans: Iterable[Span]) -> Iterator[tuple[_Place, Span]]:
    """The waits, with what was under way in their thread; the spans have to be in order."""
    around: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        stack = around[span.process, span.thread]
        while stack and stack[-1].end <= span.begin:
            stack.pop()
        if span.category in CALLS and span.name in WAITS:
            yield _place(span, stack), span
        else:
            stack.append(span)


def _place(span: Span, stack: list[Span]) -> _Place:
    """What waited, and on which line: the nearest one that is not a library's."""
    api, kind = span.name, WAITS[span.name]
    for each in stack:
        if each.category == "cpu_op" and each.name in OPERATORS:
            api, kind = each.name, OPERATORS[each.name]
            break
    frames = [f for s in reversed(stack) if (f := _frame(s)) is not None]
    own = next((at for at, frame in enumerate(frames) if not frame.installed), 0)
    if not frames:
        return _Place(UNKNOWN, 0, "", api, kind, span.thread, (), ())
    path, line, function, _ = frames[own]
    library = tuple(map(str, frames[:own]))
    return _Place(
        path, line, function, api, kind, span.thread, tuple(map(str, frames[own + 1 :])), library
    )


class _Frame(NamedTuple):
    path: str
    line: int
    function: str
    installed: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}"


_PYTHON = re.compile(r"(?P<path>.+)\((?P<line>\d{1,9})\): (?P<function>.+)")
_INSTALLED = re.compile(r"(?:^|/)(?:site-packages|dist-packages|torch)/|^<|/lib/python3")


def _frame(span: Span) -> _Frame | None:
    """A frame of Python's; None for what is none, and for built-in functions."""
    found = _PYTHON.fullmatch(span.name) if span.category == "python_function" else None
    if found is None:
        return None
    path = found["path"]
    return _Frame(path, int(found["line"]), found["function"], bool(_INSTALLED.search(path)))
