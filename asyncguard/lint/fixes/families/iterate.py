"""A loop over the rows of a tensor that reads each: read the tensor once, and loop over the list.

`for index in hits: if index == last: ...` waits in every round. `hits.tolist()` waits once. All
uses of the row must mean the same of a number: comparing it, indexing with it, reading it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.words import words
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


def _loop(spot: Spot) -> ast.For | None:
    """Return the innermost loop around a torch finding, if it gives names to rows of a tensor."""
    if spot.finding.framework != "torch":
        return None
    loops = flow.loops_around(spot.code, spot.node)
    loop = loops[0] if loops else None
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    return loop if _is_tensor(spot, loop.iter) else None


def _is_tensor(spot: Spot, node: ast.expr) -> bool:
    """Whether an expression is plainly a tensor: a list of tensors has no `tolist`."""
    return bool(_producer(spot.code, node))


def _producer(code: Code, node: ast.expr) -> str:
    """Return the method that makes a tensor, of a name too that stands for its result; or ""."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_bare = not node.args and not node.keywords
        return node.func.attr if node.func.attr in _PRODUCERS and is_bare else ""
    if isinstance(node, ast.Name):
        values = flow.assignments(code.scope(node), node.id)
        return _producer(code, values[0]) if len(values) == 1 and values[0] is not None else ""
    return ""


def _is_of_row(loop: ast.For, spot: Spot) -> bool:
    """Whether what waits is the row, or a comparison of it with something on the host."""
    assert isinstance(loop.target, ast.Name)
    node = spot.node
    value = read_value(node)
    if value is not None:
        return flow.root(value) == loop.target.id
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return flow.root(node.left) == loop.target.id
    return False


def _edits(code: Code, loop: ast.For) -> tuple[Edit, ...] | None:
    assert isinstance(loop.target, ast.Name)
    row = loop.target.id
    scope = code.scope(loop)
    inside = [use for use in flow.uses(loop, row) if use is not loop.target]
    if len(flow.uses(scope, row)) != len(inside) + 1 or not flow.is_private(code, scope, row):
        return None
    numbers = _numbers(code, loop, [use for use in inside if isinstance(use, ast.Name)])
    if numbers is None:
        return None
    edits = [code.replace(loop.iter, f"{code.operand(loop.iter)}{numbers}")]
    for use in inside:
        assert isinstance(use, ast.Name)
        edit = _use(code, use, row)
        if edit is None:
            return None
        edits += edit
    return tuple(edits)


def _numbers(code: Code, loop: ast.For, uses: Sequence[ast.Name]) -> str | None:
    """Return how a tensor becomes a list whose elements are used as its rows were.

    A row of a table becomes a list, which is no number: it must be taken apart. None where some
    uses take it for a number and others apart.
    """
    loads = [use for use in uses if isinstance(use.ctx, ast.Load)]
    apart = [use for use in loads if _is_taken_apart(code, use)]
    is_unpacked = any(isinstance(use.ctx, ast.Store) for use in uses)
    if _producer(code, loop.iter) not in _TABLES:
        return ".tolist()" if not apart else None
    if not apart:
        return ".flatten().tolist()"
    return ".tolist()" if is_unpacked or len(apart) == len(loads) else None


def _is_taken_apart(code: Code, use: ast.Name) -> bool:
    parent = code.parent(use)
    return isinstance(parent, ast.Subscript) and parent.value is use


def _use(code: Code, use: ast.Name, row: str) -> list[Edit] | None:
    """Return how a use of the row has to change; None if it may want a tensor."""
    node: ast.expr = use
    parent = code.parent(node)
    if isinstance(use.ctx, ast.Store):
        return [] if _unpacks(code.parent(use), row) else None
    while isinstance(parent, ast.Subscript) and parent.value is node:
        if not isinstance(parent.slice, ast.Constant):
            return None
        node, parent = parent, code.parent(parent)
    if isinstance(parent, ast.Assign):
        return [] if _unpacks(parent, row) else None
    if isinstance(parent, ast.Attribute):
        return _without_read(code, node, parent)
    if isinstance(parent, ast.Call):
        known = isinstance(parent.func, ast.Name) and parent.func.id in _BUILTINS
        return [] if known and parent.args == [node] and not parent.keywords else None
    return [] if _is_as_number(node, parent) else None


def _unpacks(statement: ast.AST | None, row: str) -> bool:
    """Whether it is `row = row[0]`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    return (
        isinstance(target, ast.Name)
        and target.id == row
        and isinstance(value, ast.Subscript)
        and isinstance(value.value, ast.Name)
        and value.value.id == row
    )


def _without_read(code: Code, node: ast.expr, attribute: ast.Attribute) -> list[Edit] | None:
    call = code.parent(attribute)
    if attribute.attr != "item" or not isinstance(call, ast.Call) or call.args:
        return None
    return [code.replace(call, code.source(node))]


def _is_as_number(node: ast.expr, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Compare):
        return len(parent.ops) == 1 and parent.left is node
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    return isinstance(parent, ast.FormattedValue)
