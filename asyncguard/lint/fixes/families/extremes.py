"""The best of all steps, which each step reads a number for: keep it on the device until the end.

`best = max(best, loss.item())` waits in each step for a comparison that the device can make itself:
`best = loss.detach().double().clamp(min=best)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import same
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, type_of
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
    if found.number == "int" and isinstance(plan.start.value, float):
        found = found._replace(number="float")
    read = accumulate.reading(found, plan)
    if read is None:
        return None
    assert isinstance(spot.statement, ast.Assign)
    value = f"{accumulate.on_device(found)}.clamp({bound}={found.name})"
    message = (
        f"compare on the device and read `{found.name}` once after the loop{plan.said}; "
        "a NaN stays in it"
    )
    is_known = bool(found.number) or isinstance(plan.start.value, float)
    if found.number != "int" and not isinstance(plan.start.value, float):
        message += "; it becomes a float"
    applicability = Applicability.UNSAFE if is_known else Applicability.SHOWN
    edits = (spot.code.replace(spot.statement.value, value), *read)
    return Fix(message, edits, applicability, bool(plan.lines))


def _bound(spot: Spot) -> str | None:
    """Return "min" of `x = max(x, read)`, and "max" of `x = min(x, read)`."""
    statement = spot.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    call, target = statement.value, statement.targets[0]
    if not isinstance(call, ast.Call) or call.keywords or not isinstance(call.func, ast.Name):
        return None
    others = [argument for argument in call.args if argument is not spot.node]
    if len(call.args) != 2 or len(others) != 1 or not same(others[0], target):
        return None
    return _BOUNDS.get(call.func.id) if isinstance(target, ast.Name) else None


def _extreme(spot: Spot) -> Sum | None:
    """Return the variable that is compared with a read, if it can be late."""
    value, loops = read_value(spot.node), flow.loops_around(spot.code, spot.node)
    if value is None or not loops or spot.dialect is None or spot.finding.framework != "torch":
        return None
    if may_be_on_host(spot.code, value) or flow.may_swallow(spot.code, spot.node, loops[0]):
        return None
    number = type_of(spot, value)
    target = spot.statement.targets[0] if isinstance(spot.statement, ast.Assign) else None
    if number is None or not isinstance(target, ast.Name):
        return None
    return Sum(spot, target, value, loops[0], target.id, number)
