"""Several reads or writes with one mask wait once each: find its places once.

`x[mask]` is `x[mask.nonzero(as_tuple=True)]`: the places of the true elements, for which Python
waits, then a gather, for which it does not. Of `a, b, c = x[mask], y[mask], z[mask]` one wait is
left, with the same values, the same order and the same gradients.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code, flat, same
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Fix

ORDER = 20
_APIS = words("mask.subscripts")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each group of subscripts with one mask."""
    left = [s for s in spots if s.finding.api in _APIS and _mask(s.node) is not None]
    while left:
        first, *others = left
        group = [first, *(other for other in others if _goes_with(first, other))]
        left = [spot for spot in left if spot not in group]
        if len(_distinct(group)) > 1 and _can_begin(first):
            yield Repair(_fix(group), tuple(group))


def _mask(node: ast.expr) -> ast.expr | None:
    """Return `m` of `x[m]`, `x[m, :]`, `x[:, m]` and `x[..., m, 0]`."""
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice
    if isinstance(index, ast.Tuple):
        masks = [part for part in index.elts if not _is_basic(part)]
        if len(masks) != 1:
            return None
        index = masks[0]
    if isinstance(index, (ast.Slice, ast.Constant, ast.List, ast.Tuple, ast.Starred)):
        return None
    return index


def _is_basic(node: ast.expr) -> bool:
    """Whether a part of an index is a slice, a number, `...` or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, (ast.Slice, ast.Constant))


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None


def _index(code: Code, index: ast.expr, mask: ast.expr, name: str) -> str:
    """Write an index with the places in place of the mask."""
    if not isinstance(index, ast.Tuple):
        return name
    at = index.elts.index(mask)
    if at == 0 and all(map(_is_whole, index.elts[1:])):
        return name
    texts = [_part(code, part) for part in index.elts]
    return f"({', '.join([*texts[:at], f'*{name}', *texts[at + 1 :]])})"


def _part(code: Code, node: ast.expr) -> str:
    if not isinstance(node, ast.Slice):
        return code.source(node)
    parts = [node.lower, node.upper, *([node.step] if node.step is not None else [])]
    if parts[0] is None and len(parts) == 2:
        parts = parts[1:]
    texts = (flat(code.source(p)) if p is not None else "None" for p in parts)
    return f"slice({', '.join(texts)})"


def _goes_with(first: Spot, other: Spot) -> bool:
    """Whether another subscript has the mask of the first, and it means the same there."""
    left, right = _mask(first.node), _mask(other.node)
    assert left is not None
    assert right is not None
    if first.scope is not other.scope or not same(left, right) or not flow.is_pure(left):
        return False
    last = _index_within(first, other)
    if last is None or last < first.at or flow.is_rebound(first.code, other.node, left):
        return False
    if any(isinstance(parent, ast.GeneratorExp) for parent in first.code.parents(other.node)):
        return False  # it runs when it is asked
    runs_on = first.body[last] is not other.statement or isinstance(other.statement, ast.While)
    earlier = effects.before(first.code, other.statement, other.node)
    between = [*first.body[first.at : last + runs_on], *earlier]
    return not effects.changes_in_view(first.code, between, left)


def _index_within(first: Spot, other: Spot) -> int | None:
    """Return which statement of the first's block holds the other."""
    statement: ast.AST | None = other.statement
    while statement is not None:
        if isinstance(statement, ast.stmt) and statement in first.body:
            return first.body.index(statement)
        statement = other.code.parent(statement)
    return None


def _distinct(group: Sequence[Spot]) -> set[int]:
    return {id(spot.node) for spot in group}


def _can_begin(first: Spot) -> bool:
    return first.code.indent(first.statement) is not None and flow.is_certain(
        first.code, first.node, first.statement
    )


def _fix(group: Sequence[Spot]) -> Fix:
    first, code = group[0], group[0].code
    mask = _mask(first.node)
    assert mask is not None
    name = code.fresh(f"{mask.id}_index" if isinstance(mask, ast.Name) else "mask_index")
    edits = [code.insert_before(first.statement, f"{name} = {_places(code, mask)}")]
    nodes = {id(spot.node): spot.node for spot in group}
    for node in nodes.values():
        assert isinstance(node, ast.Subscript)
        own = _mask(node)
        assert own is not None
        edits.append(code.replace(node.slice, _index(code, node.slice, own, name)))
    text = code.source(mask)
    message = (
        f"find the places of `{text}` once: one wait instead of {len(nodes)}, same values; that a "
        "mask is of another size than what it chooses from may go unnoticed"
    )
    return Fix(message, tuple(edits), Applicability.UNSAFE)


def _places(code: Code, mask: ast.expr) -> str:
    text = code.operand(mask)
    return f"{flat(text)}.nonzero(as_tuple=True)"
