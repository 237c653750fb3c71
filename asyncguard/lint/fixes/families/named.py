"""A read that has a name and no use but in sums: keep the value on the device under that name.

`value = loss.item()`, `value *= len(x)`, `total += value` wait as `total += loss.item()` does, and
need to wait as little. A branch of every n-th step that uses the name reads it first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Loop, written
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, is_plain, sum_of, type_of
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
    used = _used(spot, name, loops[0])
    number = type_of(spot, value)
    if used is None or not number:
        return None
    scaled = any(
        is_scaled(spot.code.statement(use), use)
        for use in flow.uses(spot.scope, name, [spot.statement])
        if isinstance(use, ast.Name)
    )
    if scaled and number == "int":
        return None  # an integer of the device takes no fraction
    sums: dict[str, list[Sum]] = {}
    for use in used[0]:
        found = sum_of(_at(spot, use), value, number)
        if found is None or found.loop is not loops[0]:
            return None
        sums.setdefault(written(found.target), []).append(found)
    edits: list[Edit] = []
    for group in sums.values():
        own = frozenset[ast.AST]().union(*(flow.parts(found.spot.statement) for found in group))
        plan = accumulate.plan_of(group[0], own)
        read = accumulate.reading(group[0], plan) if plan is not None else None
        if read is None:
            return None
        edits += read
    if not sums:
        return None
    kept = accumulate.on_device(next(iter(sums.values()))[0])
    if scaled and spot.finding.framework == "torch":
        kept = f"{kept}.clone()"  # it may be the value itself, which is not to be scaled
    text = f"{name} = {number}({name})"
    edits += [code.insert_before(branch.body[0], text) for branch in used[1]]
    edits.append(code.replace(spot.node, kept))
    message = f"keep `{name}` on the device, add it up there and read the sum once after the loop"
    return Fix(message, tuple(edits), Applicability.UNSAFE)


def _name(spot: Spot) -> str | None:
    """Return the variable of a function that a statement gives the read to, and nothing else."""
    statement = spot.statement
    if not isinstance(statement, ast.Assign) or statement.value is not spot.node:
        return None
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return None
    if isinstance(spot.scope, (ast.Lambda, ast.ClassDef)):
        return None
    return target.id if flow.is_private(spot.code, spot.scope, target.id) else None


def _used(spot: Spot, name: str, loop: Loop) -> tuple[Sequence[ast.expr], Sequence[ast.If]] | None:
    """Return the uses of a name that may be sums, and the branches of every n-th step.

    None where the name is used outside its loop, or above the read.
    """
    code, inside = spot.code, flow.parts(loop)
    plain: list[ast.expr] = []
    branches: dict[ast.If, None] = {}
    for use in flow.uses(spot.scope, name, [spot.statement]):
        if use not in inside or not isinstance(use, ast.Name) or use.lineno <= spot.node.lineno:
            return None
        branch = accumulate.gate(code, use, loop)
        if branch is not None and code.indent(branch.body[0]) is not None:
            branches[branch] = None
        elif not is_scaled(code.statement(use), use):
            plain.append(use)
    return plain, [*branches]


def is_scaled(statement: ast.stmt, use: ast.Name) -> bool:
    """Whether it is `name *= n`."""
    return (
        isinstance(statement, ast.AugAssign)
        and statement.target is use
        and isinstance(statement.op, (ast.Mult, ast.Add, ast.Sub))
        and is_plain(statement.value)
    )


def _at(spot: Spot, use: ast.expr) -> Spot:
    """Return the place of a use, as that of a read."""
    statement = spot.code.statement(use)
    body, index = spot.code.block(statement)
    return spot._replace(node=use, statement=statement, body=body, at=index)
