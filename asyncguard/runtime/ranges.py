"""Ranges around waits, for other profilers to show: torch's `record_function`, or NVTX.

On request only: each wait then costs a look for its line, and the range. Waits of frameworks that
keep time themselves are told after the fact, and get none.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime.frames import charged
from asyncguard.runtime.sites import Site, ranks

Close = Callable[[], object]


def _record_function(torch: Any, name: str) -> Close:
    entered = torch.profiler.record_function(name)
    entered.__enter__()
    return lambda: entered.__exit__(None, None, None)


def _nvtx(torch: Any, name: str) -> Close:
    torch.cuda.nvtx.range_push(name)
    close: Close = torch.cuda.nvtx.range_pop
    return close


KINDS: dict[str, Callable[[Any, str], Close]] = {
    "record_function": _record_function,
    "nvtx": _nvtx,
}


class _Open(threading.local):
    """The range that the calling thread is in."""

    def __init__(self) -> None:
        self.close: Close | None = None


class Ranges:
    """A `hub.Sink` that opens a range where a wait begins, and closes it where it ends."""

    def __init__(self, kind: str) -> None:
        if kind not in KINDS:
            raise AsyncguardError(f"unknown ranges {kind!r}; one of {', '.join(KINDS)}")
        self._enter = KINDS[kind]
        self._open = _Open()
        self._why_not = ""

    def begin(self) -> None:
        """A wait begins; one that raised has left its range open."""
        self._close()
        torch = sys.modules.get("torch")
        if torch is None or self._why_not:
            return
        user = charged(sys._getframe(1), ranks)
        place = f"{user.f_code.co_filename}:{user.f_lineno}" if user is not None else "?"
        try:
            self._open.close = self._enter(torch, f"asyncguard: wait at {place}")
        except (RuntimeError, AttributeError) as error:  # torch without NVTX
            self._why_not = str(error)

    def end(self, site: Site, began: None) -> None:
        """It is over."""
        self._close()

    def _close(self) -> None:
        close, self._open.close = self._open.close, None
        if close is not None:
            close()

    def waited(self, site: Site, begin: int, end: int) -> None:
        """Too late for a range."""

    def idled(self, site: Site, begin: int, end: int) -> None:
        """Not for us."""

    def event(
        self,
        kind: str,
        name: str,
        begin: int,
        end: int,
        thread: str = "",
        serial: int | None = None,
        nbytes: int | None = None,
    ) -> None:
        """Not for us."""

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying why there were no ranges where there were none."""
        if not self._why_not:
            return record
        return replace(record, notes=(*record.notes, f"No ranges around waits: {self._why_not}."))
