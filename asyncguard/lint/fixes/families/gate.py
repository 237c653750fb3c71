"""A number that each step reads, and a branch of every n-th step uses: read it there.

`value = loss.item()` above `if step % 100 == 0: print(value)` waits a hundred times for one line of
output. The assignment moves to the top of the branch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import SCOPES
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Fix

ORDER = 20


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read whose value a later branch alone uses."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    statement, code = spot.statement, spot.code
    if not isinstance(statement, ast.Assign) or statement.value is not spot.node:
        return None
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return None
    gate = _gate(spot, target.id)
    first, last = statement.lineno, statement.end_lineno
    if gate is None or first != last or not code.is_alone(statement):
        return None
    if code.indent(gate.body[0]) is None or not flow.is_pure(spot.node):
        return None
    text = code.lines[first - 1].strip()
    edits = code.delete(statement), code.insert_before(gate.body[0], text)
    message = f"read `{target.id}` only in the steps that use it"
    return Fix(message, edits, Applicability.UNSAFE)


def _gate(spot: Spot, name: str) -> ast.If | None:
    """Return the branch of the same block that holds every use of the variable."""
    if isinstance(spot.scope, SCOPES) and not flow.is_private(spot.code, spot.scope, name):
        return None
    everywhere = flow.uses(spot.scope, name, [spot.statement])
    other = _holder(spot, everywhere[0]) if everywhere else None
    if not isinstance(other, ast.If) or not flow.is_periodic(other.test):
        return None
    inside = sum(len(flow.uses(part, name)) for part in other.body)
    if inside != len(everywhere):
        return None
    between = spot.body[spot.at + 1 : spot.body.index(other)]
    if flow.names(spot.node) & flow.changed([*between, other.test]):
        return None
    return other if all(map(flow.is_quiet, between)) or _is_of_step(spot) else None


def _holder(spot: Spot, node: ast.AST) -> ast.stmt | None:
    """Return the later statement of the spot's block that a node is in."""
    for part in (node, *spot.code.parents(node)):
        if isinstance(part, ast.stmt) and part in spot.body[spot.at + 1 :]:
            return part
    return None


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
