"""A read that has a name and no use but in sums: keep the value on the device under that name.

`value = loss.item()`, `value *= len(x)`, `total += value` wait as `total += loss.item()` does, and
need to wait as little. A branch of every n-th step that uses the name reads it first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.rounds import period_of
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, is_plain, sum_of, type_of
from asyncguard.lint.syntax.nodes import Expression, Loop, body, written
from asyncguard.model import Applicability, Edit, Fix

ORDER = 11


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read that is added up under a name."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, value = spot.code, read_value(spot.node)
    name, loops = _name(spot), flow.loops_around(spot.code, spot.node)
    if value is None or name is None or not loops:
        return None
    used, number = _used(spot, name, loops[0]), type_of(spot, value)
    if used is None or not number or (used.is_scaled and number == "int"):
        return None  # an integer of the device takes no fraction
    sums = _sums(spot, value, number, used, loops[0])
    if not sums or (made := _read(sums)) is None:
        return None
    read, plans = made
    reports = [branch for plan in plans for branch in plan.reports]
    if not all(_is_rarer(branch, 1 + reports.count(branch)) for branch in used.branches):
        return None
    text = f"{name} = {number}({name})"
    edits = (
        *read,
        *(code.insert_before(body(branch)[0], text) for branch in used.branches),
        code.replace(spot.node, _kept(sums[0], is_scaled=used.is_scaled)),
    )
    return _told(name, sums, plans, edits)


def _sums(spot: Spot, value: Expression, number: str, used: Used, loop: Loop) -> list[Sum] | None:
    """Return the sums that a name is added to; None unless all of its uses are such, of a type."""
    found = [sum_of(_at(spot, use), value, number) for use in used.plain]
    sums = [each for each in found if each is not None and each.loop is loop]
    numbers = {each.number for each in sums}
    return sums if len(sums) == len(found) and len(numbers) == 1 and all(numbers) else None


def _told(
    name: str, sums: Sequence[Sum], plans: Sequence[accumulate.Plan], edits: tuple[Edit, ...]
) -> Fix:
    said = next((plan.said for plan in plans if plan.lines), "")
    message = f"keep `{name}` on the device, add it up there and read the sum once after the loop"
    assumed = next((each.assumed for each in sums if each.assumed), "")
    doubt = f"; if `{assumed}` is a number" if assumed else ""
    grade = Applicability.SHOWN if assumed else Applicability.UNSAFE
    return Fix(f"{message}{said}{doubt}", edits, grade, bool(said))


def _is_rarer(branch: cst.If, reads: int) -> bool:
    """Whether so many reads in a branch of every n-th step are fewer than one in each step."""
    period = period_of(branch.test)
    return period is None or reads < period


def _kept(found: Sum, *, is_scaled: bool) -> str:
    """Return the value on the device; one that is to be scaled must not be the program's own."""
    text = accumulate.on_device(found)
    return f"{text}.clone()" if is_scaled and found.spot.finding.framework == "torch" else text


def _read(sums: Sequence[Sum]) -> tuple[list[Edit], list[accumulate.Plan]] | None:
    """Return what reads each sum, and by which plan; None where one cannot be read late."""
    targets: dict[str, list[Sum]] = {}
    for found in sums:
        targets.setdefault(written(found.target), []).append(found)
    edits: list[Edit] = []
    plans: list[accumulate.Plan] = []
    for group in targets.values():
        own = frozenset[cst.CSTNode]().union(*(flow.parts(found.spot.statement) for found in group))
        plan = accumulate.plan_of(group[0], own)
        read = accumulate.reading(group[0], plan) if plan is not None else None
        if read is None or plan is None:
            return None
        edits += read
        plans.append(plan)
    return (edits, plans) if edits else None


def _name(spot: Spot) -> str | None:
    """Return the variable of a function that a statement gives the read to, and nothing else."""
    name = spot.assigned
    if not name or isinstance(spot.scope, (cst.Lambda, cst.ClassDef)):
        return None
    return name if flow.is_private(spot.code, spot.scope, name) else None


class Used(NamedTuple):
    """The uses of a name that may be sums, the branches of every n-th step that have others, and
    whether the name is also scaled.
    """

    plain: Sequence[Expression]
    branches: Sequence[cst.If]
    is_scaled: bool


def _used(spot: Spot, name: str, loop: Loop) -> Used | None:
    """Return how a name is used; None where that is outside its loop, or above the read."""
    code, inside = spot.code, flow.parts(loop)
    plain: list[Expression] = []
    branches: dict[cst.If, None] = {}
    scaled = False
    for use in flow.uses(spot.scope, name, [spot.statement]):
        if use not in inside or not isinstance(use, cst.Name):
            return None
        if code.line(use) <= code.line(spot.node):
            return None
        branch = accumulate.gate(code, use, loop)
        if branch is not None and code.indent(body(branch)[0]) is not None:
            branches[branch] = None
        elif _is_scaled(code.statement(use), use):
            scaled = True
        else:
            plain.append(use)
    return Used(plain, [*branches], scaled)


def _is_scaled(statement: cst.CSTNode, use: cst.Name) -> bool:
    """Whether it is `name *= n`."""
    return (
        isinstance(statement, cst.AugAssign)
        and statement.target is use
        and isinstance(statement.operator, _SCALING)
        and is_plain(statement.value)
    )


_SCALING = (cst.MultiplyAssign, cst.AddAssign, cst.SubtractAssign)


def _at(spot: Spot, use: Expression) -> Spot:
    """Return the place of a use, as that of a read."""
    statement = spot.code.statement(use)
    block, index = spot.code.block(statement)
    return spot._replace(node=use, statement=statement, body=block, at=index)
