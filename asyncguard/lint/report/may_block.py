"""May this stretch of code wait for the device? For rules about code that never does.

A wait is a site, a call of a checked function that may wait, or a call out of sight that is handed
a device value. Where a wait is possible these rules keep silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.effects import Event, LoopRecord
from asyncguard.lint.report.statement_order import Blocks, index_in

_DEPTH = 8  # of calls that are followed


def may_wait(info: FunctionInfo, depth: int = 0) -> bool:
    """Whether a function, or what it calls, may wait anywhere."""
    summary = info.summary
    if summary is None or depth > _DEPTH:
        return True
    if summary.sites or summary.reads:
        return True
    return any(event_may_wait(event, depth + 1) for event in summary.events)


def event_may_wait(event: Event, depth: int = 0) -> bool:
    """Whether an event may wait."""
    if event.what == "call":
        return event.callee is None or may_wait(event.callee, depth)
    return event.what == "opaque"


def waits_in_loop(info: FunctionInfo, loop: LoopRecord) -> bool:
    """Whether one iteration of a loop may wait anywhere."""
    summary = info.summary
    return any(loop in site.loops for site in (*summary.sites, *summary.reads)) or any(
        loop in event.loops and event_may_wait(event) for event in summary.events
    )


def waits_at(info: FunctionInfo, body: Sequence[cst.CSTNode]) -> Iterator[int]:
    """Yield the statements of a list, by index, in which the function may wait."""
    summary = info.summary
    places: list[Blocks] = [site.blocks for site in (*summary.sites, *summary.reads)]
    places += [event.blocks for event in summary.events if event_may_wait(event)]
    for blocks in places:
        index = index_in(blocks, body)
        if index is not None:
            yield index
