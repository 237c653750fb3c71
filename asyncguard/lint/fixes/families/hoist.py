"""A read that says the same in every round of a loop or comprehension: read once before it.

`[torch.split(x, lengths.tolist()) for x in (q, k, v)]` reads the lengths three times;
`for i in rows: ids.append(table.tolist()[i])` reads the table once a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import aliases, effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import COMPREHENSIONS, Expression, body, method, positional, root
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
_READS = words("read.any")
_SCALAR = words("read.scalar")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read that does not depend on what its comprehension binds."""
    for spot in spots:
        if not _is_read(spot.node) or not flow.is_pure(spot.node):
            continue
        if (fix := _comprehension(spot) or _loop(spot)) is not None:
            yield Repair(fix, (spot,))


def _comprehension(spot: Spot) -> Fix | None:
    code, node = spot.code, spot.node
    around = code.around(node, COMPREHENSIONS)
    if around is None or isinstance(around, cst.GeneratorExp):  # which runs when it is asked
        return None
    if code.around(around, (*COMPREHENSIONS, cst.Lambda)) is not None:
        return None
    clause, *more = nodes.clauses(around)
    if more or not _has_elements(clause):
        return None
    if not _is_in_every_round(code, node, around) or flow.is_rebound(code, node, node):
        return None
    if code.indent(spot.statement) is None or not flow.is_certain(code, around, spot.statement):
        return None
    if effects.changes_in_view(code, [around], node):
        return None
    text = flat(code.source(node))
    message = f"read `{text}` once, not in every round"
    if _is_proven(spot, around):
        return Fix(message, _edits(spot, spot.statement), Applicability.SAFE)
    if not _is_handed_on(code, node):
        return None  # each round has a list of its own
    message += ", if no round changes it, nor the list"
    return Fix(message, _edits(spot, spot.statement), Applicability.UNSAFE)


def _is_proven(spot: Spot, around: Expression) -> bool:
    """Whether each round reads the same, does so first of all, and only looks at it."""
    code, node = spot.code, spot.node
    return (
        effects.is_repeatable(code, node)
        and not effects.may_change(code, [around], node)
        and effects.may_lead(code, spot.statement, node)
        and (sorts.is_plain(code, node) or _is_consumed(code, node))
    )


def _is_handed_on(code: Code, node: Expression) -> bool:
    """Whether what is read is a number, or a list that is looked at or given to a call."""
    parent = code.outer(node)
    given = isinstance(parent, cst.Call) and node in positional(parent)
    return given or sorts.is_plain(code, node) or _is_only_looked_at(code, node)


def _is_consumed(code: Code, node: Expression) -> bool:
    """Whether a list or array that is read is only looked at, by a library or for an element."""
    parent = code.outer(node)
    if (
        isinstance(parent, cst.Call)
        and node in positional(parent)
        and aliases.is_known(code, parent)
    ):
        return method(parent) in _TAKING and effects.is_inert(code, [parent])
    return _is_only_looked_at(code, node)


_TAKING = words("sort.fresh") | words("sort.several")


def _loop(spot: Spot) -> Fix | None:
    """Read before the outermost loop in which nothing changes what is read."""
    code, node = spot.code, spot.node
    if not _is_only_looked_at(code, node) or not flow.is_certain(code, node, spot.statement):
        return None
    statement, outermost = spot.statement, None
    for loop in flow.loops_around(code, node):
        if not nodes.is_for(loop) or statement not in body(loop) or loop.orelse:
            break
        if not _stays(code, loop, node) or code.indent(loop) is None:
            break
        statement = outermost = loop
    if outermost is None:
        return None
    message = f"read `{flat(code.source(node))}` once before the loop, also if it has no round"
    return Fix(message, _edits(spot, outermost), Applicability.UNSAFE)


def _edits(spot: Spot, statement: cst.CSTNode) -> tuple[Edit, ...]:
    """Read before a statement, and write the name of what was read where it was."""
    code, node = spot.code, spot.node
    name = code.fresh(f"{root(node)}_values" if root(node) else "values")
    line = code.insert_before(statement, f"{name} = {flat(code.source(node))}")
    return line, code.replace(node, name)


def _is_only_looked_at(code: Code, node: Expression) -> bool:
    """Whether a list that is read stays as it is: an element is taken, or it is a number."""
    if method(node) in _SCALAR:
        return True
    parent = code.outer(node)
    if not isinstance(parent, cst.Subscript) or parent.value is not node or code.is_stored(parent):
        return False
    around = code.outer(parent)
    if isinstance(around, cst.Subscript):  # as one of several indices
        return around.value is not parent and len(around.slice) > 1
    return not isinstance(around, cst.Attribute)


def _stays(code: Code, loop: cst.For, node: Expression) -> bool:
    """Whether no round of a loop changes what a read says."""
    run = effects.round_of(loop)
    if effects.is_repeatable(code, node) and not effects.may_change(code, run, node):
        return True
    return _is_quiet(loop) and not effects.changes_in_view(code, run, node)


@kept(OF_SCOPES)
def _is_quiet(loop: cst.For) -> bool:
    return all(map(flow.is_quiet, body(loop)))


def _is_read(node: Expression) -> bool:
    return isinstance(node, cst.Call) and method(node) in _READS and not node.args


def _has_elements(clause: cst.CompFor) -> bool:
    """Whether there is a round at all, and each element takes part."""
    if not isinstance(clause.iter, nodes.LISTS) or clause.ifs or clause.asynchronous is not None:
        return False
    found = nodes.elements(clause.iter)
    return bool(found) and not any(isinstance(e, cst.StarredElement) for e in found)


def _is_in_every_round(code: Code, node: Expression, around: cst.CSTNode) -> bool:
    for parent in code.parents(node):
        if parent is around:
            return True
        if isinstance(parent, (cst.IfExp, cst.BooleanOperation, cst.Lambda)):
            return False
    return False
