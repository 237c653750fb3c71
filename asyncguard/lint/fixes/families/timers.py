"""A barrier in each step that only makes a clock right: let events of the device take the time.

A barrier before `start = time.time()` and another before `spent += time.time() - start` let the
device run dry twice a step. Two events per step are enqueued with the work, and read behind the
loop. They take the time of the device alone, so this is shown and never applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax.nodes import (
    Expression,
    body,
    method,
    name_of,
    only,
    positional,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 63
_BARRIERS = words("timer.barriers")
_CLOCKS = words("timer.clocks")


class Timer(NamedTuple):
    """The statements of a block that take a time: `name = clock()`, and what adds the difference.

    `sum` is where the seconds go: `total` of `total += clock() - name`, or of `total.append(...)`.
    """

    begin: cst.Assign
    name: str
    end: cst.CSTNode
    sum: str
    is_list: bool


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of the barriers of each timer."""
    blocks: dict[int, list[Spot]] = {}
    for spot in spots:
        if spot.finding.api in _BARRIERS and isinstance(spot.statement, cst.Expr):
            blocks.setdefault(id(spot.body), []).append(spot)
    for group in blocks.values():
        if (repair := _repair(group)) is not None:
            yield repair


def _repair(group: Sequence[Spot]) -> Repair | None:
    spot, code = group[-1], group[0].code
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    module = module_name(code, spot.dialect) if spot.dialect is not None else None
    timer = _timer(code, spot)
    if loop is None or module is None or timer is None or list(spot.body) != list(body(loop)):
        return None
    if code.indent(loop) is None or not _is_own(spot, loop, timer):
        return None
    first = [s for s in group[:-1] if s.body[s.at + 1] is timer.begin]
    taken = [*first, spot]
    if not all(code.is_alone(s.statement) for s in taken):
        return None
    message = "time the steps with events of the device, and read them once behind the loop"
    edits = (
        *(code.delete(s.statement) for s in first),
        *_events(code, module, timer, spot.statement, loop),
    )
    return Repair(Fix(message, edits, Applicability.SHOWN), tuple(taken))


def _timer(code: Code, spot: Spot) -> Timer | None:
    """Return the timer that a barrier stands in front of the end of."""
    end = spot.body[spot.at + 1] if spot.at + 1 < len(spot.body) else None
    added = _added(end)
    if end is None or added is None or not code.is_alone(end):
        return None
    target, spent, is_list = added
    name = name_of(spent.right)
    if not name or not _is_clock(code, spent.left):
        return None
    begin = next((s for s in reversed(spot.body[: spot.at]) if name in flow.bound(s)), None)
    if not isinstance(begin, cst.Assign) or len(begin.targets) > 1 or not code.is_alone(begin):
        return None
    return Timer(begin, name, end, target, is_list) if _is_clock(code, begin.value) else None


def _added(end: cst.CSTNode | None) -> tuple[str, cst.BinaryOperation, bool] | None:
    """Return what a statement adds a difference to, the difference, and whether to a list."""
    target, spent = _parts(end)
    name = name_of(target)
    if not name or not isinstance(spent, cst.BinaryOperation):
        return None
    is_difference = isinstance(spent.operator, cst.Subtract)
    return (name, spent, isinstance(end, cst.Expr)) if is_difference else None


def _parts(end: cst.CSTNode | None) -> tuple[Expression | None, Expression | None]:
    """Return `a` and `b` of `a += b` and `a.append(b)`."""
    match end:
        case cst.AugAssign(target=target, operator=cst.AddAssign(), value=value):
            return target, value
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=owner)) as call):
            return (owner, only(call)) if method(call) == "append" else (None, None)
    return None, None


def _is_clock(code: Code, node: Expression) -> bool:
    if not isinstance(node, cst.Call) or code.meaning(node.func) not in _CLOCKS:
        return False
    return not positional(node)


def _is_own(spot: Spot, loop: cst.CSTNode, timer: Timer) -> bool:
    """Whether the loop uses the clock's value and the sum for nothing else."""
    times = flow.uses(loop, timer.name, [timer.begin, timer.end])
    return not times and not flow.uses(loop, timer.sum, [timer.end])


def _events(
    code: Code, module: str, timer: Timer, barrier: cst.CSTNode, loop: cst.CSTNode
) -> Iterator[Edit]:
    ended, events = (code.fresh(f"{timer.name}_{each}", loop) for each in ("ended", "events"))
    event = f"{module}.cuda.Event(enable_timing=True)"
    indent = code.indent(timer.begin)
    each = f"begin.elapsed_time(end) / 1e3 for begin, end in {events}"
    into = f"{timer.sum}.extend({each})" if timer.is_list else f"{timer.sum} += sum({each})"
    yield code.insert_before(loop, f"{events} = []")
    yield code.replace(timer.begin, f"{timer.name} = {event}\n{indent}{timer.name}.record()")
    yield code.replace(barrier, f"{ended} = {event}\n{indent}{ended}.record()")
    yield code.replace(timer.end, f"{events}.append(({timer.name}, {ended}))")
    yield code.insert_after(loop, f"{module}.cuda.synchronize()", into)
