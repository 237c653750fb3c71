"""A number that each step reads only to add it up: add on the device, read once after the loop.

`total += loss.item()`, `total = total + float(loss)`, `mean += (loss.item() - mean) / n`,
`ema = 0.9 * ema + 0.1 * loss.item()`, of a variable, an attribute of `self` or an entry of a
dictionary. The sum is kept in double precision, as Python's own floats are, so it stays the same
bit for bit where the framework has that type; a count stays an integer. Where the loop reports the
sum every n-th step, the report reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import LOOPS, SCOPES, Code, dotted, same
from asyncguard.lint.fixes.dialects import call, module_name
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
Loop = ast.For | ast.AsyncFor | ast.While
Target = ast.Name | ast.Attribute | ast.Subscript


class Sum(NamedTuple):
    """A target that a statement of a loop adds a read to."""

    spot: Spot
    target: Target
    value: ast.expr  # what is read: `loss` of `loss.item()`
    loop: Loop
    name: str  # the variable or attribute that is or holds the target
    number: str  # "float" or "int"


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each sum that the loop itself does not need."""
    sums = [found for spot in spots if (found := _sum(spot)) is not None]
    statements = [found.spot.statement for found in sums]
    for found in sums:
        alike = [s.spot.statement for s in sums if same(s.target, found.target)]
        if (edits := _edits(found, alike, statements)) is not None:
            yield Repair(_fix(found, edits), (found.spot,))


def _sum(spot: Spot) -> Sum | None:
    """Return what a read is added to, if the arithmetic can be done on the device as well."""
    value = read_value(spot.node)
    target = _target(spot.statement)
    loops = flow.loops_around(spot.code, spot.node)
    dialect = spot.dialect
    if value is None or target is None or not loops or dialect is None:
        return None
    if not _is_arithmetic(spot.statement, spot.node, target):
        return None
    name = dotted(target.value) if isinstance(target, ast.Subscript) else dotted(target)
    number = _number(spot, value)
    if not number or flow.may_swallow(spot.code, spot.statement, loops[0]):
        return None
    return Sum(spot, target, value, loops[0], name, number)


def _target(statement: ast.stmt) -> Target | None:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        target: ast.expr = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if not any(same(part, target) for part in ast.walk(statement.value)):
            return None
    else:
        return None
    if isinstance(target, ast.Name):
        return target
    if isinstance(target, ast.Attribute):
        return target if isinstance(target.value, ast.Name) and target.value.id == "self" else None
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return target if isinstance(target.value, ast.Name) else None
    return None


def _is_arithmetic(statement: ast.stmt, read: ast.expr, target: ast.expr) -> bool:
    """Whether the statement computes no more than sums and products of the read and numbers."""
    value = statement.value  # type: ignore[attr-defined]
    reads = [part for part in ast.walk(value) if part is read]
    return len(reads) == 1 and _is_term(value, read, target)


_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _is_term(node: ast.expr, read: ast.expr, target: ast.expr) -> bool:
    if node is read or same(node, target):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        if isinstance(node.op, ast.Div) and any(part is read for part in ast.walk(node.right)):
            return False  # a division by zero is an error on the host alone
        return _is_term(node.left, read, target) and _is_term(node.right, read, target)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_term(node.operand, read, target)
    return _is_plain(node)


