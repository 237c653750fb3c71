"""Ranges around waits, for other profilers to show: torch's `record_function`, or NVTX.

On request only: each wait then costs a look for its line, and the range. Waits of frameworks that
keep time themselves are told after the fact, and get none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime.frames import charged
from asyncguard.runtime.sinks import Sink
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


class Ranges(Sink):
    """A `hub.Sink` that opens a range where a wait begins, and closes it where it ends."""

    def __init__(self, kind: str) -> None:
        if kind not in KINDS:
            raise AsyncguardError(f"unknown ranges {kind!r}; one of {', '.join(KINDS)}")
        self._enter = KINDS[kind]
        self._why_not = ""

    def begin(self) -> Close | None:
        """A wait begins; return what closes its range."""
        torch = sys.modules.get("torch")
        if torch is None or self._why_not:
            return None
        user = charged(sys._getframe(1), ranks)
        place = f"{user.f_code.co_filename}:{user.f_lineno}" if user is not None else "?"
        try:
            return self._enter(torch, f"asyncguard: wait at {place}")
        except (RuntimeError, AttributeError) as error:  # torch without NVTX
            self._why_not = str(error)
            return None

    def end(self, site: Site, began: Close | None) -> None:
        """It is over."""
        self.cancel(began)

    part = end

    def leave(self, site: Site, entered: Close | None, parts: Sequence[None]) -> None:
        """A call with reads inside is over."""
        self.cancel(entered)

    def cancel(self, began: Close | None) -> None:
        """It was none, or raised."""
        if began is not None:
            began()

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying why there were no ranges where there were none."""
        if not self._why_not:
            return record
        return replace(record, notes=(*record.notes, f"No ranges around waits: {self._why_not}."))
