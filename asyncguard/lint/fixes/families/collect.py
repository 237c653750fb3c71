"""A list that each step reads a number into: keep the values, and read them together at the end.

`losses.append(loss.item())` waits in each step. The values stay on the device, some hundred bytes
each, and one transfer behind the loop makes the list of numbers. Where a branch of every n-th step
looks at the list, it reads what has come since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.dialects import call, graphless, module_name
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.kinds import Kind, infer
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax.nodes import (
    Expression,
    Loop,
    body,
    elements,
    is_name,
    method,
    name_of,
    only,
    targets,
)
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
    code, value, dialect, name = spot.code, read_value(spot.node), spot.dialect, _list(spot)
    if value is None or name is None or dialect is None:
        return None
    form, module = dialect.together, module_name(code, dialect)
    if not form or module is None:
        return None
    loop = outermost(spot, name)
    branches = _looked_at(spot, name, loop) if loop is not None else None
    if loop is None or branches is None or not _is_kept(spot, value):
        return None
    kept = _kept(spot, value, form, module)
    if kept is None:
        return None
    message = f"keep the values of `{name}` on the device and read them together behind the loop"
    inner = "\t" if "\t" in (code.indent(loop) or "") else " " * 4
    if branches:
        other = code.fresh(f"kept_{name}", loop)
        read = f"{name} += {form.format(module=module, name=other)}"
        lines = (f"if {other}:", f"{inner}{read}", f"{inner}{other}.clear()")
        edits = (
            code.insert_before(loop, f"{other} = []"),
            code.replace(spot.statement, f"{other}.append({kept})"),
            *(code.insert_before(body(branch)[0], *lines) for branch in branches),
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


def _together_with(spot: Spot, name: str, loop: Loop) -> Iterator[Edit]:
    """Write the empty list as it stands: where that is another cell of a notebook, the loop may run
    again without it, and the repair cannot be made.
    """
    if isinstance(spot.scope, cst.Module):
        block, at = spot.code.block(loop)
        for above in reversed(block[:at]):
            if _is_emptied(above, name):
                yield spot.code.replace(above, spot.code.source(above))
                return


def _kept(spot: Spot, value: Expression, form: str, module: str | None) -> str | None:
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
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or only(call) is not spot.node:
        return None
    if not isinstance(call.func, cst.Attribute) or method(call) != "append":
        return None
    return name_of(call.func.value) or None


def outermost(spot: Spot, name: str) -> Loop | None:
    """Return the outermost loop between the empty list and the append."""
    code = spot.code
    for loop in flow.loops_around(code, spot.node):
        block, index = code.block(loop)
        for before in reversed(block[:index]):
            if _is_emptied(before, name):
                plain = isinstance(loop, cst.While) or loop.asynchronous is None
                return loop if plain and code.indent(loop) is not None else None
            if flow.uses(before, name):
                return None
    return None


def _is_emptied(statement: cst.CSTNode, name: str) -> bool:
    """Whether it is `name = []`, or `name, other = [], []`."""
    found = targets(statement)
    if len(found) != 1:
        return False
    target, value = found[0], statement.value  # type: ignore[attr-defined]
    pairs = [(target, value)]
    if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        pairs = [*zip(elements(target), elements(value), strict=False)]
    return any(
        name_of(target) == name and isinstance(value, cst.List) and not value.elements
        for target, value in pairs
    )


def is_only_filled(spot: Spot, name: str, loop: Loop) -> bool:
    """Whether a loop does nothing with a list but append to it."""
    return _looked_at(spot, name, loop) == []


def _looked_at(spot: Spot, name: str, loop: Loop) -> list[cst.If] | None:
    """Return the branches of every n-th step that look at a list; None where others do."""
    code, scope = spot.code, spot.scope
    if isinstance(scope, (cst.Lambda, cst.ClassDef)) or not flow.is_private(code, scope, name):
        return None
    if flow.may_swallow(code, spot.statement, loop) or flow.may_swallow(code, loop, scope):
        return None
    branches: dict[cst.If, None] = {}
    for use in flow.uses(loop, name, [spot.statement]):
        branch = accumulate.gate(code, use, loop)
        if branch is None or code.indent(body(branch)[0]) is None:
            return None
        branches[branch] = None
    return [*branches]


def _is_kept(spot: Spot, value: Expression) -> bool:
    """Whether a value can be kept: nothing of another kind is there in some steps, and the memory
    is not given away.
    """
    if may_be_on_host(spot.code, value) or _REUSES_MEMORY.search(spot.code.text) is not None:
        return False
    if spot.finding.framework == "jax" and is_name(value):
        return _DONATES.search(spot.code.text) is None
    return flow.is_pure(value)


def _is_fresh(spot: Spot, value: Expression) -> bool:
    """Whether each step makes the value anew, and nothing writes to it again."""
    code = spot.code
    nearest = flow.loops_around(code, spot.node)[0]
    if effects.writes_to(code, body(nearest), value):
        return False
    if not is_name(value):
        return _is_made(code, value)
    assigned = flow.assignments(nearest, name_of(value))
    return bool(assigned) and all(each is not None and _is_made(code, each) for each in assigned)


def _is_made(code: Code, node: Expression) -> bool:
    """Whether an expression makes a value that nobody else has: it computes it."""
    if isinstance(node, (cst.BinaryOperation, cst.Comparison)):
        return True
    if not isinstance(node, cst.Call):
        return False
    if method(node) in _REDUCING:
        return True
    return code.meaning(node.func).startswith("torch.nn.functional.") or (
        infer(code, node) == Kind("float", scalar=True)
    )
