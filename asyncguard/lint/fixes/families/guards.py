"""Branches that ask the device whether there is anything to do, where doing it anyway is the same.

`if mask.any(): x[mask] = 0` writes nothing where nothing is true. `x[m].mean() if m.any() else 0`
is a weighted mean. `if norm > limit: grad *= limit / norm` is a factor of at most one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.families import shapes, truth
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kinds import is_mask
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    body,
    constant,
    method,
    name_of,
    only,
    same,
    targets,
)
from asyncguard.model import Applicability, Fix

ORDER = 14


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each branch that need not ask."""
    torch = [spot for spot in spots if spot.finding.framework == "torch"]
    for spot in torch:
        if spot.finding.code != "ASG104" or spot.code.name_for("torch") is None:
            continue
        if (mean := _mean(spot)) is not None:
            taken = [s for s in torch if s.node in flow.parts(mean[0])]
            yield Repair(mean[1], tuple(taken))
        elif (fix := _masked_write(spot) or _limit(spot)) is not None:
            yield Repair(fix, (spot,))


def _asked(code: Code, node: Expression) -> Expression | None:
    """Return `m` of `m.any()` and `torch.any(m)`, if the code shows a mask."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    if code.meaning(node.func) == "torch.any":
        mask = only(node)
    else:
        mask = node.func.value if method(node) == "any" and not node.args else None
    return mask if mask is not None and is_mask(code, mask) and flow.is_pure(mask) else None


# ---- if m.any(): x[m] = 0


def _masked_write(spot: Spot) -> Fix | None:
    """Write without asking first."""
    code, branch = spot.code, spot.statement
    if not isinstance(branch, cst.If) or branch.orelse or code.indent(branch) is None:
        return None
    mask = _asked(code, spot.node)
    rest = truth.rest_of_test(code, branch.test, spot.node)
    if mask is None or rest is None or not all(_writes(code, s, mask) for s in body(branch)):
        return None
    if isinstance(branch.test, cst.UnaryOperation):
        return None
    edits = truth.without_test(code, branch) if not rest else (code.replace(branch.test, rest),)
    if edits is None:
        return None
    text = flat(code.source(mask))
    message = f"write without asking first: where `{text}` is nowhere true, nothing is written"
    return Fix(message, edits, Applicability.UNSAFE)


def _writes(code: Code, statement: cst.CSTNode, mask: Expression) -> bool:
    """Whether a statement writes a number where a mask is true, which waits for nothing."""
    if not isinstance(statement, cst.Assign) or len(statement.targets) > 1:
        return False
    written = shapes.masked(targets(statement)[0])
    if written is None or not same(written[1], mask):
        return False
    return flow.is_pure(written[0]) and is_number(code, statement.value)


# ---- x[m].mean() if m.any() else 0


def _mean(spot: Spot) -> tuple[cst.IfExp, Fix] | None:
    """Reduce with a fixed shape, so that nothing depends on whether there is an element."""
    code, choice = spot.code, spot.code.parent(spot.node)
    if not isinstance(choice, cst.IfExp) or choice.test is not spot.node:
        return None
    mask, zero = _asked(code, spot.node), choice.orelse
    if mask is None or constant(zero) != 0:
        return None
    reduced = _reduced(choice.body)
    if reduced is None or not same(reduced[1], mask) or not flow.is_pure(reduced[0]):
        return None
    value, _, how = reduced
    text = shapes.reduced(code, value, mask, how, ".clamp(min=1)")
    message = f"reduce with a fixed shape; without an element it is a tensor, `{code.source(zero)}`"
    return choice, shapes.with_shapes(spot, value, mask, message, code.replace(choice, text))


def _reduced(node: Expression) -> tuple[Expression, Expression, str] | None:
    """Return `x`, `m` and how of `x[m].mean()` and `x[m].sum()`."""
    if not isinstance(node, cst.Call) or node.args:
        return None
    if not isinstance(node.func, cst.Attribute) or method(node) not in {"mean", "sum"}:
        return None
    taken = shapes.masked(node.func.value)
    return (*taken, method(node)) if taken is not None else None


# ---- if norm > limit: grad *= limit / norm


def _limit(spot: Spot) -> Fix | None:
    """Scale by at most one, always."""
    code, branch = spot.code, spot.statement
    if not isinstance(branch, cst.If) or branch.orelse or branch.test is not spot.node:
        return None
    bounds = _bounds(branch.test)
    scaled = _scaled(branch)
    if bounds is None or scaled is None:
        return None
    norm, limit = bounds
    factor = scaled.value
    if not isinstance(scaled.operator, cst.MultiplyAssign):
        return None
    if not isinstance(factor, cst.BinaryOperation) or not isinstance(factor.operator, cst.Divide):
        return None
    name = name_of(norm)
    if not same(factor.left, limit) or not same(factor.right, norm) or not name:
        return None
    text = flat(code.source(factor))
    edits = truth.dedented(code, branch, code.replace(factor, f"({text}).clamp(max=1)"))
    if edits is None:
        return None
    message = f"scale by `{text}` or 1 without asking first; if `{name}` is NaN, so is the result"
    return Fix(message, edits, Applicability.UNSAFE)


def _bounds(test: Expression) -> tuple[Expression, Expression] | None:
    """Return `norm` and `limit` of `norm > limit` and `limit < norm`."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) > 1:
        return None
    left, right = nodes.compared(test)
    if nodes.operator(test) in {cst.GreaterThan, cst.GreaterThanEqual}:
        return left, right
    is_below = nodes.operator(test) in {cst.LessThan, cst.LessThanEqual}
    return (right, left) if is_below else None


def _scaled(branch: cst.If) -> cst.AugAssign | None:
    """Return the one statement of a branch, which a loop may run for each of several tensors."""
    first, *more = body(branch)
    while not more and isinstance(first, cst.For) and not (first.orelse or first.asynchronous):
        first, *more = body(first)
    return first if isinstance(first, cst.AugAssign) and not more else None
