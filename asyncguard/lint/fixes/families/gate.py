"""A number that each step reads, and a branch of every n-th step uses: read it there.

`value = loss.item()` above `if step % 100 == 0: print(value)` waits a hundred times for one line of
output. The assignment moves to the top of the branch. Where reports of each step alone use it, they
are made every n-th step, and it is read there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.families import logs
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import SCOPES, body, is_for
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read whose value a later branch alone uses."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    statement, code, name = spot.statement, spot.code, spot.assigned
    first, last = code.line(statement), code.last_line(statement)
    if not name or first != last or not code.is_alone(statement) or not flow.is_pure(spot.node):
        return None
    uses = _uses(spot, name)
    text = code.lines[first - 1].strip()
    if not uses:
        return None
    if (gate := _gate(spot, uses)) is not None:
        read = code.insert_before(body(gate)[0], text)
        message = f"read `{name}` only in the steps that use it"
        return Fix(message, (_without(code, statement), read), Applicability.UNSAFE)
    if (found := _reported(spot, uses, text)) is not None:
        test, edits = found
        message = f"report, and read `{name}` for it, only in the steps where `{test}`"
        edits = (_without(code, statement), *edits)
        return Fix(message, edits, Applicability.UNSAFE, reports_less=True)
    return None


def _without(code: Code, statement: cst.CSTNode) -> Edit:
    """Delete the line of a statement, which goes elsewhere with its comment."""
    line = code.line(statement)
    is_last = line >= len(code.lines)
    return (
        Edit(line, 0, line, len(code.lines[line - 1]), "")
        if is_last
        else Edit(line, 0, line + 1, 0, "")
    )


def _uses(spot: Spot, name: str) -> Sequence[cst.CSTNode]:
    """Return the uses of a variable that nobody else knows."""
    if isinstance(spot.scope, SCOPES) and not flow.is_private(spot.code, spot.scope, name):
        return ()
    return flow.uses(spot.scope, name, [spot.statement])


def _reported(
    spot: Spot, uses: Sequence[cst.CSTNode], text: str
) -> tuple[str, tuple[Edit, ...]] | None:
    """Return how the reports of a loop that alone use a variable are made every n-th step."""
    code = spot.code
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    lines = sorted({code.statement(use) for use in uses}, key=code.line)
    if not is_for(loop) or spot.body != body(loop):
        return None
    if not all(line in spot.body and code.line(line) > code.line(spot.node) for line in lines):
        return None
    at = spot.body.index(lines[0])
    if spot.body[at : at + len(lines)] != lines or _changes(spot, spot.body[spot.at + 1 : at]):
        return None
    return logs.thinned(code, loop, lines, text)


def _gate(spot: Spot, uses: Sequence[cst.CSTNode]) -> cst.If | None:
    """Return the branch of the same block that holds every use of the variable."""
    other = _holder(spot, uses[0])
    if not isinstance(other, cst.If) or not flow.is_periodic(other.test):
        return None
    inside = frozenset[cst.CSTNode]().union(*map(flow.parts, body(other)))
    if not inside.issuperset(uses) or spot.code.indent(body(other)[0]) is None:
        return None
    between = [*spot.body[spot.at + 1 : spot.body.index(other)], other.test]
    return None if _changes(spot, between) else other


def _changes(spot: Spot, between: Sequence[cst.CSTNode]) -> bool:
    """Whether what stands between a read and its new place may change what is read."""
    if any(isinstance(n, _PAUSING) for part in between for n in flow.walk_own(part)):
        return True
    if effects.is_written(spot.code, between, spot.node):
        return True
    return effects.may_change(spot.code, between, spot.node) and not _is_of_step(spot)


def _holder(spot: Spot, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the later statement of the spot's block that a node is in."""
    later = spot.body[spot.at + 1 :]
    return next((part for part in spot.code.parents(node) if part in later), None)


_PAUSING = (cst.Yield, cst.Await)


def _is_of_step(spot: Spot) -> bool:
    """Whether the step makes the value anew, so that no later work of it, such as an optimizer's
    step, changes what is read.
    """
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    if loop is None or any(_is_data(spot, part) for part in nodes.walk(spot.node)):
        return False
    return all(flow.is_made_in(loop, name) for name in flow.names(spot.node) - _FUNCTIONS)


_FUNCTIONS = frozenset({"float", "int", "bool", "str", "torch"})


def _is_data(spot: Spot, node: cst.CSTNode) -> bool:
    """Whether it takes an attribute that is not a method: `p.grad`."""
    if not isinstance(node, cst.Attribute):
        return False
    parent = spot.code.parent(node)
    return not (isinstance(parent, cst.Call) and parent.func is node)
