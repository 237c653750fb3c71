"""A meter whose class is in view, given a number in each step: let it add up on the device.

`losses.update(loss.item(), n)` waits in each step for sums that nobody looks at before the end.
What `update` does is in the file: sums and products of its arguments. So it is given the value
itself, and what it has made is read behind the loop, and where a branch of every n-th step looks at
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.families import accumulate
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.rounds import period_of
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, type_of
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    NO_CONSTANT,
    Expression,
    Loop,
    attribute,
    body,
    constant,
    is_name,
    method,
    name_of,
    positional,
    targets,
)
from asyncguard.lint.syntax.tree import dotted
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
    holder = spot.statement.value.func.value
    kept_there = accumulate.on_device(Sum(spot, holder, value, loop, meter.name, "float"))
    edits = (
        code.replace(spot.node, kept_there),
        *(code.insert_before(body(branch)[0], read) for branch in branches),
        code.insert_after(loop, read),
    )
    message = (
        f"let `{meter.name}` add up on the device, and read it once behind the loop; what it holds "
        "are floats then"
    )
    return Fix(message, edits, Applicability.UNSAFE)


def _read(spot: Spot, meter: Meter, loop: Loop) -> str:
    """Return the line that reads the attributes that are used, or all where the meter is."""
    code = spot.code
    uses = flow.uses(spot.scope, meter.name, [spot.statement])
    parents = [code.parent(use) for use in uses if not code.is_stored(use)]
    named = set(map(attribute, parents))
    is_plain = all(isinstance(parent, cst.Attribute) for parent in parents)
    used = [each for each in meter.attributes if each in named] if is_plain else []
    texts = [f"{meter.name}.{each}" for each in used or meter.attributes]
    return f"{', '.join(texts)} = {', '.join(f'float({text})' for text in texts)}"


def _looked_at(spot: Spot, meter: Meter, loop: Loop) -> list[cst.If] | None:
    """Return the branches of every n-th step that look at a meter; None where others may do so."""
    code, inside = spot.code, flow.parts(loop)
    branches: dict[cst.If, None] = {}
    for use in flow.uses(spot.scope, meter.name, [spot.statement]):
        if use not in inside:
            if code.line(use) < code.line(loop) and not _is_begun(code, use):
                return None
            continue
        branch = accumulate.gate(code, use, loop)
        if branch is None or code.indent(body(branch)[0]) is None:
            return None
        period = period_of(branch.test)
        if period is not None and period <= len(meter.attributes):
            return None
        branches[branch] = None
    return [*branches]


def _is_begun(code: Code, use: cst.CSTNode) -> bool:
    """Whether it is `meter = Meter()` or `meter.reset()`."""
    if is_name(use) and code.is_stored(use):
        return True
    parent = code.parent(use)
    call = code.parent(parent) if parent is not None else None
    is_called = isinstance(call, cst.Call) and call.func is parent
    return is_called and attribute(parent) == "reset"


# ---- The class


def _meter(spot: Spot) -> Meter | None:
    """Return the meter that a statement gives the read, and no more, if its class is in view."""
    code, statement = spot.code, spot.statement
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or positional(call)[:1] != [spot.node]:
        return None
    if not isinstance(call.func, cst.Attribute) or not is_name(call.func.value):
        return None
    name = name_of(call.func.value)
    made = given(code, call.func.value)
    if len(made) != 1 or not flow.is_private(code, spot.scope, name):
        return None
    owner = _class_of(code, made[0])
    attributes = _attributes(owner, method(call)) if owner is not None else ()
    return Meter(name, attributes) if attributes else None


def _class_of(code: Code, made: Expression | None) -> cst.ClassDef | None:
    name = nodes.function(made)
    classes = (part for part in code.tree.body if isinstance(part, cst.ClassDef))
    found = [each for each in classes if each.name.value == name]
    is_plain = len(found) == 1 and not found[0].decorators and not found[0].keywords
    has_bases = is_plain and {dotted(base.value) for base in found[0].bases} - {"object"}
    return found[0] if is_plain and not has_bases else None


def _methods(owner: cst.ClassDef, *names: str) -> list[cst.FunctionDef]:
    functions = (part for part in body(owner) if isinstance(part, cst.FunctionDef))
    return [each for each in functions if each.name.value in names]


@kept(OF_SCOPES)
def _attributes(owner: cst.ClassDef, name: str) -> tuple[str, ...]:
    """Return the attributes that a method puts its first argument into; none where it does more
    than arithmetic, or one of them does not begin as a number.
    """
    found = _methods(owner, name)
    if len(found) != 1 or len(found[0].params.params) < 2 or found[0].decorators:
        return ()
    me, value = (parameter.name.value for parameter in found[0].params.params[:2])
    tainted = {value}
    for statement in body(found[0]):
        target = _target(statement)
        if target is None or not _is_arithmetic(statement.value, tainted):
            return ()
        named = {dotted(part) for part in nodes.walk(statement.value)}
        if named & tainted:
            tainted.add(target)
    attributes = tuple(
        each.removeprefix(f"{me}.")
        for each in sorted(tainted - {value})
        if each.startswith(f"{me}.")
    )
    is_numeric = all(_begins_as_number(owner, me, each) for each in attributes)
    return attributes if is_numeric and len(attributes) == len(tainted) - 1 else ()


def _target(statement: cst.CSTNode) -> str | None:
    match statement:
        case cst.AugAssign(operator=cst.AddAssign() | cst.SubtractAssign(), target=target):
            return dotted(target) or None
        case cst.Assign(targets=[cst.AssignTarget(target=target)]):
            return dotted(target) or None
    return None


def _is_arithmetic(node: Expression, tainted: set[str]) -> bool:
    """Whether the device computes the same: a division by zero is an error on the host alone."""
    if isinstance(node, cst.BinaryOperation):
        divides = isinstance(node.operator, cst.Divide)
        if not divides and not isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply)):
            return False
        if divides and {dotted(part) for part in nodes.walk(node.right)} & tainted:
            return False
        return _is_arithmetic(node.left, tainted) and _is_arithmetic(node.right, tainted)
    value = constant(node)
    return bool(dotted(node)) if value is NO_CONSTANT else type(value) in (int, float)


def _begins_as_number(owner: cst.ClassDef, me: str, attribute: str) -> bool:
    """Whether `__init__`, or the `reset` that it calls, sets an attribute to a number."""
    values = [
        node.value
        for part in _methods(owner, "__init__", "reset")
        for node in nodes.walk(part)
        if isinstance(node, cst.Assign)
        and any(dotted(target) == f"{me}.{attribute}" for target in targets(node))
    ]
    return bool(values) and all(type(constant(value)) in (int, float) for value in values)
