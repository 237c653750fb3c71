"""A list that each step reads a number into: keep the values, and read them together at the end.

`losses.append(loss.item())` waits in each step. The values stay on the device, some hundred bytes
each, and one transfer behind the loop makes the list of numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.dialects import call, module_name
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.model import Applicability, Fix

ORDER = 12
_REUSES_MEMORY = pattern("memory.reused")
_REDUCING = words("method.reducing")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each list of no use before its loop is over."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, value = spot.code, read_value(spot.node)
    name = _list(spot)
    form = spot.dialect.together if spot.dialect is not None else ""
    module = module_name(code, spot.dialect) if spot.dialect is not None else None
    if value is None or name is None or not form or module is None:
        return None
    loop = outermost(spot, name)
    if loop is None or not is_only_filled(spot, name, loop) or not _is_kept(spot, value, loop):
        return None
    if converts_to(spot.node) == "int" and infer(code, value).number != "int":
        return None
    kept = _kept(spot, value, form, module)
    inner = " " * 4 if "\t" not in (code.indent(loop) or "") else "\t"
    read = f"{inner}{name} = {form.format(module=module, name=name)}"
    edits = (
        code.replace(spot.node, kept),
        code.insert_after(loop, f"if {name}:", read),
    )
    message = f"keep the values of `{name}` on the device and read them together behind the loop"
    return Fix(message, edits, Applicability.UNSAFE)


def _kept(spot: Spot, value: ast.expr, form: str, module: str | None) -> str:
    """Return the source of a value as it is kept: without its graph, and its own."""
    code, shape = spot.code, infer(spot.code, value)
    detach = spot.dialect.detach if spot.dialect is not None and shape.number != "int" else ""
    kept = f"{code.operand(value)}{detach}" if detach else code.source(value)
    if not shape.scalar and ".stack" in form and spot.dialect is not None:
        detached = f"{code.operand(value)}{detach}"
        kept = call(spot.dialect.scalar, detached, module)
    if isinstance(value, ast.Name) and not shape.scalar and spot.finding.framework == "torch":
        kept = f"{kept}.clone()"  # who made it may write to it again
    return kept


def _list(spot: Spot) -> str | None:
    """Return the list that a statement does no more than append the read to."""
    statement = spot.statement
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args != [spot.node] or call.keywords:
        return None
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "append":
        return None
    return function.value.id if isinstance(function.value, ast.Name) else None


def outermost(spot: Spot, name: str) -> ast.For | ast.While | None:
    """Return the outermost loop between the empty list and the append."""
    code = spot.code
    for loop in flow.loops_around(code, spot.node):
        body, index = code.block(loop)
        for before in reversed(body[:index]):
            if _is_emptied(before, name):
                plain = isinstance(loop, (ast.For, ast.While)) and code.indent(loop) is not None
                return loop if plain else None  # type: ignore[return-value]
            if flow.uses(before, name):
                return None
    return None


def _is_emptied(statement: ast.stmt, name: str) -> bool:
    """Whether it is `name = []`, or `name, other = [], []`."""
    if isinstance(statement, ast.AnnAssign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(statement.target, statement.value)]
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
    else:
        return False
    return any(
        isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.List)
        and not value.elts
        for target, value in pairs
    )  # fmt: skip


def is_only_filled(spot: Spot, name: str, loop: ast.For | ast.While) -> bool:
    code, scope = spot.code, spot.scope
    if isinstance(scope, (ast.Lambda, ast.ClassDef)) or not flow.is_private(code, scope, name):
        return False
    if flow.uses(loop, name, [spot.statement]) or flow.may_swallow(code, spot.statement, loop):
        return False
    if any(isinstance(node, ast.Return) for node in flow.walk_own(loop)):
        returned = [n for n in flow.walk_own(loop) if isinstance(n, ast.Return)]
        if any(flow.uses(statement, name) for statement in returned):
            return False
    return not flow.may_swallow(code, loop, scope)


def _is_kept(spot: Spot, value: ast.expr, loop: ast.For | ast.While) -> bool:
    """Whether each step makes the value anew, so that what is kept does not change afterwards."""
    if _REUSES_MEMORY.search(spot.code.text) is not None:
        return False
    if spot.finding.framework == "jax":  # its arrays never change
        return True
    names = flow.names(value)
    nearest = flow.loops_around(spot.code, spot.node)[0]
    if isinstance(value, (ast.BinOp, ast.Compare)):
        return True
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in _REDUCING
    if not isinstance(value, ast.Name) or len(names) != 1:
        return False
    assigned = flow.assignments(nearest, value.id)
    made = (ast.Call, ast.BinOp)
    if not assigned or any(not isinstance(given, made) for given in assigned):
        return False
    return not any(_is_written(node, value.id) for node in flow.walk_own(nearest))


def _is_written(node: ast.AST, name: str) -> bool:
    """Whether a statement changes the object of a name in place."""
    if isinstance(node, ast.AugAssign):
        return flow.root(node.target) == name
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return flow.root(node) == name
    if isinstance(node, ast.Call):
        return name in flow.changed([node])
    return False
