"""A number that each step reads, and a branch of every n-th step uses: read it there.

`value = loss.item()` above `if step % 100 == 0: print(value)` waits a hundred times for one line of
output. The assignment moves to the top of the branch. Where reports of each step alone use it, they
are made every n-th step, and it is read there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import SCOPES, Code
from asyncguard.lint.fixes.families import logs
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read whose value a later branch alone uses."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    statement, code, name = spot.statement, spot.code, spot.assigned
    first, last = statement.lineno, statement.end_lineno
    if not name or first != last or not code.is_alone(statement) or not flow.is_pure(spot.node):
        return None
    uses = _uses(spot, name)
    text = code.lines[first - 1].strip()
    if not uses:
        return None
    if (gate := _gate(spot, uses)) is not None:
        read = code.insert_before(gate.body[0], text)
        message = f"read `{name}` only in the steps that use it"
        return Fix(message, (_without(code, statement), read), Applicability.UNSAFE)
    if (found := _reported(spot, uses, text)) is not None:
        test, edits = found
        message = f"report, and read `{name}` for it, only in the steps where `{test}`"
        edits = (_without(code, statement), *edits)
        return Fix(message, edits, Applicability.UNSAFE, reports_less=True)
    return None


def _without(code: Code, statement: ast.stmt) -> Edit:
    """Delete the line of a statement, which goes elsewhere with its comment."""
    line = statement.lineno
    is_last = line >= len(code.lines)
    return (
        Edit(line, 0, line, len(code.lines[line - 1]), "")
        if is_last
        else Edit(line, 0, line + 1, 0, "")
    )


def _uses(spot: Spot, name: str) -> Sequence[ast.AST]:
    """Return the uses of a variable that nobody else knows."""
    if isinstance(spot.scope, SCOPES) and not flow.is_private(spot.code, spot.scope, name):
        return ()
    return flow.uses(spot.scope, name, [spot.statement])


def _reported(
    spot: Spot, uses: Sequence[ast.AST], text: str
) -> tuple[str, tuple[Edit, ...]] | None:
    """Return how the reports of a loop that alone use a variable are made every n-th step."""
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    lines = list(dict.fromkeys(spot.code.statement(use) for use in uses))
    if not isinstance(loop, ast.For) or spot.body is not loop.body:
        return None
    if not all(line in loop.body and line.lineno > spot.node.lineno for line in lines):
        return None
    at = loop.body.index(lines[0])
    if loop.body[at : at + len(lines)] != lines or _changes(spot, loop.body[spot.at + 1 : at]):
        return None
    return logs.thinned(spot.code, loop, lines, text)


def _gate(spot: Spot, uses: Sequence[ast.AST]) -> ast.If | None:
    """Return the branch of the same block that holds every use of the variable."""
    other = _holder(spot, uses[0])
    if not isinstance(other, ast.If) or not flow.is_periodic(other.test):
        return None
    inside = frozenset[ast.AST]().union(*map(flow.parts, other.body))
    if not inside.issuperset(uses) or spot.code.indent(other.body[0]) is None:
        return None
    between = [*spot.body[spot.at + 1 : spot.body.index(other)], other.test]
    return None if _changes(spot, between) else other


def _changes(spot: Spot, between: Sequence[ast.AST]) -> bool:
    """Whether what stands between a read and its new place may change what is read."""
    if any(isinstance(n, _PAUSING) for part in between for n in flow.walk_own(part)):
        return True
    if effects.is_written(spot.code, between, spot.node):
        return True
    return effects.may_change(spot.code, between, spot.node) and not _is_of_step(spot)


def _holder(spot: Spot, node: ast.AST) -> ast.stmt | None:
    """Return the later statement of the spot's block that a node is in."""
    for part in (node, *spot.code.parents(node)):
        if isinstance(part, ast.stmt) and part in spot.body[spot.at + 1 :]:
            return part
    return None


_PAUSING = (ast.Yield, ast.YieldFrom, ast.Await)


def _is_of_step(spot: Spot) -> bool:
    """Whether the step makes the value anew, so that no later work of it, such as an optimizer's
    step, changes what is read.
    """
    loop = next(iter(flow.loops_around(spot.code, spot.node)), None)
    if loop is None or any(_is_data(spot, part) for part in parsed.walk(spot.node)):
        return False
    return all(flow.is_made_in(loop, name) for name in flow.names(spot.node) - _FUNCTIONS)


_FUNCTIONS = frozenset({"float", "int", "bool", "str", "torch"})


def _is_data(spot: Spot, node: ast.AST) -> bool:
    """Whether it takes an attribute that is not a method: `p.grad`."""
    if not isinstance(node, ast.Attribute):
        return False
    parent = spot.code.parent(node)
    return not (isinstance(parent, ast.Call) and parent.func is node)
