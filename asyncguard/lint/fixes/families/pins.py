"""Pin the sources of copies that block despite `non_blocking=True`, or make them dense.

What is made once is pinned where it is made. What each round makes or fills is copied to pinned
memory of its own, which torch keeps and hands out again once the copy from it is over: so nobody
has to wait for an event before it is filled anew, and no copy can read the next round's values
(ASG405). What is copied into memory that is not pinned is left alone: its readers
count on the wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow, refills
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.labels import GAPS
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax.nodes import (
    Expression,
    has_star,
    is_name,
    keyword,
    keywords,
    method,
    name_of,
    positional,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 62
_TAKES_OPTION = words("factory.pins")
_UPLOADS = words("upload.apis")
_NEEDS = "which needs an accelerator, and memory that is never swapped"


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield a repair for each upload that blocks despite `non_blocking=True`."""
    for spot in spots:
        is_held = spot.finding.code == "ASG108" and spot.finding.api in _UPLOADS
        fix = _fix(spot) if is_held else None
        if fix is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, source = spot.code, _source(spot.node)
    if source is None or not _can_pin(spot) or "#" in code.source(source):
        return None
    gaps = GAPS in spot.finding.message
    made = _made_once(spot, source) if not gaps else None
    if made is not None:
        line = code.line(code.statement(made))
        message = f"pin `{code.source(source)}` where it is made (line {line}), {_NEEDS}"
        return Fix(message, (_pinned(code, made, gaps),), Applicability.UNSAFE)
    told = "to contiguous pinned memory" if gaps else "to pinned memory"
    message = f"copy `{flat(code.source(source))}` {told} first, {_NEEDS}"
    return Fix(message, (_pinned(code, source, gaps),), Applicability.UNSAFE)


def _can_pin(spot: Spot) -> bool:
    return spot.dialect is not None and spot.dialect.pinning


def _source(node: Expression) -> Expression | None:
    """Return `x` of `x.to(device)` and of `y.copy_(x)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if not is_in_place(method(node)):
        return node.func.value
    handed = positional(node)
    if handed:
        return None if has_star(node) else handed[0]
    return keyword(node, "src")


def _made_once(spot: Spot, source: Expression) -> Expression | None:
    """Return what makes a variable outside the loop that copies it, and that nobody fills anew."""
    code, scope = spot.code, spot.scope
    if not is_name(source) or not flow.is_private(code, scope, name_of(source)):
        return None
    values = flow.assignments(scope, name_of(source))
    loops = flow.loops_around(code, spot.node)
    made = values[0] if len(values) == 1 else None
    if not isinstance(made, (cst.Call, cst.BinaryOperation)) or not loops:
        return None
    if "#" in code.source(made) or code.line(code.statement(made)) >= code.line(loops[-1]):
        return None
    if refills.is_refilled(spot, source) or refills.has_other_names(spot, source):
        return None
    return made


def _pinned(code: Code, value: Expression, gaps: bool) -> Edit:
    """Write a tensor so that it is one piece of pinned memory."""
    is_maker = isinstance(value, cst.Call) and code.meaning(value.func) in _TAKES_OPTION
    if isinstance(value, cst.Call) and is_maker and positional(value):
        told, text = keywords(value).keys(), code.source(value)
        if not gaps and not told & {"", "pin_memory", "out", "device"}:
            inner = text[:-1].rstrip().removesuffix(",")
            return code.replace(value, f"{inner}, pin_memory=True)")
    dense = ".contiguous()" if gaps else ""
    return code.replace(value, f"{code.operand(value)}{dense}.pin_memory()")
