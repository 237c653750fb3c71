"""A read that says the same in every round of a loop or comprehension: read once before it.

`[torch.split(x, lengths.tolist()) for x in (q, k, v)]` reads the lengths three times;
`for i in rows: ids.append(table.tolist()[i])` reads the table once a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import changes, flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Fix

ORDER = 10
_READS = words("read.any")
_SCALAR = words("read.scalar")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each read that does not depend on what its comprehension binds."""
    for spot in spots:
        if (fix := _comprehension(spot) or _loop(spot)) is not None:
            yield Repair(fix, (spot,))


def _comprehension(spot: Spot) -> Fix | None:
    code, node = spot.code, spot.node
    around: flow.Comprehension | None = next(
        (p for p in code.parents(node) if isinstance(p, flow.COMPREHENSIONS)), None
    )
    if around is None or not _is_read(node) or not flow.is_pure(node):
        return None
    if code.around(around, (*flow.COMPREHENSIONS, ast.Lambda)) is not None:
        return None
    if len(around.generators) != 1 or not _has_elements(around.generators[0]):
        return None
    if not _is_in_every_round(code, node, around):
        return None
    if flow.names(node) & flow.bound(around.generators[0].target):
        return None
    if code.indent(spot.statement) is None or not flow.is_certain(code, around, spot.statement):
        return None
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    owner = node.func.value
    name = code.fresh(f"{owner.id}_values" if isinstance(owner, ast.Name) else "values")
    text = flat(code.source(node))
    edits = (code.insert_before(spot.statement, f"{name} = {text}"), code.replace(node, name))
    return Fix(f"read `{text}` once, not in every round", edits, Applicability.SAFE)


def _loop(spot: Spot) -> Fix | None:
    """Read before the outermost loop in which nothing changes what is read."""
    code, node = spot.code, spot.node
    if not _is_read(node) or not flow.is_pure(node) or not _is_only_looked_at(code, node):
        return None
    if not flow.is_certain(code, node, spot.statement):
        return None
    statement, outermost = spot.statement, None
    for loop in flow.loops_around(code, node):
        if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse:
            break
        if not _stays(loop, node) or code.indent(loop) is None:
            break
        statement = outermost = loop
    if outermost is None:
        return None
    assert isinstance(node, ast.Call)
    name = code.fresh(f"{flow.root(node)}_values" if flow.root(node) else "values")
    text = flat(code.source(node))
    edits = (code.insert_before(outermost, f"{name} = {text}"), code.replace(node, name))
    message = f"read `{text}` once before the loop, also if it has no round"
    return Fix(message, edits, Applicability.UNSAFE)


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


def _stays(loop: ast.For, node: ast.expr) -> bool:
    """Whether no round of a loop changes what a read says."""
    if flow.names(node) & flow.changed_in(loop) or changes.may_change_in(loop, node):
        return False
    return _is_quiet(loop)


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
    return isinstance(source, (ast.Tuple, ast.List)) and bool(source.elts) and not generator.ifs


def _is_in_every_round(code: Code, node: ast.expr, around: ast.AST) -> bool:
    for parent in code.parents(node):
        if parent is around:
            return True
        if isinstance(parent, (ast.IfExp, ast.BoolOp, ast.Lambda)):
            return False
    return False
