"""Where torch.compile broke its graphs while a trace ran, as dynamo tells: places and reasons.

dynamo finds breaks while it compiles, so each is counted once a compilation, not once a call. It
keeps them whether or not anybody asks: nothing is hooked, and no program imports dynamo for us.
"""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.frames import Rank
from asyncguard.runtime.reading import relative
from asyncguard.runtime.sites import ranks

KEY = "graph_breaks"  # in a record's `extra`
LONGEST = 300  # characters of a reason
UNTOLD_NOTE = "This torch does not tell where torch.compile breaks graphs: none are counted."
LOST_NOTE = (
    "torch._dynamo has forgotten graph breaks that it found during the trace (torch._dynamo.reset,"
    " or more compilations than it keeps): some may be missing."
)
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+?)_at_\d+")
_EXPLAINED = re.compile(r"^\s*Explanation:\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Break:
    """One place at which a graph breaks.

    effect: "split": the graph is compiled in two, and Python runs between; "uncompiled": the whole
            function is left to Python.
    """

    path: str
    line: int
    function: str
    reason: str
    explanation: str
    effect: str


class Newer:
    """Tells what has been added to a list of dynamo's since it was last looked at."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._last = items[-1] if items else None

    def of(self, items: Sequence[Any]) -> tuple[list[Any], bool]:
        """What is new by now, and whether some of it may be lost."""
        new = list(takewhile(lambda item: item is not self._last, reversed(items)))
        is_full = len(new) == len(items) == getattr(items, "maxlen", None)
        return new[::-1], is_full or (self._last is not None and len(new) == len(items))


class GraphBreaks:
    """The graph breaks from `start` to `stop`, and those that were found before.

    root: the folder that paths in records start from.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._newer: tuple[Newer, ...] = ()
        self._before: Counter[Break] = Counter()
        self._found: tuple[Counter[Break], bool] | None = None  # once it has stopped

    def start(self) -> None:
        """Count from now on."""
        kept = private.kept_breaks()
        self._newer = tuple(Newer(items) for items in kept)
        self._before = Counter(_places(kept))

    def stop(self) -> None:
        """Count no more."""
        self._found = self._read()

    def _read(self) -> tuple[Counter[Break], bool]:
        kept = private.kept_breaks()
        newer = self._newer or [Newer(())] * len(kept)  # dynamo may have been imported meanwhile
        found = [each.of(items) for each, items in zip(newer, kept, strict=True)]
        return Counter(_places([new for new, _ in found])), any(lost for _, lost in found)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the breaks, if there are any: in `extra`, in the order of finding."""
        found, lost = self._found or self._read()
        notes = (*record.notes, LOST_NOTE) if lost else record.notes
        if not private.keeps_breaks():
            notes = (*notes, UNTOLD_NOTE)
        every = [*dict.fromkeys((*found, *self._before))]
        told = [
            {
                **asdict(each),
                "path": relative(each.path, self._root),
                "source": linecache.getline(each.path, each.line).strip(),
                "count": found[each],
                "before": self._before[each],
            }
            for each in every
        ]
        extra = {**record.extra, KEY: told} if told else record.extra
        return replace(record, extra=extra, notes=notes)


def _places(kept: Sequence[Sequence[Any]]) -> Iterator[Break]:
    """The breaks in what dynamo keeps: reasons of splits, and figures of compilations."""
    if len(kept) < 2:
        return
    reasons, compilations = kept
    yield from map(_split, reasons)
    yield from (_uncompiled(each) for each in compilations if each.fail_type is not None)


def _split(reason: Any) -> Break:
    """The break that a graph was split at: in the user's code, the innermost of it."""
    stack = list(reason.user_stack or ())
    frame = next((f for f in reversed(stack) if _is_users(f)), stack[-1] if stack else None)
    place = ("", 0, "") if frame is None else (frame.filename, frame.lineno or 0, frame.name)
    return _break(place, str(reason.reason), "split")


def _uncompiled(figures: Any) -> Break:
    """The break that left a whole function to Python."""
    path = figures.fail_user_frame_filename or figures.co_filename or ""
    line = figures.fail_user_frame_lineno or figures.co_firstlineno or 0
    reason = str(figures.fail_reason or figures.fail_type)
    return _break((path, line, figures.co_name or ""), reason, "uncompiled")


def _is_users(frame: Any) -> bool:
    return ranks.rank_of(frame.filename) <= Rank.PSEUDO


def _break(place: tuple[str, int, str], reason: str, effect: str) -> Break:
    path, line, function = place
    lines = reason.strip().splitlines()
    explained = _EXPLAINED.search(reason)
    return Break(
        path,
        line,
        _RESUMED.sub(r"\1", function),
        lines[0].strip()[:LONGEST] if lines else "",
        explained[1].strip()[:LONGEST] if explained else "",
        effect,
    )
