"""A barrier in each step that only makes a clock right: let events of the device take the time.

A barrier before `start = time.time()` and another before `spent += time.time() - start` let the
device run dry twice a step. Two events per step are enqueued with the work, and read behind the
loop. They take the time of the device alone, so this is shown and never applied.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 63
_BARRIERS = words("timer.barriers")
_CLOCKS = words("timer.clocks")


class Timer(NamedTuple):
    """The statements of a block that take a time: `name = clock()`, and what adds the difference.

    `sum` is where the seconds go: `total` of `total += clock() - name`, or of `total.append(...)`.
    """

    begin: ast.Assign
    name: str
    end: ast.stmt
    sum: ast.Name
    is_list: bool


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of the barriers of each timer."""
    blocks: dict[int, list[Spot]] = {}
    for spot in spots:
        if spot.finding.api in _BARRIERS and isinstance(spot.statement, ast.Expr):
            blocks.setdefault(id(spot.body), []).append(spot)
    for group in blocks.values():
        if (repair := _repair(group)) is not None:
            yield repair


def _repair(group: Sequence[Spot]) -> Repair | None:
    spot, code = group[-1], group[0].code
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    module = module_name(code, spot.dialect) if spot.dialect is not None else None
    timer = _timer(code, spot)
    if loop is None or module is None or timer is None or spot.body is not loop.body:
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
    if not isinstance(spent.right, ast.Name) or not _is_clock(code, spent.left):
        return None
    name = spent.right.id
    begin = next((s for s in reversed(spot.body[: spot.at]) if name in flow.bound(s)), None)
    if not isinstance(begin, ast.Assign) or len(begin.targets) > 1 or not code.is_alone(begin):
        return None
    return Timer(begin, name, end, target, is_list) if _is_clock(code, begin.value) else None


def _added(end: ast.stmt | None) -> tuple[ast.Name, ast.BinOp, bool] | None:
    """Return what a statement adds a difference to, the difference, and whether to a list."""
    target, spent = _parts(end)
    if not isinstance(target, ast.Name) or not isinstance(spent, ast.BinOp):
        return None
    return (target, spent, isinstance(end, ast.Expr)) if isinstance(spent.op, ast.Sub) else None


def _parts(end: ast.stmt | None) -> tuple[ast.expr | None, ast.expr | None]:
    """Return `a` and `b` of `a += b` and `a.append(b)`."""
    if isinstance(end, ast.AugAssign) and isinstance(end.op, ast.Add):
        return end.target, end.value
    call = end.value if isinstance(end, ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None, None
    function = call.func
    appends = isinstance(function, ast.Attribute) and function.attr == "append"
    return (function.value, call.args[0]) if appends else (None, None)  # type: ignore[attr-defined]


def _is_clock(code: Code, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and code.meaning(node.func) in _CLOCKS and not node.args


def _is_own(spot: Spot, loop: ast.AST, timer: Timer) -> bool:
    """Whether the loop uses the clock's value and the sum for nothing else."""
    times = flow.uses(loop, timer.name, [timer.begin, timer.end])
    return not times and not flow.uses(loop, timer.sum.id, [timer.end])


def _events(
    code: Code, module: str, timer: Timer, barrier: ast.stmt, loop: ast.stmt
) -> Iterator[Edit]:
    ended, events = (code.fresh(f"{timer.name}_{each}", loop) for each in ("ended", "events"))
    event = f"{module}.cuda.Event(enable_timing=True)"
    indent = code.indent(timer.begin)
    each = f"begin.elapsed_time(end) / 1e3 for begin, end in {events}"
    into = f"{timer.sum.id}.extend({each})" if timer.is_list else f"{timer.sum.id} += sum({each})"
    yield code.insert_before(loop, f"{events} = []")
    yield code.replace(timer.begin, f"{timer.name} = {event}\n{indent}{timer.name}.record()")
    yield code.replace(barrier, f"{ended} = {event}\n{indent}{ended}.record()")
    yield code.replace(timer.end, f"{events}.append(({timer.name}, {ended}))")
    yield code.insert_after(loop, f"{module}.cuda.synchronize()", into)
