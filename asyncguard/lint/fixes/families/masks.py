"""Several reads or writes with one mask wait once each: find its places once.

`x[mask]` is `x[mask.nonzero(as_tuple=True)]`: the places of the true elements, for which Python
waits, then a gather, for which it does not. Of `a, b, c = x[mask], y[mask], z[mask]` one wait is
left, with the same values, the same order and the same gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import LISTS, Expression, elements, is_constant, name_of, same
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20
_APIS = words("mask.subscripts")
Part = Expression | cst.Slice  # of an index


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each group of subscripts with one mask."""
    left = [s for s in spots if s.finding.api in _APIS and _mask(s.node) is not None]
    while left:
        first, *others = left
        group = [first, *(other for other in others if _goes_with(first, other))]
        left = [spot for spot in left if spot not in group]
        if len(_distinct(group)) > 1 and _can_begin(first):
            yield Repair(_fix(group), tuple(group))


def _mask(node: Expression) -> Expression | None:
    """Return `m` of `x[m]`, `x[m, :]`, `x[:, m]` and `x[..., m, 0]`."""
    if not isinstance(node, cst.Subscript) or any(_is_starred(each) for each in node.slice):
        return None
    masks = [part for part in _parts(node) if not _is_basic(part)]
    mask = masks[0] if len(masks) == 1 else None
    return None if isinstance(mask, (cst.Slice, cst.StarredElement, *LISTS)) else mask


def _is_starred(element: cst.SubscriptElement) -> bool:
    return isinstance(element.slice, cst.Index) and element.slice.star == "*"


def _parts(node: cst.Subscript) -> Sequence[Part]:
    """Return what stands for each dimension, a tuple in the brackets taken apart."""
    index = nodes.index(node)
    return elements(index) if isinstance(index, cst.Tuple) else nodes.indices(node)


def _is_basic(part: Part) -> bool:
    """Whether a part of an index is a slice, a number, `...` or None."""
    if isinstance(part, cst.UnaryOperation) and isinstance(part.operator, cst.Minus):
        part = part.expression
    return isinstance(part, cst.Slice) or is_constant(part)


def _is_whole(part: Part) -> bool:
    return isinstance(part, cst.Slice) and part.lower is part.upper is part.step is None


def _index(code: Code, parts: Sequence[Part], mask: Expression, name: str) -> str:
    """Write an index with the places in place of the mask."""
    at = parts.index(mask)
    if at == 0 and all(map(_is_whole, parts[1:])):
        return name
    texts = [_part(code, part) for part in parts]
    return f"({', '.join([*texts[:at], f'*{name}', *texts[at + 1 :]])})"


def _indexed(code: Code, node: cst.Subscript, text: str) -> Edit:
    """Write another index into the brackets of a subscript."""
    if len(node.slice) == 1 and not isinstance(node.slice[0].comma, cst.Comma):
        return code.replace(nodes.indices(node)[0], text)
    line, column, _, _ = code.span(node.slice[0])
    inner = code.source(node)[:-1].rstrip().split("\n")
    start = code.span(node)[1] if len(inner) == 1 else 0
    end_line = code.line(node) + len(inner) - 1
    return Edit(line, column, end_line, start + len(inner[-1]), text)


def _part(code: Code, node: Part) -> str:
    if not isinstance(node, cst.Slice):
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
    if any(isinstance(parent, cst.GeneratorExp) for parent in first.code.parents(other.node)):
        return False  # it runs when it is asked
    runs_on = first.body[last] is not other.statement or isinstance(other.statement, cst.While)
    earlier = effects.before(first.code, other.statement, other.node)
    between = [*first.body[first.at : last + runs_on], *earlier]
    return not effects.changes_in_view(first.code, between, left)


def _index_within(first: Spot, other: Spot) -> int | None:
    """Return which statement of the first's block holds the other."""
    around = (other.statement, *other.code.parents(other.statement))
    return next((first.body.index(part) for part in around if part in first.body), None)


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
    name = code.fresh(f"{name_of(mask) or 'mask'}_index")
    edits = [code.insert_before(first.statement, f"{name} = {_places(code, mask)}")]
    nodes = {id(spot.node): spot.node for spot in group}
    for node in nodes.values():
        assert isinstance(node, cst.Subscript)
        own = _mask(node)
        assert own is not None
        edits.append(_indexed(code, node, _index(code, _parts(node), own, name)))
    text = code.source(mask)
    message = (
        f"find the places of `{text}` once: one wait instead of {len(nodes)}, same values; that a "
        "mask is of another size than what it chooses from may go unnoticed"
    )
    return Fix(message, tuple(edits), Applicability.UNSAFE)


def _places(code: Code, mask: Expression) -> str:
    text = code.operand(mask)
    return f"{flat(text)}.nonzero(as_tuple=True)"
