"""Timing code must wait: a barrier next to a clock is no finding, but in a step of a training.

`torch.cuda.synchronize(); start = perf_counter()` measures; without the barrier it would measure
only the enqueue. In a training every step pays for that, and one barrier for many steps would do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.lint.report.reports import Report, report_site, sites_of
from asyncguard.lint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis

_CLOCK = family("function.clock")
_TIMED = (
    "`{site}` waits for the device {when} for the sake of a timer: time N steps with one barrier "
    "after them"
)
_ADVICE = "Read the clock every N steps, with one barrier before it."
_EVENTS = {
    "torch": " Or record `torch.cuda.Event(enable_timing=True)` and read it after the loop.",
    "cupy": " Or record `cupy.cuda.Event()` and read it after the loop.",
}


def barriers(analysis: FileAnalysis, code: str, message: str) -> Iterator[Report]:
    """Report the barriers of a rule that measure nothing, and those that time a step of a training.

    Where a function that does not train waits before it reads a clock, its other waits for the same
    are a part of that: at the start, or to warm up.
    """
    sites = list(sites_of(analysis, code))
    timed = dict.fromkeys(filter(is_timed, sites))
    measuring = {(s.function, s.point.id) for s in timed if not s.function.marks_step}
    for site in sites:
        measures = (site.function, site.point.id) in measuring or site in timed
        if not measures and not _holds_loop(site.statement):
            yield report_site(site, code, message)
    for site in timed:
        trains = _trains(site)
        if trains or not site.loops:
            advice = _ADVICE + _EVENTS.get(site.point.framework, "")
            report = report_site(site, code, _TIMED)
            yield replace(report, advice=advice, measures=not trains)


def _holds_loop(statement: cst.CSTNode | None) -> bool:
    """Whether a `with` waits once for the loop in it."""
    if type(statement) is not cst.With:
        return False
    return any(isinstance(inner, (cst.For, cst.While)) for inner in statement.body.body)


def _trains(site: Site) -> bool:
    """Whether the loop around a site runs a training step, or its function is one."""
    if any(loop.work & Work.TRAINS for loop in site.loops):
        return True
    return site.function.marks_step and not site.loops


def is_timed(site: Site) -> bool:
    """Whether a clock is read in a statement next to the site's."""
    for body, index in reversed(site.blocks):
        neighbours = [*body[max(index - 1, 0) : index], *body[index + 1 : index + 2]]
        if any(map(reads_clock, neighbours)):
            return True
        if len(body) > 1:
            return False
    return False


def reads_clock(statement: cst.CSTNode) -> bool:
    """Whether a statement reads a clock or a timer, in its first line."""
    for part in _head(statement):
        for node in walk(part):
            if type(node) is cst.Call and _CLOCK(dotted(node.func)):
                return True
    return False


def _head(statement: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if type(statement) is cst.With:
        return [item.item for item in statement.items]
    if type(statement) is cst.If:
        return list(statement.body.body)
    return [statement] if type(statement) is cst.SimpleStatementLine else []
