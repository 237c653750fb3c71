"""A number that each step adds to a target: which target, from what start, of what type."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import LOOPS, Code, Loop, dotted, same, written
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.places import may_be_on_host
from asyncguard.lint.fixes.spots import Spot, converts_to
from asyncguard.lint.source import parsed

Target = ast.Name | ast.Attribute | ast.Subscript


class Sum(NamedTuple):
    """A target that a statement of a loop adds a read to."""

    spot: Spot
    target: Target
    value: ast.expr  # what is read: `loss` of `loss.item()`
    loop: Loop
    name: str  # the variable or attribute that is or holds the target
    number: str  # "float", "int", or "" where nothing tells
    assumed: str = ""  # an operand that is a number only by its looks


def sum_of(
    spot: Spot, value: ast.expr, number: str | None = None, reads: Collection[ast.expr] = ()
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
    name = dotted(target.value) if isinstance(target, ast.Subscript) else dotted(target)
    number = type_of(spot, value) if number is None else number
    if number == "int" and len(reads) == 1:
        number = _type_with(spot.code, spot.statement.value, spot.node, target)  # type: ignore[attr-defined]
    if number is None or flow.may_swallow(spot.code, spot.statement, loops[0]):
        return None
    return Sum(
        spot,
        target,
        value,
        loops[0],
        name,
        number,
        _assumed(spot.code, spot.statement.value, reads, target),  # type: ignore[attr-defined]
    )


def _assumed(code: Code, node: ast.expr, reads: Collection[ast.expr], target: ast.expr) -> str:
    """Return an operand that nothing but its looks tells to be a number; "" if there is none."""
    if node in reads or same(node, target):
        return ""
    if isinstance(node, ast.BinOp):
        sides = (_assumed(code, side, reads, target) for side in (node.left, node.right))
        return next(filter(None, sides), "")
    if isinstance(node, ast.UnaryOp):
        return _assumed(code, node.operand, reads, target)
    return "" if is_number(code, node) else code.source(node)


@kept(OF_STATEMENTS)
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


def _is_arithmetic(
    code: Code, statement: ast.stmt, reads: Collection[ast.expr], target: ast.expr
) -> bool:
    """Whether the statement computes no more than sums and products of its reads and numbers."""
    value = statement.value  # type: ignore[attr-defined]
    found = [part for part in parsed.walk(value) if part in reads]
    if len(found) != len(reads):
        return False
    return _is_term(code, value, reads, target)


_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _is_term(code: Code, node: ast.expr, reads: Collection[ast.expr], target: ast.expr) -> bool:
    if node in reads or same(node, target):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        if isinstance(node.op, ast.Div) and any(part in reads for part in parsed.walk(node.right)):
            return False  # a division by zero is an error on the host alone
        sides = (node.left, node.right)
        return all(_is_term(code, side, reads, target) for side in sides)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_term(code, node.operand, reads, target)
    return is_plain(node) and not _is_known_otherwise(code, node)


def _is_known_otherwise(code: Code, node: ast.expr) -> bool:
    """Whether a name is given something that is plainly no number: an array, a list."""
    if not isinstance(node, ast.Name):
        return False
    values = [value for value in given(code, node) if value is not None]
    return any(not is_number(code, value) and not is_plain(value) for value in values)


def _type_with(code: Code, node: ast.expr, read: ast.expr, target: ast.expr) -> str:
    """Return the type of what is computed with integers that are read; "" where nothing tells."""
    if node is read or same(node, target):
        return "int"
    if isinstance(node, ast.BinOp):
        sides = {_type_with(code, side, read, target) for side in (node.left, node.right)}
        if isinstance(node.op, ast.Div) or "float" in sides:
            return "float"
        return "" if "" in sides else "int"
    if isinstance(node, ast.UnaryOp):
        return _type_with(code, node.operand, read, target)
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.Name):
        given_types = {
            "" if value is None else _type_with(code, value, read, target)
            for value in given(code, node)
            if value is not node
        }
        return given_types.pop() if len(given_types) == 1 else ""
    return "" if isinstance(node, ast.Attribute) or not is_plain(node) else "int"


def is_plain(node: ast.expr) -> bool:
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
        return is_plain(node.left) and is_plain(node.right)
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(dotted(node))


def type_of(spot: Spot, value: ast.expr) -> str | None:
    """Return what type the sum has: that of the read; "" if nothing tells, None if it is cut."""
    if converted := converts_to(spot.node):
        known = infer(spot.code, value).number
        return converted if converted == "float" or known == "int" else None
    known = infer(spot.code, value).number
    return {"bool": "int"}.get(known, known)


def start_of(found: Sum) -> ast.Constant | None:
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
                return value if _is_number(value) else None
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
            if (constant := _as_constant(number)) is not None:
                found.setdefault((name, written(key)), constant)
    return found


def _as_constant(node: ast.expr) -> ast.Constant | None:
    """Return a constant, with a sign too, and infinity as `float("inf")` or `math.inf`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _as_constant(node.operand)
        is_number = inner is not None and _is_number(inner)
        return ast.Constant(-inner.value) if is_number else None  # type: ignore[union-attr,operator]
    if isinstance(node, ast.Attribute) and dotted(node) in {"math.inf", "np.inf", "torch.inf"}:
        return ast.Constant(float("inf"))
    if isinstance(node, ast.Call) and dotted(node.func) == "float" and len(node.args) == 1:
        text = node.args[0]
        is_infinite = isinstance(text, ast.Constant) and str(text.value).strip("+-") in _INFINITE
        return ast.Constant(float(text.value)) if is_infinite else None  # type: ignore[attr-defined]
    return node if isinstance(node, ast.Constant) else None


_INFINITE = frozenset({"inf", "infinity", "Inf", "Infinity"})


def _is_number(node: ast.Constant) -> bool:
    return type(node.value) in (int, float)


def _touches(statement: ast.stmt, found: Sum) -> bool:
    return found.name in flow.changed([statement]) or bool(
        isinstance(statement, (*LOOPS, ast.If, ast.Try, ast.With))
        and flow.uses(statement, found.name)
    )
