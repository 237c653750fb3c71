"""May this stretch of code wait for the device? For rules about code that never does.

A wait is a site, a call of a checked function that may wait, or a call out of sight that is handed
a device value. Where a wait is possible these rules keep silent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.domain.definitions import Event, FunctionInfo
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.report.statement_order import Blocks

_DEPTH = 8  # of calls that are followed


class Waits:
    """Where functions may wait, found out once for each while a rule asks."""

    def __init__(self) -> None:
        self._functions: dict[tuple[FunctionInfo, int], bool] = {}
        self._loops: dict[FunctionInfo, set[int]] = {}
        self._bodies: dict[FunctionInfo, dict[int, list[int]]] = {}

    def anywhere(self, info: FunctionInfo, depth: int = 0) -> bool:
        """Whether a function, or what it calls, may wait."""
        key = info, depth
        if key not in self._functions:
            self._functions[key] = self._anywhere(info, depth)
        return self._functions[key]

    def _anywhere(self, info: FunctionInfo, depth: int) -> bool:
        summary = info.summary
        if summary is None or depth > _DEPTH or summary.sites or summary.reads:
            return True
        return any(self._event(event, depth + 1) for event in summary.events)

    def _event(self, event: Event, depth: int = 0) -> bool:
        if event.what == "call":
            return event.callee is None or self.anywhere(event.callee, depth)
        return event.what == "opaque"

    def in_loop(self, info: FunctionInfo, loop: LoopRecord) -> bool:
        """Whether one iteration of a loop may wait anywhere."""
        if info not in self._loops:
            self._loops[info] = {id(one) for loops, _ in self._places(info) for one in loops}
        return id(loop) in self._loops[info]

    def between(
        self, info: FunctionInfo, body: Sequence[cst.CSTNode], start: int, stop: int
    ) -> bool:
        """Whether a function may wait in the statements `start` to `stop` of a list."""
        if info not in self._bodies:
            found: dict[int, list[int]] = {}
            for _, blocks in self._places(info):
                for block, index in blocks:
                    found.setdefault(id(block), []).append(index)
            self._bodies[info] = {block: sorted(indices) for block, indices in found.items()}
        indices = self._bodies[info].get(id(body), [])
        return bisect_left(indices, start) < bisect_right(indices, stop)

    def _places(self, info: FunctionInfo) -> Iterator[tuple[tuple[LoopRecord, ...], Blocks]]:
        summary = info.final
        for site in (*summary.sites, *summary.reads):
            yield site.loops, site.blocks
        for event in summary.events:
            if self._event(event):
                yield event.loops, event.blocks
