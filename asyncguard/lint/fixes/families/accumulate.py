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
from itertools import takewhile
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import LOOPS, SCOPES, Code, Loop, dotted, same, written
from asyncguard.lint.fixes.dialects import call, module_name
from asyncguard.lint.fixes.families import logs
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
Target = ast.Name | ast.Attribute | ast.Subscript


class Sum(NamedTuple):
    """A target that a statement of a loop adds a read to."""

    spot: Spot
    target: Target
    value: ast.expr  # what is read: `loss` of `loss.item()`
    loop: Loop
    name: str  # the variable or attribute that is or holds the target
    number: str  # "float", "int", or "" where nothing tells


class Plan(NamedTuple):
    """How the sums of one target in one loop are read: where it begins, and who reports it.

    `reports` are branches of every n-th step, `lines` reports of each step.
    """

    start: ast.Constant
    reports: Sequence[ast.If]
    lines: Sequence[ast.stmt] = ()


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each sum that the loop itself does not need."""
    targets: dict[str, list[Sum]] = {}
    for spot in spots:
        if (found := _sum(spot)) is not None:
            targets.setdefault(written(found.target), []).append(found)
    for sums in targets.values():
        own = frozenset[ast.AST]().union(*(flow.parts(found.spot.statement) for found in sums))
        plans: dict[Loop, Plan | None] = {}
        for found in sums:
            if found.loop not in plans:
                plans[found.loop] = _plan(found, own)
            plan = plans[found.loop]
            if plan is not None and (edits := _edits(found, plan)) is not None:
                yield Repair(_fix(found, plan, edits), (found.spot,))


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
    if number is None or flow.may_swallow(spot.code, spot.statement, loops[0]):
        return None
    return Sum(spot, target, value, loops[0], name, number)


def _target(statement: ast.stmt) -> Target | None:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        target: ast.expr = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if not any(same(part, target) for part in parsed.walk(statement.value)):
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
    reads = [part for part in parsed.walk(value) if part is read]
    return len(reads) == 1 and _is_term(value, read, target)


_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _is_term(node: ast.expr, read: ast.expr, target: ast.expr) -> bool:
    if node is read or same(node, target):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        if isinstance(node.op, ast.Div) and any(part is read for part in parsed.walk(node.right)):
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


def _number(spot: Spot, value: ast.expr) -> str | None:
    """Return what type the sum has: that of the read; "" if nothing tells, None if it is cut."""
    if converted := converts_to(spot.node):
        known = infer(spot.code, value).number
        return converted if converted == "float" or known == "int" else None
    known = infer(spot.code, value).number
    return {"bool": "int"}.get(known, known)


def _plan(found: Sum, own: frozenset[ast.AST]) -> Plan | None:
    """Return how a target is read; None where the loop needs it, or others may see it unread.

    `own` is all that stands in statements that add to it.
    """
    code, loop, scope = found.spot.code, found.loop, found.spot.scope
    start = _start(found)
    if start is None or code.indent(loop) is None or isinstance(scope, (ast.Lambda, ast.ClassDef)):
        return None
    if _is_seen_elsewhere(found) or _leaves_unread(found):
        return None
    reports = _reports(found, _others(found, own))
    return None if reports is None else Plan(start, *reports)


def _edits(found: Sum, plan: Plan) -> tuple[Edit, ...] | None:
    code, read = found.spot.code, _read(found, plan.start)
    edits = [code.insert_before(gate.body[0], read) for gate in plan.reports]
    for line in plan.lines:
        assert isinstance(found.loop, ast.For)
        if (thinned := logs.thinned(code, found.loop, line, read)) is None:
            return None
        edits += thinned[1]
    return (
        code.replace(found.spot.node, _on_device(found)),
        *dict.fromkeys(edits),
        code.insert_after(found.loop, read),
    )


def _start(found: Sum) -> ast.Constant | None:
    """Return the plain number that the target is set to before the loop."""
    code = found.spot.code
    statement: ast.stmt = found.loop
    while True:
        body, index = code.block(statement)
        parent = code.parent(statement) or code.tree
        for before in reversed(_concerned(parent).get(found.name, ())):
            block, at = code.block(before)
            if block is not body or at >= index:
                continue
            value = _given(before, found)
            if value is not None:
                return value if _is_zero_or_number(value) else None
            if _touches(before, found):
                return None
        if not isinstance(parent, (*LOOPS, ast.With, ast.AsyncWith, ast.If)):
            return None
        if isinstance(parent, LOOPS) and flow.uses(parent, found.name, [found.loop]):
            return None
        statement = parent


@kept(OF_SCOPES)
def _concerned(block: ast.AST) -> dict[str, list[ast.stmt]]:
    """Return which statements right below a node mention, bind or change each name, in order."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in parsed.children(block):
        if isinstance(statement, ast.stmt):
            for name in {*flow.mentions(statement), *flow.changed([statement])}:
                found.setdefault(name, []).append(statement)
    return found


@kept(OF_SCOPES)
def _exits(loop: Loop) -> tuple[bool, bool]:
    """Return whether a loop holds a `return` of its function, and whether a `raise`."""
    kinds = {type(node) for node in flow.walk_own(loop)}
    return ast.Return in kinds, ast.Raise in kinds