def _is_plain(node: ast.expr) -> bool:
    """Whether it is a number of the host by its form: `len(x)`, `x.size(0)`, `n`, `0.5`."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.attr in {"size", "numel", "dim"} and not node.keywords
        return isinstance(function, ast.Name) and function.id == "len"
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*_OPERATORS, ast.FloorDiv)):
        return _is_plain(node.left) and _is_plain(node.right)
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(dotted(node))


def _number(spot: Spot, value: ast.expr) -> str:
    """Return what type the sum has: that of the read; "" where nothing tells."""
    if converted := converts_to(spot.node):
        known = infer(spot.code, value).number
        return converted if converted == "float" or known == "int" else ""
    known = infer(spot.code, value).number
    return {"bool": "int"}.get(known, known)


def _edits(
    found: Sum, alike: Sequence[ast.stmt], repaired: Sequence[ast.stmt]
) -> tuple[Edit, ...] | None:
    code, loop, scope = found.spot.code, found.loop, found.spot.scope
    start = _start(found)
    if start is None or code.indent(loop) is None or isinstance(scope, (ast.Lambda, ast.ClassDef)):
        return None
    if _is_seen_elsewhere(found) or _leaves_unread(found):
        return None
    reports = _reports(found, _others(found, alike, repaired))
    if reports is None:
        return None
    read = _read(found, start)
    return (
        code.replace(found.spot.node, _on_device(found)),
        *(code.insert_before(gate.body[0], read) for gate in reports),
        code.insert_after(loop, read),
    )


def _start(found: Sum) -> ast.Constant | None:
    """Return the plain number that the target is set to before the loop."""
    code = found.spot.code
    statement: ast.stmt = found.loop
    while True:
        body, index = code.block(statement)
        for before in reversed(body[:index]):
            value = _given(before, found)
            if value is not None:
                return value if _is_zero_or_number(value) else None
            if _touches(before, found):
                return None
        parent = code.parent(statement)
        if not isinstance(parent, (*LOOPS, ast.With, ast.AsyncWith, ast.If)):
            return None
        if isinstance(parent, LOOPS) and flow.uses(parent, found.name, [found.loop]):
            return None
        statement = parent


def _given(statement: ast.stmt, found: Sum) -> ast.Constant | None:
    """Return the constant that a statement sets the target to."""
    if isinstance(statement, ast.AnnAssign):
        targets: list[ast.expr] = [statement.target]
    elif isinstance(statement, ast.Assign):
        targets = statement.targets
    else:
        return None
    value = statement.value
    for target in targets:
        if same(target, found.target) and isinstance(value, ast.Constant):
            return value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, number in zip(target.elts, value.elts, strict=False):
                if same(part, found.target) and isinstance(number, ast.Constant):
                    return number
        if isinstance(found.target, ast.Subscript) and dotted(target) == found.name:
            return _entry(value, found.target.slice)
    return None


def _entry(value: ast.expr | None, key: ast.expr) -> ast.Constant | None:
    """Return the constant that a dictionary is written with under a key."""
    if isinstance(value, ast.Dict):
        for name, number in zip(value.keys, value.values, strict=True):
            if name is not None and same(name, key) and isinstance(number, ast.Constant):
                return number
    return None


def _is_zero_or_number(node: ast.Constant) -> bool:
    return type(node.value) in (int, float)


def _touches(statement: ast.stmt, found: Sum) -> bool:
    return found.name in flow.changed([statement]) or bool(
        isinstance(statement, (*LOOPS, ast.If, ast.Try, ast.With))
        and flow.uses(statement, found.name)
    )


def _others(found: Sum, alike: Sequence[ast.stmt], repaired: Sequence[ast.stmt]) -> list[ast.AST]:
    """Return where the loop uses the target otherwise than to add to it, or to another entry."""
    but: list[ast.AST] = list(alike)
    if isinstance(found.target, ast.Subscript):
        but += [
            node
            for node in ast.walk(found.loop)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and not same(node, found.target)
        ]
    return flow.uses(found.loop, found.name, but)


def _reports(found: Sum, others: Sequence[ast.AST]) -> list[ast.If] | None:
    """Return the periodic branches that hold all other uses; None if one stands elsewhere."""
    code = found.spot.code
    gates: list[ast.If] = []
    for use in others:
        gate = next((p for p in _branches(code, use, found.loop) if _is_gate(code, p, use)), None)
        if gate is None or code.indent(gate.body[0]) is None:
            return None
        if gate not in gates:
            gates.append(gate)
    return gates


def _branches(code: Code, node: ast.AST, loop: Loop) -> list[ast.If]:
    found = []
    for parent in code.parents(node):
        if parent is loop or isinstance(parent, (*SCOPES, *LOOPS)):
            break
        if isinstance(parent, ast.If):
            found.append(parent)
    return found


def _is_gate(code: Code, branch: ast.If, use: ast.AST) -> bool:
    """Whether the use is in the part of a branch that runs every n-th step."""
    inside = {id(part) for statement in branch.body for part in ast.walk(statement)}
    return flow.is_periodic(branch.test) and id(use) in inside


def _is_seen_elsewhere(found: Sum) -> bool:
    """Whether others than the statements of this function could see a value not yet read."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if isinstance(found.target, ast.Attribute):
        return _is_seen_by_methods(found)
    if not flow.is_private(code, scope, name):
        return True
    return isinstance(found.target, ast.Subscript) and any(
        isinstance(value, ast.Name) for value in flow.assignments(scope, name)
    )


def _is_seen_by_methods(found: Sum) -> bool:
    """Whether the loop calls something that may look at `self`: a method, or who is given it."""
    for node in ast.walk(found.loop):
        if isinstance(node, ast.Call):
            if dotted(node.func).startswith("self.") and dotted(node.func).count(".") == 1:
                return True
            if any(dotted(part) == "self" for part in node.args):
                return True
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
    return False


def _leaves_unread(found: Sum) -> bool:
    """Whether the loop can be left without passing its end while the target is still needed."""
    code, loop, local = found.spot.code, found.loop, isinstance(found.target, ast.Name)
    for node in flow.walk_own(loop):
        if isinstance(node, ast.Return) and not local:
            return True
    if not local and any(isinstance(n, ast.Raise) for n in flow.walk_own(loop)):
        return True
    return flow.may_swallow(code, loop, found.spot.scope)


def _on_device(found: Sum) -> str:
    spot, code = found.spot, found.spot.code
    dialect = spot.dialect
    assert dialect is not None
    module = module_name(code, dialect)
    if found.number == "int":
        kind = infer(code, found.value).number
        text = code.source(found.value)
        return text if kind == "int" and _binds_tightly(found.value) else f"({text})"
    form = dialect.wide
    value = code.source(found.value) if "{value}" in form else code.operand(found.value)
    return call(form, value, module)


def _binds_tightly(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _read(found: Sum, start: ast.Constant) -> str:
    text = found.spot.code.source(found.target)
    return f"{text} = {_final(found, start)}({text})"


def _final(found: Sum, start: ast.Constant) -> str:
    return "float" if found.number == "float" or isinstance(start.value, float) else "int"


def _fix(found: Sum, edits: tuple[Edit, ...]) -> Fix:
    dialect = found.spot.dialect
    assert dialect is not None
    text = found.spot.code.source(found.target)
    message = f"add to `{text}` on the device and read it once after the loop"
    if found.number == "int":
        message += "; the count stays an integer"
    elif dialect.exact:
        message += "; the sum is kept in double precision, as Python's is"
    else:
        message += "; the sum is rounded to the type of its terms"
    return Fix(message, edits, Applicability.UNSAFE)
