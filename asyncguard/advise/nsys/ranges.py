"""NVTX ranges of an exported report: what was under way around a call, and which ones are steps."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from asyncguard.advise.nsys.export import LATEST, PID, Export, Process, is_number, is_time
from asyncguard.model import AsyncguardError

TABLE = "NVTX_EVENTS"
TYPES = "ENUM_NSYS_EVENT_TYPE"
PUSH_POP, START_END = "NvtxPushPopRange", "NvtxStartEndRange"
NUMBERS = {PUSH_POP: 59, START_END: 60}  # as published; the enumeration's table says it in doubt
DEEPEST = 64  # ranges around one call that are looked at
SHOWN = 5  # names that an error suggests

# torch.autograd.profiler.emit_nvtx: "aten::item, seq = 12, op_id = 34, sizes = [[]]".
_DETAILS = re.compile(r",\s*(?:seq|op_id|sizes|input_op_ids)\s*=.*", re.DOTALL)
_STEP = re.compile(
    r"(?:^|[^a-z])(?:profiler|train|training|eval|inference|global|decode)?[ _.:-]?"
    r"(?:step|iter|iteration|batch)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_NO_STEP = re.compile(r"optimi[sz]er|scheduler|::|loader|norm", re.IGNORECASE)
_COUNTER = re.compile(r"\d+")


class Range(NamedTuple):
    """One range; `pushed` where it is one of its thread's stack."""

    begin: int
    end: int
    thread: int
    name: str
    pushed: bool


def read(export: Export, process: Process) -> list[Range]:
    """The ranges of a process, in the order of their begins, the outer ones first.

    One that was never ended lasts to the end.
    """
    if not export.has(TABLE, ("start", "end", "eventType", "globalTid")):
        return []
    numbers = export.named(TYPES, NUMBERS)
    joined = export.has("StringIds", ("id", "value")) and "textId" in export.columns(TABLE)
    text = export.column(TABLE, "text", "n")
    sql = (
        f'SELECT n."start", n."end", n."globalTid", n."eventType", '
        f"{f's.value, {text}' if joined else f'NULL, {text}'} FROM {TABLE} AS n "
        f"{'LEFT JOIN StringIds AS s ON s.id = n.textId ' if joined else ''}"
        f'WHERE n."eventType" IN (?, ?) AND (n."globalTid" >> 24) & {PID} = {process.number}'
    )
    found = []
    values = numbers[PUSH_POP], numbers[START_END]
    for begin, end, thread, kind, registered, plain in export.kept(TABLE, sql, values):
        until = LATEST if end is None else end
        name = plain if isinstance(plain, str) and plain else registered
        if is_time(begin) and is_number(until) and begin <= until and is_number(thread):
            named = name if isinstance(name, str) else ""
            found.append(Range(begin, until, thread, named, kind == numbers[PUSH_POP]))
        else:
            export.skipped += 1
    return sorted(found, key=lambda each: (each.begin, -each.end))


class Around:
    """The ranges around the calls of one thread, which have to be asked for in order of time."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._ahead = iter(ranges)
        self._next = next(self._ahead, None)
        self._stack: list[Range] = []

    def call(self, begin: int, end: int) -> tuple[Range, ...]:
        """The ranges that enclose a call, the innermost first."""
        while self._next is not None and self._next.begin <= begin:
            while self._stack and self._stack[-1].end <= self._next.begin:
                self._stack.pop()
            self._stack.append(self._next)
            self._next = next(self._ahead, None)
        while self._stack and self._stack[-1].end <= begin:
            self._stack.pop()
        return tuple(each for each in self._stack[: -DEEPEST - 1 : -1] if each.end >= end)


def by_thread(ranges: Iterable[Range]) -> dict[int, list[Range]]:
    """The ranges that a thread pushed, by thread."""
    found: dict[int, list[Range]] = defaultdict(list)
    for each in ranges:
        if each.pushed:
            found[each.thread].append(each)
    return found


def plain(name: str) -> str:
    """The name of a range without the figures that torch adds to an operator's."""
    return _DETAILS.sub("", name)


def site_name(name: str) -> str:
    """A range's name as a site has it: a step's without its number, so that all are one."""
    return _COUNTER.sub("#", plain(name)) if is_step(name) else plain(name)


def is_step(name: str) -> bool:
    """Whether a range is named like a step: "step 3", "ProfilerStep#3", "train_iteration"."""
    return bool(_STEP.search(name)) and not _NO_STEP.search(name)


class Steps(NamedTuple):
    """The steps, in order, and the name of the ranges that begin them."""

    spans: list[tuple[int, int]]
    name: str


def steps(ranges: Sequence[Range], wanted: str | None, until: int) -> Steps:
    """The steps that ranges of one thread mark: each lasts to the begin of the next one.

    They are those whose name matches `wanted` (as a file name does, `*` for anything). None: those
    named like a step that repeat; of several such names that which took most time. The last step
    ends with its range. Raises AsyncguardError where no range has the wanted name.
    """
    groups: dict[tuple[int, str], list[Range]] = defaultdict(list)
    for each in ranges:
        if wanted is not None and fnmatch.fnmatchcase(each.name, wanted):
            groups[each.thread, wanted].append(each)
        elif wanted is None and is_step(each.name):
            groups[each.thread, site_name(each.name)].append(each)
    if wanted is not None and not groups:
        raise AsyncguardError(f"no NVTX range is named {wanted!r}{_suggested(ranges)}")
    least = 1 if wanted is not None else 2
    candidates = {key: _in_a_row(group, until) for key, group in groups.items()}
    candidates = {key: found for key, found in candidates.items() if len(found) >= least}
    if not candidates:
        return Steps([], "")
    best = max(candidates, key=lambda key: (sum(e - b for b, e in candidates[key]), key[1]))
    marks = candidates[best]
    begins = [begin for begin, _ in marks]
    return Steps(list(zip(begins, [*begins[1:], marks[-1][1]], strict=True)), best[1])


def _in_a_row(group: Iterable[Range], until: int) -> list[tuple[int, int]]:
    """The ranges that follow each other: one within another of the same name is part of it."""
    found: list[tuple[int, int]] = []
    for each in group:
        if not found or each.begin >= found[-1][1]:
            found.append((each.begin, min(each.end, max(until, each.begin))))
    return found


def _suggested(ranges: Iterable[Range]) -> str:
    names = Counter(plain(each.name) for each in ranges)
    if not names:
        return ": the export holds no ranges; profile with nsys profile --trace=cuda,nvtx"
    most = ", ".join(repr(name[:60]) for name, _ in names.most_common(SHOWN))
    return f"; those that repeat most are {most}"
