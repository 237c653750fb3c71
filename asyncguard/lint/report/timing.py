"""Timing code must wait: a barrier next to a clock is no finding, but in a step of a training.

`torch.cuda.synchronize(); start = perf_counter()` measures; without the barrier it would measure
only the enqueue. In a training every step pays for that, and one barrier for many steps would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_CLOCK = family("function.clock")
TIMED = (
    "`{site}` waits for the device {when} for the sake of a timer: time N steps with one barrier "
    "after them"
)
_ADVICE = "Read the clock every N steps, with one barrier before it."
_EVENTS = {
    "torch": " Or record `torch.cuda.Event(enable_timing=True)` and read it after the loop.",
    "cupy": " Or record `cupy.cuda.Event()` and read it after the loop.",
}


def untimed(sites: Iterable[Site]) -> Iterator[Site]:
    """Yield the barriers that are no part of a measurement.

    Where a function that does not train waits before it reads a clock, its other waits for the same
    are a part of that: at the start, or to warm up.
    """
    sites = list(sites)
    timed = [is_timed(site) for site in sites]
    measuring = {
        (site.function, site.point.id)
        for site, is_one in zip(sites, timed, strict=True)
        if is_one and not site.function.marks_step
    }
    for site, is_one in zip(sites, timed, strict=True):
        if not is_one and (site.function, site.point.id) not in measuring:
            yield site


def timed_steps(sites: Iterable[Site]) -> Iterator[Site]:
    """Yield the barriers that a training waits for in its steps, to read a clock."""
    return (site for site in sites if is_timed(site) and _trains(site))


def timed_advice(site: Site) -> str:
    """Return what to do about a barrier that times each step of a training."""
    return _ADVICE + _EVENTS.get(site.point.framework, "")


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