def _given(statement: ast.stmt, found: Sum) -> ast.Constant | None:
    """Return the constant that a statement sets the target to."""
    given = _constants(statement)
    if isinstance(found.target, ast.Subscript):
        entry = given.get((found.name, written(found.target.slice)))
        if entry is not None:
            return entry
    return given.get(("", written(found.target)))


@kept(OF_STATEMENTS)
def _constants(statement: ast.stmt) -> dict[tuple[str, str], ast.Constant]:
    """Return the constants that a statement sets targets to, and the entries of dictionaries.

    A key is the name of a dictionary, or "", and how the entry or the target is written.
    """
    found: dict[tuple[str, str], ast.Constant] = {}
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return found
    value = statement.value
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        pairs: list[tuple[str, ast.expr, ast.expr]] = [("", target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += [("", *pair) for pair in zip(target.elts, value.elts, strict=False)]
        if (name := dotted(target)) and isinstance(value, ast.Dict):
            entries = zip(value.keys, value.values, strict=True)
            pairs += [(name, key, number) for key, number in entries if key is not None]
        for name, key, number in pairs:
            if isinstance(number, ast.Constant):
                found.setdefault((name, written(key)), number)
    return found


def _is_zero_or_number(node: ast.Constant) -> bool:
    return type(node.value) in (int, float)


def _touches(statement: ast.stmt, found: Sum) -> bool:
    return found.name in flow.changed([statement]) or bool(
        isinstance(statement, (*LOOPS, ast.If, ast.Try, ast.With))
        and flow.uses(statement, found.name)
    )


def _others(found: Sum, own: frozenset[ast.AST]) -> list[ast.AST]:
    """Return where the loop uses the target otherwise than to add to it, or to another entry."""
    if isinstance(found.target, ast.Subscript):
        entries = _entries(found.spot.code, found.loop, found.name)
        mentioned = [*entries.get("", ()), *entries.get(written(found.target), ())]
    else:
        mentioned = [*flow.mentions(found.loop).get(found.name, ())]
    return [use for use in mentioned if use not in own]


@kept(OF_SCOPES)
def _entries(code: Code, loop: Loop, name: str) -> dict[str, list[ast.AST]]:
    """Return where a loop mentions a dictionary, by the entry that is used; "" is all of it.

    An entry within another entry is neither's.
    """
    found: dict[str, list[ast.AST]] = {}
    for use in flow.mentions(loop).get(name, ()):
        around = takewhile(lambda parent: parent is not loop, code.parents(use))
        entries = {written(parent) for parent in around if _is_entry(parent)}
        if len(entries) < 2:
            found.setdefault("".join(entries), []).append(use)
    return found


def _is_entry(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)


def _reports(
    found: Sum, others: Sequence[ast.AST]
) -> tuple[Sequence[ast.If], Sequence[ast.stmt]] | None:
    """Return the periodic branches and the reports that hold all other uses; None where another
    does.
    """
    code = found.spot.code
    gates: dict[ast.If, None] = {}
    lines: dict[ast.stmt, None] = {}
    for use in others:
        gate, statement = _gate(code, use, found.loop), code.statement(use)
        if gate is not None and code.indent(gate.body[0]) is not None:
            gates[gate] = None
        elif gate is None and statement in found.loop.body and isinstance(found.loop, ast.For):
            lines[statement] = None
        else:
            return None
    return [*gates], [*lines]


def _gate(code: Code, use: ast.AST, loop: Loop) -> ast.If | None:
    """Return the innermost branch around a use that runs every n-th step."""
    child = use
    for parent in code.parents(use):
        if parent is loop or isinstance(parent, (*SCOPES, *LOOPS)):
            break
        block = code.block(child)[0] if isinstance(child, ast.stmt) else None
        if isinstance(parent, ast.If) and block is parent.body and flow.is_periodic(parent.test):
            return parent
        child = parent
    return None


def _is_seen_elsewhere(found: Sum) -> bool:
    """Whether others than the statements of this function could see a value not yet read."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if isinstance(found.target, ast.Attribute):
        return _is_seen_by_methods(found.loop)
    if not flow.is_private(code, scope, name):
        return True
    return isinstance(found.target, ast.Subscript) and any(
        isinstance(value, ast.Name) for value in flow.assignments(scope, name)
    )


@kept(OF_SCOPES)
def _is_seen_by_methods(loop: Loop) -> bool:
    """Whether a loop calls something that may look at `self`: a method, or who is given it."""
    for node in parsed.walk(loop):
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
    if not local and any(_exits(loop)):
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
    return "float" if found.number != "int" or isinstance(start.value, float) else "int"


def _fix(found: Sum, plan: Plan, edits: tuple[Edit, ...]) -> Fix:
    dialect = found.spot.dialect
    assert dialect is not None
    text = found.spot.code.source(found.target)
    message = f"add to `{text}` on the device and read it once after the loop"
    applicability = Applicability.UNSAFE
    if plan.lines:
        message += "; it is reported every n-th step"
    if not found.number and not isinstance(plan.start.value, float):
        message += "; if it is a count, it becomes a float"
        applicability = Applicability.SHOWN
    elif found.number == "int":
        message += "; the count stays an integer"
    elif dialect.exact:
        message += "; the sum is kept in double precision, as Python's is"
    else:
        message += "; the sum is rounded to the type of its terms"
    return Fix(message, edits, applicability)
