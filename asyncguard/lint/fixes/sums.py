"""A number that each step adds to a target: which target, from what start, of what type."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Spot, converts_to
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    LOOPS,
    NO_CONSTANT,
    TRIES,
    Expression,
    Loop,
    attribute,
    constant,
    function,
    index,
    is_constant,
    is_name,
    method,
    positional,
    same,
    written,
)
from asyncguard.lint.syntax.tree import dotted

Target = cst.Name | cst.Attribute | cst.Subscript
Reads = Collection[Expression]


class Sum(NamedTuple):
    """A target that a statement of a loop adds a read to."""

    spot: Spot
    target: Target
    value: Expression  # what is read: `loss` of `loss.item()`
    loop: Loop
    name: str  # the variable or attribute that is or holds the target
    number: str  # "float", "int", or "" where nothing tells
    assumed: str = ""  # an operand that is a number only by its looks


def sum_of(
    spot: Spot, value: Expression, number: str | None = None, reads: Reads = ()
) -> Sum | None:
    """Return what a read of a value is added to, if the device can do the arithmetic as well.

    `number` is the type that is read, if that is known better than by the read itself; `reads` are
    all reads of the statement, this one among them.
    """
    target, reads = _target(spot.statement), reads or (spot.node,)
    loops = flow.loops_around(spot.code, spot.node)
    if target is None or not loops or spot.dialect is None or not spot.dialect.wide:
        return None
    if not _is_arithmetic(spot.code, spot.statement, reads, target):
        return None
    if may_be_on_host(spot.code, value):
        return None
    name = dotted(target.value) if isinstance(target, cst.Subscript) else dotted(target)
    number = type_of(spot, value) if number is None else number
    if number == "int" and len(reads) == 1:
        number = _type_with(spot.code, spot.statement.value, spot.node, target)
    if number is None or flow.may_swallow(spot.code, spot.statement, loops[0]):
        return None
    return Sum(
        spot,
        target,
        value,
        loops[0],
        name,
        number,
        _assumed(spot.code, spot.statement.value, reads, target),
    )


def _assumed(code: Code, node: Expression, reads: Reads, target: Expression) -> str:
    """Return an operand that nothing but its looks tells to be a number; "" if there is none."""
    if node in reads or same(node, target):
        return ""
    if isinstance(node, cst.BinaryOperation):
        sides = (_assumed(code, side, reads, target) for side in (node.left, node.right))
        return next(filter(None, sides), "")
    if isinstance(node, cst.UnaryOperation):
        return _assumed(code, node.expression, reads, target)
    return "" if is_number(code, node) else code.source(node)


@kept(OF_STATEMENTS)
def _target(statement: cst.CSTNode) -> Target | None:
    match statement:
        case cst.AugAssign(operator=cst.AddAssign() | cst.SubtractAssign(), target=target):
            return _as_target(target)
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            if any(same(part, target) for part in nodes.walk(value)):
                return _as_target(target)
    return None


def _as_target(target: Expression) -> Target | None:
    """Return a variable, an attribute of `self` or an entry of a constant key."""
    match target:
        case cst.Name():
            return target
        case cst.Attribute(value=cst.Name(value="self")):
            return target
        case cst.Subscript(value=cst.Name()) if is_constant(index(target)):
            return target
    return None


def _is_arithmetic(code: Code, statement: Any, reads: Reads, target: Expression) -> bool:
    """Whether the statement computes no more than sums and products of its reads and numbers."""
    found = [part for part in nodes.walk(statement.value) if part in reads]
    return len(found) == len(reads) and _is_term(code, statement.value, reads, target)


_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


def _is_term(code: Code, node: Expression, reads: Reads, target: Expression) -> bool:
    if node in reads or same(node, target):
        return True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _OPERATORS):
        is_division = isinstance(node.operator, cst.Divide)
        if is_division and any(part in reads for part in nodes.walk(node.right)):
            return False  # a division by zero is an error on the host alone
        sides = (node.left, node.right)
        return all(_is_term(code, side, reads, target) for side in sides)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return _is_term(code, node.expression, reads, target)
    return is_plain(node) and not _is_known_otherwise(code, node)


def _is_known_otherwise(code: Code, node: Expression) -> bool:
    """Whether a name is given something that is plainly no number: an array, a list."""
    if not is_name(node):
        return False
    values = [value for value in given(code, node) if value is not None]
    return any(not is_number(code, value) and not is_plain(value) for value in values)


def _type_with(code: Code, node: Expression, read: Expression, target: Expression) -> str:
    """Return the type of what is computed with integers that are read; "" where nothing tells."""
    if node is read or same(node, target):
        return "int"
    if is_constant(node):
        return type(constant(node)).__name__
    match node:
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            sides = {_type_with(code, side, read, target) for side in (left, right)}
            if isinstance(operator, cst.Divide) or "float" in sides:
                return "float"
            return "" if "" in sides else "int"
        case cst.UnaryOperation(expression=operand):
            return _type_with(code, operand, read, target)
        case cst.Name():
            return _type_of_name(code, node, read, target)
        case cst.Attribute():
            return ""
    return "int" if is_plain(node) else ""


def _type_of_name(code: Code, node: cst.Name, read: Expression, target: Expression) -> str:
    """Return the type that all values of a variable have; "" where they differ."""
    values = [value for value in given(code, node) if value is not node]
    types = {_type_with(code, value, read, target) if value is not None else "" for value in values}
    return types.pop() if len(types) == 1 else ""


def is_plain(node: Expression) -> bool:
    """Whether it is a number of the host by its form: `len(x)`, `x.size(0)`, `n`, `0.5`."""
    if is_constant(node):
        return type(constant(node)) in (int, float)
    match node:
        case cst.Call(func=cst.Attribute()):
            return method(node) in {"size", "numel", "dim"} and not nodes.keywords(node)
        case cst.Call():
            return function(node) == "len"
        case cst.Subscript(value=owner):
            return attribute(owner) == "shape"
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            known = isinstance(operator, (*_OPERATORS, cst.FloorDivide))
            return known and is_plain(left) and is_plain(right)
    return isinstance(node, (cst.Name, cst.Attribute)) and bool(dotted(node))


def type_of(spot: Spot, value: Expression) -> str | None:
    """Return what type the sum has: that of the read; "" if nothing tells, None if it is cut."""
    if converted := converts_to(spot.node):
        known = infer(spot.code, value).number
        return converted if converted == "float" or known == "int" else None
    known = infer(spot.code, value).number
    return {"bool": "int"}.get(known, known)


def start_of(found: Sum) -> float | None:
    """Return the plain number that the target is set to before the loop."""
    code = found.spot.code
    statement: cst.CSTNode = found.loop
    while True:
        body, at_loop = code.block(statement)
        parent = code.outer(statement) or code.tree
        for before in reversed(_concerned(parent).get(found.name, ())):
            block, at = code.block(before)
            if block is not body or at >= at_loop:
                continue
            value = _given(before, found)
            if value is not NO_CONSTANT:
                return value if type(value) in (int, float) else None
            if _touches(before, found):
                return None
        if not isinstance(parent, (*LOOPS, cst.With, cst.If)):
            return None
        if isinstance(parent, LOOPS) and flow.uses(parent, found.name, [found.loop]):
            return None
        statement = parent


@kept(OF_SCOPES)
def _concerned(block: cst.CSTNode) -> dict[str, list[cst.CSTNode]]:
    """Return which statements right below a node mention, bind or change each name, in order."""
    found: dict[str, list[cst.CSTNode]] = {}
    for statement in (part for statements in nodes.blocks(block) for part in statements):
        for name in {*flow.mentions(statement), *flow.changed([statement])}:
            found.setdefault(name, []).append(statement)
    return found


def _given(statement: cst.CSTNode, found: Sum) -> Any:
    """Return the constant that a statement sets the target to; else NO_CONSTANT."""
    known = _constants(statement)
    if isinstance(found.target, cst.Subscript):
        entry = known.get((found.name, written(index(found.target))), NO_CONSTANT)
        if entry is not NO_CONSTANT:
            return entry
    return known.get(("", written(found.target)), NO_CONSTANT)


@kept(OF_STATEMENTS)
def _constants(statement: cst.CSTNode) -> dict[tuple[str, str], Any]:
    """Return the constants that a statement sets targets to, and the entries of dictionaries.

    A key is the name of a dictionary, or "", and how the entry or the target is written.
    """
    found: dict[tuple[str, str], Any] = {}
    if not isinstance(statement, (cst.Assign, cst.AnnAssign)) or statement.value is None:
        return found
    value = statement.value
    for target in nodes.targets(statement):
        pairs: list[tuple[str, Expression, Expression]] = [("", target, value)]
        if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
            parts = zip(nodes.elements(target), nodes.elements(value), strict=False)
            pairs += [("", *pair) for pair in parts]
        if (name := dotted(target)) and isinstance(value, cst.Dict):
            entries = (each for each in value.elements if isinstance(each, cst.DictElement))
            pairs += [(name, each.key, each.value) for each in entries]
        for name, key, number in pairs:
            if (known := _as_constant(number)) is not NO_CONSTANT:
                found.setdefault((name, written(key)), known)
    return found


def _as_constant(node: Expression) -> Any:
    """Return a constant, with a sign too, and infinity as `float("inf")` or `math.inf`."""
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=operand):
            inner = _as_constant(operand)
            return -inner if type(inner) in (int, float) else NO_CONSTANT
        case cst.Attribute() if dotted(node) in {"math.inf", "np.inf", "torch.inf"}:
            return float("inf")
        case cst.Call(func=cst.Name(value="float")) if len(positional(node)) == 1:
            text = constant(positional(node)[0])
            return float(text) if str(text).strip("+-") in _INFINITE else NO_CONSTANT
    return constant(node)


_INFINITE = frozenset({"inf", "infinity", "Inf", "Infinity"})


def _touches(statement: cst.CSTNode, found: Sum) -> bool:
    return found.name in flow.changed([statement]) or bool(
        isinstance(statement, (*LOOPS, cst.If, *TRIES, cst.With))
        and flow.uses(statement, found.name)
    )
