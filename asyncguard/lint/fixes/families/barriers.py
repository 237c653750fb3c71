"""Barriers in a loop: delete one that the next read makes needless, move others behind the loop.

Where a function measures time, uses streams or copies without blocking, its barriers may be what
makes it right, and stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.dialects import call
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import body, method
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20
_EVERYTHING = words("barrier.everything")
_RELEASE = words("barrier.release")
_DELICATE = pattern("barrier.clocked"), pattern("barrier.copies")
_READS = words("read.any")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each barrier that stands alone as a statement of a loop."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, statement = spot.code, spot.statement
    api = spot.finding.api
    if api not in _EVERYTHING | _RELEASE or not isinstance(statement, cst.Expr):
        return None
    if statement.value is not spot.node or not code.is_alone(statement) or len(spot.body) == 1:
        return None
    if _is_delicate(spot):
        return None
    text = code.source(spot.node)
    if api in _RELEASE:
        return _behind(spot, f"call `{text}` once behind the loop; memory stays with the allocator")
    rest = spot.body[spot.at + 1 :]
    following = next((s for s in rest if _reads(s) or not flow.is_quiet(s)), None)
    if following is not None and _reads(following):
        near = "line" if following is rest[0] else "read"
        message = f"delete `{text}`: the next {near} waits for what it reads"
        return Fix(message, (code.delete(statement),), Applicability.UNSAFE)
    message = f"wait once behind the loop; `{text}` let the device run dry in each step"
    if spot.dialect is not None and spot.dialect.wait:
        one = call(spot.dialect.wait, "value", None)
        message += f", but kept the queue short; `{one}` does so too, if memory becomes tight"
    return _behind(spot, message)


def _is_delicate(spot: Spot) -> bool:
    """Whether something near the barrier may need it."""
    text = spot.scope_text
    return any(pattern.search(text) for pattern in _DELICATE)


def _reads(statement: cst.CSTNode) -> bool:
    """Whether a plain statement begins with a read that waits."""
    if not isinstance(statement, (cst.Assign, cst.AugAssign, cst.Expr)):
        return False
    return any(method(part) in _READS and not part.args for part in nodes.walk(statement))


def _behind(spot: Spot, message: str) -> Fix | None:
    """Move the barrier behind the loop that it is a statement of."""
    code, statement = spot.code, spot.statement
    loops = flow.loops_around(code, statement)
    if not loops or spot.body != body(loops[0]) or code.indent(loops[0]) is None:
        return None
    if loops[0].orelse:
        return None
    if flow.may_swallow(code, statement, loops[0]):
        return None
    line = code.line(statement)
    text = code.lines[line - 1].strip()
    if line != code.last_line(statement):
        return None
    edits: tuple[Edit, ...]
    if statement is spot.body[-1]:  # it only leaves the loop
        end = len(code.lines[line - 1])
        edits = (Edit(line, 0, line, end, f"{code.indent(loops[0])}{text}"),)
    else:
        edits = (code.delete(statement), code.insert_after(loops[0], text))
    return Fix(message, edits, Applicability.UNSAFE)
