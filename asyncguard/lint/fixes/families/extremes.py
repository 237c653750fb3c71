"""The best of all steps, which each step reads a number for: keep it on the device until the end.

`best = max(best, loss.item())` waits in each step for a comparison that the device can make itself:
`best = loss.detach().double().clamp(min=best)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, type_of
from asyncguard.lint.syntax.nodes import function, positional, same, targets
from asyncguard.model import Applicability, Fix

ORDER = 10
_BOUNDS = {"max": "min", "min": "max"}


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each extreme that the loop itself does not need."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    bound, found = _bound(spot), _extreme(spot)
    if bound is None or found is None:
        return None
    own = flow.parts(spot.statement)
    plan = accumulate.plan_of(found, own)
    if plan is None:
        return None
    if found.number == "int" and isinstance(plan.start, float):
        found = found._replace(number="float")
    read = accumulate.reading(found, plan)
    if read is None:
        return None
    value = f"{accumulate.on_device(found)}.clamp({bound}={found.name})"
    message = (
        f"compare on the device and read `{found.name}` once after the loop{plan.said}; "
        "a NaN stays in it"
    )
    is_known = bool(found.number) or isinstance(plan.start, float)
    if found.number != "int" and not isinstance(plan.start, float):
        message += "; it becomes a float"
    applicability = Applicability.UNSAFE if is_known else Applicability.SHOWN
    edits = (spot.code.replace(spot.statement.value, value), *read)
    return Fix(message, edits, applicability, bool(plan.lines))


def _bound(spot: Spot) -> str | None:
    """Return "min" of `x = max(x, read)`, and "max" of `x = min(x, read)`."""
    match spot.statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name() as target)], value=cst.Call() as call
        ):
            given = positional(call)
            others = [argument for argument in given if argument is not spot.node]
            if len(call.args) == len(given) == 2 and len(others) == 1 and same(others[0], target):
                return _BOUNDS.get(function(call))
    return None


def _extreme(spot: Spot) -> Sum | None:
    """Return the variable that is compared with a read, if it can be late."""
    value, loops = read_value(spot.node), flow.loops_around(spot.code, spot.node)
    if value is None or not loops or spot.dialect is None or spot.finding.framework != "torch":
        return None
    if may_be_on_host(spot.code, value) or flow.may_swallow(spot.code, spot.node, loops[0]):
        return None
    number = type_of(spot, value)
    target = targets(spot.statement)[0] if isinstance(spot.statement, cst.Assign) else None
    if number is None or not isinstance(target, cst.Name):
        return None
    return Sum(spot, target, value, loops[0], target.value, number)
