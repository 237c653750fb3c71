"""A meter whose class is in view, given a number in each step: let it add up on the device.

`losses.update(loss.item(), n)` waits in each step for sums that nobody looks at before the end.
What `update` does is in the file: sums and products of its arguments. So it is given the value
itself, and what it has made is read behind the loop, and where a branch of every n-th step looks at
it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Loop, dotted
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.rounds import period_of
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, type_of
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Fix

ORDER = 13


class Meter(NamedTuple):
    """A variable that holds a meter, and its attributes that a read goes into, in their order."""

    name: str
    attributes: tuple[str, ...]


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each meter that the loop itself does not look at."""
    for spot in spots:
        if (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, value = spot.code, read_value(spot.node)
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    if value is None or loop is None or spot.finding.framework != "torch" or spot.dialect is None:
        return None
    if may_be_on_host(code, value) or type_of(spot, value) not in {"float", ""}:
        return None
    meter = _meter(spot)
    if meter is None or code.indent(loop) is None or flow.may_swallow(code, spot.node, code.tree):
        return None
    branches = _looked_at(spot, meter, loop)
    if branches is None:
        return None
    read = _read(spot, meter, loop)
    kept_there = accumulate.on_device(
        Sum(spot, ast.Name(meter.name), value, loop, meter.name, "float")
    )
    edits = (
        code.replace(spot.node, kept_there),
        *(code.insert_before(branch.body[0], read) for branch in branches),
        code.insert_after(loop, read),
    )
    message = (
        f"let `{meter.name}` add up on the device, and read it once behind the loop; what it holds "
        "are floats then"
    )
    return Fix(message, edits, Applicability.UNSAFE)


def _read(spot: Spot, meter: Meter, loop: Loop) -> str:
    """Return the line that reads the attributes that are used, or all where the meter is."""
    uses = flow.uses(spot.scope, meter.name, [spot.statement])
    parents = [spot.code.parent(use) for use in uses if use.ctx.__class__ is ast.Load]  # type: ignore[attr-defined]
    named = {parent.attr for parent in parents if isinstance(parent, ast.Attribute)}
    is_plain = all(isinstance(parent, ast.Attribute) for parent in parents)
    used = [each for each in meter.attributes if each in named] if is_plain else []
    texts = [f"{meter.name}.{each}" for each in used or meter.attributes]
    return f"{', '.join(texts)} = {', '.join(f'float({text})' for text in texts)}"


def _looked_at(spot: Spot, meter: Meter, loop: Loop) -> list[ast.If] | None:
    """Return the branches of every n-th step that look at a meter; None where others may do so."""
    code, inside = spot.code, flow.parts(loop)
    branches: dict[ast.If, None] = {}
    for use in flow.uses(spot.scope, meter.name, [spot.statement]):
        if use not in inside:
            if use.lineno < loop.lineno and not _is_begun(code, use):  # type: ignore[attr-defined]
                return None
            continue
        branch = accumulate.gate(code, use, loop)
        if branch is None or code.indent(branch.body[0]) is None:
            return None
        period = period_of(branch.test)
        if period is not None and period <= len(meter.attributes):
            return None
        branches[branch] = None
    return [*branches]


def _is_begun(code: Code, use: ast.AST) -> bool:
    """Whether it is `meter = Meter()` or `meter.reset()`."""
    if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Store):
        return True
    parent = code.parent(use)
    call = code.parent(parent) if parent is not None else None
    return isinstance(call, ast.Call) and call.func is parent and dotted(parent).endswith(".reset")


# ---- The class


def _meter(spot: Spot) -> Meter | None:
    """Return the meter that a statement gives the read, and no more, if its class is in view."""
    code, statement = spot.code, spot.statement
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not spot.node:
        return None
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    name = function.value.id
    made = given(code, function.value)
    if len(made) != 1 or not flow.is_private(code, spot.scope, name):
        return None
    owner = _class_of(code, made[0])
    attributes = _attributes(owner, function.attr) if owner is not None else ()
    return Meter(name, attributes) if attributes else None


def _class_of(code: Code, made: ast.expr | None) -> ast.ClassDef | None:
    name = dotted(made.func) if isinstance(made, ast.Call) else ""
    found = [
        part for part in code.tree.body if isinstance(part, ast.ClassDef) and part.name == name
    ]
    is_plain = len(found) == 1 and not found[0].decorator_list and not found[0].keywords
    has_bases = is_plain and {dotted(base) for base in found[0].bases} - {"object"}
    return found[0] if is_plain and not has_bases else None


@kept(OF_SCOPES)
def _attributes(owner: ast.ClassDef, method: str) -> tuple[str, ...]:
    """Return the attributes that a method puts its first argument into; none where it does more
    than arithmetic, or one of them does not begin as a number.
    """
    found = [part for part in owner.body if isinstance(part, FUNCTIONS) and part.name == method]
    if len(found) != 1 or len(found[0].args.args) < 2 or found[0].decorator_list:
        return ()
    me, value = (argument.arg for argument in found[0].args.args[:2])
    tainted = {value}
    for statement in found[0].body:
        target = _target(statement)
        if target is None or not _is_arithmetic(statement.value, tainted):  # type: ignore[attr-defined]
            return ()
        named = {dotted(part) for part in parsed.walk(statement.value)}  # type: ignore[attr-defined]
        if named & tainted:
            tainted.add(target)
    attributes = tuple(
        each.removeprefix(f"{me}.")
        for each in sorted(tainted - {value})
        if each.startswith(f"{me}.")
    )
    is_numeric = all(_begins_as_number(owner, me, each) for each in attributes)
    return attributes if is_numeric and len(attributes) == len(tainted) - 1 else ()


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.AugAssign):
        is_sum = isinstance(statement.op, (ast.Add, ast.Sub))
        return dotted(statement.target) or None if is_sum else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return dotted(statement.targets[0]) or None
    return None


def _is_arithmetic(node: ast.expr, tainted: set[str]) -> bool:
    """Whether the device computes the same: a division by zero is an error on the host alone."""
    if isinstance(node, ast.BinOp):
        divides = isinstance(node.op, ast.Div)
        if not divides and not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return False
        if divides and {dotted(part) for part in parsed.walk(node.right)} & tainted:
            return False
        return _is_arithmetic(node.left, tainted) and _is_arithmetic(node.right, tainted)
    return bool(dotted(node)) or (
        isinstance(node, ast.Constant) and type(node.value) in (int, float)
    )


def _begins_as_number(owner: ast.ClassDef, me: str, attribute: str) -> bool:
    """Whether `__init__`, or the `reset` that it calls, sets an attribute to a number."""
    begins = [part for part in owner.body if isinstance(part, FUNCTIONS)
              and part.name in {"__init__", "reset"}]  # fmt: skip
    values = [
        node.value
        for part in begins
        for node in parsed.walk(part)
        if isinstance(node, ast.Assign)
        and any(dotted(target) == f"{me}.{attribute}" for target in node.targets)
    ]
    return bool(values) and all(
        isinstance(value, ast.Constant) and type(value.value) in (int, float) for value in values
    )
