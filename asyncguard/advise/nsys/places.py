"""Where the waits of an exported report were: call stacks, NVTX ranges and threads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from asyncguard.advise.imported import (
    OPERATORS,
    Frame,
    Place,
    PlacedWait,
    is_installed,
    line_of,
    operator_of,
)
from asyncguard.advise.nsys import ranges
from asyncguard.advise.nsys.calls import Blocked
from asyncguard.advise.nsys.export import PID, Export
from asyncguard.advise.nsys.ranges import Around, Range

UNKNOWN = "<nsys>"  # the path of a wait of which no line is known
CHAINS = "CUDA_CALLCHAINS"
MOST_PLACES = 100_000  # that are remembered
MOST_FRAMES = 64  # of one call stack
MOST_CALLERS = 16  # native frames, or ranges as callers, of one wait
_OURS = re.compile(r"asyncguard: wait at (?P<path>.+):(?P<line>\d{1,9})")
_PYTHON = re.compile(r"(?P<path>[^\s\[\]()]+\.py)(?:[:(](?P<line>\d{1,9})\)?)?")


class _Stack(NamedTuple):
    """A call stack: Python's frames and, further in, those of native code; innermost first."""

    python: tuple[Frame, ...]
    native: tuple[str, ...]


def placed(
    export: Export, waits: Sequence[Blocked], around: Sequence[Range]
) -> Iterator[PlacedWait]:
    """The waits with the place of each; they have to be in order within each thread."""
    stacks = _stacks(export, {w.call.chain for w in waits if w.call.chain is not None})
    threads = _threads(export, {w.call.thread for w in waits if w.call.thread is not None})
    pushed = ranges.by_thread(around)
    of_threads: dict[int | None, Around] = {}
    places: dict[tuple[object, ...], Place] = {}
    for wait in waits:
        call = wait.call
        thread = call.thread
        if thread not in of_threads:
            of_threads[thread] = Around(pushed.get(thread, ()) if thread is not None else ())
        names = tuple(each.name for each in of_threads[thread].call(call.begin, call.end))
        key = (names, thread, call.api, call.chain, wait.kind, wait.device)
        place = places.get(key)
        if place is None:
            name = threads[thread] if thread is not None else ""
            stack = stacks.get(call.chain) if call.chain is not None else None
            place = _place(wait, names, name, stack)
            if len(places) < MOST_PLACES:
                places[key] = place
        yield PlacedWait(call.begin, call.end, place)


def _place(wait: Blocked, names: tuple[str, ...], thread: str, stack: _Stack | None) -> Place:
    """Where a call waited; `names` are those of the ranges around it, the innermost first."""
    plain = [ranges.plain(name) for name in names]
    operator = operator_of(reversed(plain))
    api, kind = wait.call.api, wait.kind
    if operator is not None:
        api, kind = operator, OPERATORS[operator]
    device = "cuda" if wait.device is None else f"cuda:{wait.device}"
    ours = next(filter(None, map(_OURS.fullmatch, names)), None)
    others = [
        ranges.site_name(name)
        for name in names
        if name and not name.startswith("aten::") and not _OURS.fullmatch(name)
    ]
    native = stack.native if stack is not None else ()
    charged = line_of(stack.python) if stack is not None else None
    if charged is not None:
        own, callers, library = charged
        return Place(own.path, own.line, own.function, api, kind, thread, callers,
                     (*native, *library), device)  # fmt: skip
    path, line = (ours["path"], int(ours["line"])) if ours is not None else (UNKNOWN, 0)
    callers = tuple(others[1 : MOST_CALLERS + 1])
    return Place(
        path, line, others[0] if others else "", api, kind, thread, callers, native, device
    )


def _stacks(export: Export, wanted: set[int]) -> dict[int, _Stack]:
    """The call stacks of these numbers; the export has them where `--cudabacktrace` was given."""
    needed = ("id", "symbol", "module", "stackDepth")
    if CHAINS not in export.tables or not wanted or not export.has(CHAINS, needed):
        return {}
    sql = (
        f"SELECT c.id, s.value, m.value FROM {CHAINS} AS c LEFT JOIN StringIds AS s ON s.id = "
        'c."symbol" LEFT JOIN StringIds AS m ON m.id = c."module" ORDER BY c.id, c."stackDepth"'
    )
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for number, symbol, module in export.rows(sql):
        if number in wanted and len(found[number]) < MOST_FRAMES:
            found[number].append((str(symbol or ""), str(module or "")))
    return {number: _stack(frames) for number, frames in found.items()}


def _stack(frames: Sequence[tuple[str, str]]) -> _Stack:
    python: list[Frame] = []
    native: list[str] = []
    for symbol, module in frames:
        frame = _python_frame(symbol, module)
        if frame is not None:
            python.append(frame)
        elif not python and len(native) < MOST_CALLERS:
            library = module.rpartition("/")[2]
            native.append(f"{symbol} ({library})" if library else symbol)
    return _Stack(tuple(python), tuple(native))


def _python_frame(symbol: str, module: str) -> Frame | None:
    """A frame of Python's: one whose module or symbol names a file of it; else None."""
    for text, rest in ((module, symbol), (symbol, "")):
        if match := _PYTHON.search(text):
            outside = f"{text[: match.start()]} {text[match.end() :]}"
            function = (rest or outside).strip(" []():,")
            path = match["path"]
            return Frame(path, int(match["line"] or 0), function, is_installed(path))
    return None


def _threads(export: Export, wanted: set[int]) -> dict[int, str]:
    """The names of threads, with their number where two of them share one."""
    found: dict[int, str] = {}
    if export.has("ThreadNames", ("nameId", "globalTid")):
        sql = (
            'SELECT t."globalTid", s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = '
            't."nameId"'
        )
        for thread, name in export.rows(sql):
            if thread in wanted and isinstance(name, str):
                found.setdefault(thread, name)
    shared = Counter(found.values())
    for thread in wanted:
        name = found.get(thread)
        if name is None or shared[name] > 1:
            found[thread] = f"{name or 'thread'} {thread & PID}"
    return found
