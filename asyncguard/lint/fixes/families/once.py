"""A list of numbers that a loop uploads in each round: upload it once before the loop.

`weight = torch.tensor([1.0, 2.0], device=device)` in a loop copies the same numbers from the host
and waits every time. It can stand before the loop if it is only computed with there, and the device
is the same in all rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import flat
from asyncguard.lint.fixes.constant import constant_of, holder_of, is_computed_with
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.syntax.nodes import COMPREHENSIONS, Expression, Loop
from asyncguard.model import Applicability, Fix

ORDER = 54  # behind what the device can make for itself, before uploads that do not wait


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each constant that is uploaded in a loop of its function."""
    for spot in spots:
        uploads = spot.finding.code == "ASG106" and spot.finding.framework == "torch"
        if uploads and (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, node = spot.code, spot.node
    constant = constant_of(code, node)
    if constant is None or not is_computed_with(code, node):
        return None
    loop = _outermost(spot, cst.parse_expression(constant.device))
    if loop is None or isinstance(spot.scope, (cst.Lambda, cst.ClassDef)):
        return None
    if any(isinstance(parent, COMPREHENSIONS) for parent in code.parents(node)):
        return None
    holder = holder_of(spot)
    name = code.fresh(f"{holder}_constant" if holder else "constant")
    value = flat(code.source(node))
    edits = (code.insert_before(loop, f"{name} = {value}"), code.replace(node, name))
    message = "upload the constant once before the loop, also if it has no round"
    return Fix(message, edits, Applicability.UNSAFE)


def _outermost(spot: Spot, device: Expression) -> Loop | None:
    """Return the outermost loop in all rounds of which the device is the same."""
    code, found = spot.code, None
    for loop in flow.loops_around(code, spot.node):
        is_async = isinstance(loop, cst.For) and loop.asynchronous is not None
        if is_async or code.indent(loop) is None:
            break
        if effects.changes_in_view(code, effects.round_of(loop), device):
            break
        found = loop
    return found
