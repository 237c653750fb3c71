"""A list that each step reads a number into: keep the values, and read them together at the end.

`losses.append(loss.item())` waits in each step. The values stay on the device, some hundred bytes
each, and one transfer behind the loop makes the list of numbers. Where a branch of every n-th step
looks at the list, it reads what has come since.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.dialects import call, graphless, module_name
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.kinds import Kind, infer
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 12
_REUSES_MEMORY = pattern("memory.reused")
_DONATES = pattern("memory.donated")
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
    branches = _looked_at(spot, name, loop) if loop is not None else None
    if loop is None or branches is None or not _is_kept(spot, value):
        return None
    kept = _kept(spot, value, form, module)
    if kept is None:
        return None
    inner = " " * 4 if "\t" not in (code.indent(loop) or "") else "\t"
    message = f"keep the values of `{name}` on the device and read them together behind the loop"
    if branches:
        other = code.fresh(f"kept_{name}", loop)
        read = f"{name} += {form.format(module=module, name=other)}"
        lines = (f"if {other}:", f"{inner}{read}", f"{inner}{other}.clear()")
        edits = (
            code.insert_before(loop, f"{other} = []"),
            code.replace(spot.statement, f"{other}.append({kept})"),
            *(code.insert_before(branch.body[0], *lines) for branch in branches),
            code.insert_after(loop, *lines[:2]),
        )
        return Fix(f"{message}, or where they are reported", edits, Applicability.UNSAFE)
    read = f"{inner}{name} = {form.format(module=module, name=name)}"
    edits = (
        *_together_with(spot, name, loop),
        code.replace(spot.node, kept),
        code.insert_after(loop, f"if {name}:", read),
    )
    return Fix(message, edits, Applicability.UNSAFE)


def _together_with(spot: Spot, name: str, loop: ast.stmt) -> Iterator[Edit]:
    """Write the empty list as it stands: where that is another cell of a notebook, the loop may run
    again without it, and the repair cannot be made.
    """
    if isinstance(spot.scope, ast.Module):
        body, at = spot.code.block(loop)
        for above in reversed(body[:at]):
            if _is_emptied(above, name):
                yield spot.code.replace(above, spot.code.source(above))
                return


def _kept(spot: Spot, value: ast.expr, form: str, module: str | None) -> str | None:
    """Return the source of a value as it is kept: without its graph, and its own.

    None where the numbers would be of another type.
    """
    code, shape, dialect = spot.code, infer(spot.code, value), spot.dialect
    assert dialect is not None
    converted = converts_to(spot.node)
    if converted == "int" and shape.number != "int":
        return None
    kept, made = code.operand(value), False
    if shape.number not in {"int", "bool"}:
        kept += graphless(spot, dialect.detach)
    if not shape.scalar and ".stack" in form:
        kept = call(dialect.scalar, kept, module)
    if converted == "float" and shape.number != "float":
        if spot.finding.framework != "torch":
            return None
        kept, made = f"{kept}{dialect.double}", shape.number in {"int", "bool"}
    if not made and not _is_fresh(spot, value):
        kept += dialect.copy  # who made it may write to it again
    return kept if kept != code.operand(value) else code.source(value)


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
    """Whether a loop does nothing with a list but append to it."""
    return _looked_at(spot, name, loop) == []


def _looked_at(spot: Spot, name: str, loop: ast.For | ast.While) -> list[ast.If] | None:
    """Return the branches of every n-th step that look at a list; None where others do."""
    code, scope = spot.code, spot.scope
    if isinstance(scope, (ast.Lambda, ast.ClassDef)) or not flow.is_private(code, scope, name):
        return None
    if flow.may_swallow(code, spot.statement, loop) or flow.may_swallow(code, loop, scope):
        return None
    branches: dict[ast.If, None] = {}
    for use in flow.uses(loop, name, [spot.statement]):
        branch = accumulate.gate(code, use, loop)
        if branch is None or code.indent(branch.body[0]) is None:
            return None
        branches[branch] = None
    return [*branches]


def _is_kept(spot: Spot, value: ast.expr) -> bool:
    """Whether a value can be kept: nothing of another kind is there in some steps, and the memory
    is not given away.
    """
    if may_be_on_host(spot.code, value) or _REUSES_MEMORY.search(spot.code.text) is not None:
        return False
    if spot.finding.framework == "jax" and isinstance(value, ast.Name):
        return _DONATES.search(spot.code.text) is None
    return flow.is_pure(value)


def _is_fresh(spot: Spot, value: ast.expr) -> bool:
    """Whether each step makes the value anew, and nothing writes to it again."""
    code = spot.code
    nearest = flow.loops_around(code, spot.node)[0]
    if effects.writes_to(code, nearest.body, value):
        return False
    if not isinstance(value, ast.Name):
        return _is_made(code, value)
    assigned = flow.assignments(nearest, value.id)
    return bool(assigned) and all(each is not None and _is_made(code, each) for each in assigned)


def _is_made(code: Code, node: ast.expr) -> bool:
    """Whether an expression makes a value that nobody else has: it computes it."""
    if isinstance(node, (ast.BinOp, ast.Compare)):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCING:
        return True
    return code.meaning(node.func).startswith("torch.nn.functional.") or (
        infer(code, node) == Kind("float", scalar=True)
    )
