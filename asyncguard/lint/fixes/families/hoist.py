"""A read that says the same in every round of a loop or comprehension: read once before it.

`[torch.split(x, lengths.tolist()) for x in (q, k, v)]` reads the lengths three times;
`for i in rows: ids.append(table.tolist()[i])` reads the table once a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import aliases, effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
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
    around = next((p for p in code.parents(node) if isinstance(p, flow.COMPREHENSIONS)), None)
    if around is None or isinstance(around, ast.GeneratorExp):  # which runs when it is asked
        return None
    if code.around(around, (*flow.COMPREHENSIONS, ast.Lambda)) is not None:
        return None
    if len(around.generators) != 1 or not _has_elements(around.generators[0]):
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


def _is_proven(spot: Spot, around: ast.expr) -> bool:
    """Whether each round reads the same, does so first of all, and only looks at it."""
    code, node = spot.code, spot.node
    return (
        effects.is_repeatable(code, node)
        and not effects.may_change(code, [around], node)
        and effects.may_lead(code, spot.statement, node)
        and (sorts.is_plain(code, node) or _is_consumed(code, node))
    )


def _is_handed_on(code: Code, node: ast.expr) -> bool:
    """Whether what is read is a number, or a list that is looked at or given to a call."""
    parent = code.parent(node)
    given = isinstance(parent, ast.Call) and node in parent.args
    return given or sorts.is_plain(code, node) or _is_only_looked_at(code, node)


def _is_consumed(code: Code, node: ast.expr) -> bool:
    """Whether a list or array that is read is only looked at, by a library or for an element."""
    parent = code.parent(node)
    if isinstance(parent, ast.Call) and node in parent.args and aliases.is_known(code, parent):
        function = parent.func
        name = function.attr if isinstance(function, ast.Attribute) else ""
        return name in _TAKING and effects.is_inert(code, [parent])
    return _is_only_looked_at(code, node)


_TAKING = words("sort.fresh") | words("sort.several")


def _loop(spot: Spot) -> Fix | None:
    """Read before the outermost loop in which nothing changes what is read."""
    code, node = spot.code, spot.node
    if not _is_only_looked_at(code, node) or not flow.is_certain(code, node, spot.statement):
        return None
    statement, outermost = spot.statement, None
    for loop in flow.loops_around(code, node):
        if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse:
            break
        if not _stays(code, loop, node) or code.indent(loop) is None:
            break
        statement = outermost = loop
    if outermost is None:
        return None
    message = f"read `{flat(code.source(node))}` once before the loop, also if it has no round"
    return Fix(message, _edits(spot, outermost), Applicability.UNSAFE)


def _edits(spot: Spot, statement: ast.stmt) -> tuple[Edit, ...]:
    """Read before a statement, and write the name of what was read where it was."""
    code, node = spot.code, spot.node
    name = code.fresh(f"{flow.root(node)}_values" if flow.root(node) else "values")
    line = code.insert_before(statement, f"{name} = {flat(code.source(node))}")
    return line, code.replace(node, name)


def _is_only_looked_at(code: Code, node: ast.expr) -> bool:
    """Whether a list that is read stays as it is: an element is taken, or it is a number."""
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SCALAR:
        return True
    parent = code.parent(node)
    taken = isinstance(parent, ast.Subscript) and parent.value is node
    if not taken or not isinstance(parent.ctx, ast.Load):  # type: ignore[union-attr]
        return False
    around = code.parent(parent)  # type: ignore[arg-type]
    return not isinstance(around, (ast.Attribute, ast.Subscript))


def _stays(code: Code, loop: ast.For, node: ast.expr) -> bool:
    """Whether no round of a loop changes what a read says."""
    run = effects.round_of(loop)
    if effects.is_repeatable(code, node) and not effects.may_change(code, run, node):
        return True
    return _is_quiet(loop) and not effects.changes_in_view(code, run, node)


@kept(OF_SCOPES)
def _is_quiet(loop: ast.For) -> bool:
    return all(map(flow.is_quiet, loop.body))


def _is_read(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _READS
        and not node.args
        and not node.keywords
    )


def _has_elements(generator: ast.comprehension) -> bool:
    """Whether there is a round at all, and each element takes part."""
    source = generator.iter
    if not isinstance(source, (ast.Tuple, ast.List)) or generator.ifs or generator.is_async:
        return False
    return bool(source.elts) and not any(isinstance(e, ast.Starred) for e in source.elts)


def _is_in_every_round(code: Code, node: ast.expr, around: ast.AST) -> bool:
    for parent in code.parents(node):
        if parent is around:
            return True
        if isinstance(parent, (ast.IfExp, ast.BoolOp, ast.Lambda)):
            return False
    return False
