"""Which lines of the user's own files ran: what a wait that was not counted has to be held against.

From Python 3.12 on by `sys.monitoring`, which is told of each line once; before that by a trace
function, which makes the user's own code slower, and leaves the place to a debugger that is there.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime.frames import Rank
from asyncguard.runtime.reading import relative
from asyncguard.runtime.sites import ranks

KEY = "lines"  # in a record's `extra`: path -> the lines that ran, in order
TAKEN = (
    "Which lines ran was not recorded: another tool (a debugger, a coverage measurement) traces"
    " them."
)
_TOOL, _NAME = 4, "asyncguard"  # none of the ids that sys.monitoring reserves
_Trace = Callable[[FrameType, str, Any], Any]
_running: weakref.WeakSet[Lines] = weakref.WeakSet()


class Lines:
    """Records lines between `start` and `stop`, in this thread and those that it starts."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._ran: dict[str, set[int]] = {}
        self._taken = False
        self._undo: Callable[[], None] = _nothing

    def start(self) -> None:
        """Begin, unless another tool is there."""
        begin = self._monitor if sys.version_info >= (3, 12) else self._trace
        undo = begin()
        _running.add(self)
        self._taken = undo is None
        self._undo = undo or _nothing

    def stop(self) -> None:
        """Give the place back."""
        _running.discard(self)
        self._undo()
        self._undo = _nothing

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the lines, or with the reason why there are none."""
        if self._taken:
            return replace(record, notes=(*record.notes, TAKEN))
        ran = {relative(path, self._root): sorted(lines) for path, lines in self._ran.items()}
        return replace(record, extra={**record.extra, KEY: dict(sorted(ran.items()))})

    def _own(self, code: CodeType) -> set[int] | None:
        """Where to enter lines of `code`; None where it is not the user's."""
        if ranks(code) is not Rank.USER:
            return None
        return self._ran.setdefault(code.co_filename, set())

    def _monitor(self) -> Callable[[], None] | None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # of Python 3.12
        if monitoring.get_tool(_TOOL) is not None:
            return None

        def line(code: CodeType, number: int) -> object:
            lines = self._own(code)
            if lines is not None:
                lines.add(number)
            return monitoring.DISABLE

        event = monitoring.events.LINE
        monitoring.use_tool_id(_TOOL, _NAME)
        monitoring.register_callback(_TOOL, event, line)
        monitoring.set_events(_TOOL, event)
        monitoring.restart_events()

        def undo() -> None:
            monitoring.set_events(_TOOL, 0)
            monitoring.register_callback(_TOOL, event, None)
            monitoring.free_tool_id(_TOOL)

        return undo

    def _trace(self) -> Callable[[], None] | None:
        if sys.gettrace() is not None:
            return None

        def call(frame: FrameType, event: str, argument: Any) -> _Trace | None:
            lines = self._own(frame.f_code)
            if lines is None:
                return None
            add = lines.add

            def line(frame: FrameType, event: str, argument: Any) -> Any:
                add(frame.f_lineno)
                return line

            return line

        self._enter_running(call)
        before = threading.gettrace()
        threading.settrace(call)
        sys.settrace(call)

        def undo() -> None:
            if sys.gettrace() is call:
                sys.settrace(None)
            threading.settrace(before)

        return undo

    def _enter_running(self, call: _Trace) -> None:
        """Functions that are being run are traced on, too."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if ranks(frame.f_code) is Rank.USER:
                frame.f_trace = call(frame, "call", None)
            frame = frame.f_back


def _nothing() -> None:
    """There is nothing to undo."""


def _forked() -> None:
    """In a forked child no lines are recorded: it is as if we were not there, to its last line."""
    for lines in list(_running):
        lines.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
