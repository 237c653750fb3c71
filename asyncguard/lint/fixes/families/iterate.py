"""A loop over the rows of a tensor that reads each: read the tensor once, and loop over the list.

`for index in hits: if index == last: ...` waits in every round. `hits.tolist()` waits once. All
uses of the row must mean the same of a number: comparing it, indexing with it, reading it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    function,
    is_constant,
    is_for,
    is_name,
    method,
    name_of,
    only,
    root,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
_PRODUCERS, _TABLES = words("rows.producers"), words("rows.tables")
_BUILTINS = frozenset({"int", "float", "str", "bool"})


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each loop whose rows are used as numbers alone."""
    for loop in {id(s): s for spot in spots if (s := _loop(spot)) is not None}.values():
        code = next(spot.code for spot in spots)
        inside = tuple(spot for spot in spots if _loop(spot) is loop and _is_of_row(loop, spot))
        if not inside or (edits := _edits(code, loop)) is None:
            continue
        text = code.source(loop.iter)
        message = f"read `{text}` once before the loop instead of in every round"
        yield Repair(Fix(message, edits, Applicability.UNSAFE), inside)


def _loop(spot: Spot) -> cst.For | None:
    """Return the innermost loop around a torch finding, if it gives names to rows of a tensor."""
    if spot.finding.framework != "torch":
        return None
    loops = flow.loops_around(spot.code, spot.node)
    loop = loops[0] if loops else None
    if not is_for(loop) or not is_name(loop.target) or loop.orelse:
        return None
    return loop if _producer(spot.code, loop.iter) else None  # a list of tensors has no `tolist`


def _producer(code: Code, node: Expression) -> str:
    """Return the method that makes a tensor, of a name too that stands for its result; or ""."""
    if isinstance(node, cst.Call):
        return method(node) if method(node) in _PRODUCERS and not node.args else ""
    if name := name_of(node):
        values = flow.assignments(code.scope(node), name)
        return _producer(code, values[0]) if len(values) == 1 and values[0] is not None else ""
    return ""


def _is_of_row(loop: cst.For, spot: Spot) -> bool:
    """Whether what waits is the row, or a comparison of it with something on the host."""
    node, row = spot.node, name_of(loop.target)
    value = read_value(node)
    if value is not None:
        return root(value) == row
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return root(node.left) == row
    return False


def _edits(code: Code, loop: cst.For) -> tuple[Edit, ...] | None:
    row, scope = name_of(loop.target), code.scope(loop)
    inside = [use for use in flow.uses(loop, row) if use is not loop.target]
    if len(flow.uses(scope, row)) != len(inside) + 1 or not flow.is_private(code, scope, row):
        return None
    numbers = _numbers(code, loop, inside)
    if numbers is None:
        return None
    edits = [code.replace(loop.iter, f"{code.operand(loop.iter)}{numbers}")]
    for use in inside:
        edit = _use(code, use, row)
        if edit is None:
            return None
        edits += edit
    return tuple(edits)


def _numbers(code: Code, loop: cst.For, uses: Sequence[cst.CSTNode]) -> str | None:
    """Return how a tensor becomes a list whose elements are used as its rows were.

    A row of a table becomes a list, which is no number: it must be taken apart. None where some
    uses take it for a number and others apart.
    """
    loads = [use for use in uses if not code.is_stored(use)]
    apart = [use for use in loads if _is_taken_apart(code, use)]
    is_unpacked = len(loads) < len(uses)
    if _producer(code, loop.iter) not in _TABLES:
        return ".tolist()" if not apart else None
    if not apart:
        return ".flatten().tolist()"
    return ".tolist()" if is_unpacked or len(apart) == len(loads) else None


def _is_taken_apart(code: Code, use: cst.CSTNode) -> bool:
    parent = code.outer(use)
    return isinstance(parent, cst.Subscript) and parent.value is use


def _use(code: Code, use: cst.CSTNode, row: str) -> list[Edit] | None:
    """Return how a use of the row has to change; None if it may want a tensor."""
    node, parent = use, code.outer(use)
    if code.is_stored(use):
        return [] if _unpacks(parent, row) else None
    while isinstance(parent, cst.Subscript) and parent.value is node:
        if not is_constant(nodes.index(parent)):
            return None
        node, parent = parent, code.outer(parent)
    match parent:
        case cst.Assign():
            return [] if _unpacks(parent, row) else None
        case cst.Attribute():
            return _without_read(code, node, parent)
        case cst.Call():
            return [] if function(parent) in _BUILTINS and only(parent) is node else None
    return [] if _is_as_number(code, node, parent) else None


def _unpacks(statement: cst.CSTNode | None, row: str) -> bool:
    """Whether it is `row = row[0]`."""
    match statement:
        case cst.Assign(
            targets=[cst.AssignTarget(target=target)], value=cst.Subscript(value=value)
        ):
            return name_of(target) == name_of(value) == row
    return False


def _without_read(code: Code, node: cst.CSTNode, attribute: cst.Attribute) -> list[Edit] | None:
    call = code.parent(attribute)
    if attribute.attr.value != "item" or not isinstance(call, cst.Call):
        return None
    return None if nodes.positional(call) else [code.replace(call, code.source(node))]


def _is_as_number(code: Code, node: cst.CSTNode, parent: cst.CSTNode | None) -> bool:
    if isinstance(parent, cst.Comparison):
        return len(parent.comparisons) == 1 and parent.left is node
    if isinstance(parent, cst.Subscript):
        return nodes.index(parent) is node
    return isinstance(code.parent(node), cst.FormattedStringExpression)
