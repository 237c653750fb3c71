"""Decisions that Python makes by a device value, where the device can make them.

`max(a, b)` of two tensors is `torch.maximum(a, b)`. `assert torch.isfinite(loss).all()` is
`torch._assert_async(...)`, which fails on the device, and so a little later. `if x.isinf().any():
x = x.clamp(...)` clamps at once: what is within the bounds stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import table
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    body,
    function,
    is_and,
    is_constant,
    is_name,
    is_not,
    method,
    name_of,
    only,
    positional,
    same,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20
_EXTREMES = table("truth.extremes")
_OPPOSITE = {cst.Equal: "!=", cst.NotEqual: "=="}


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each decision that the device can make."""
    for spot in spots:
        fix = _extreme(spot) or _assertion(spot) or _check(spot) or _clamp(spot)
        if fix is not None:
            yield Repair(fix, (spot,))


# ---- max(a, b)


def _extreme(spot: Spot) -> Fix | None:
    """Take the larger of two values on the device."""
    code, call = spot.code, spot.node
    name = _EXTREMES.get(function(call))
    if name is None or not isinstance(call, cst.Call) or nodes.has_star(call):
        return None
    values = positional(call)
    if len(values) != 2 or len(call.args) != 2 or not _are_alike(code, values):
        return None
    module = code.name_for(spot.dialect.arrays) if spot.dialect is not None else None
    if module is None:
        return None
    message = (
        f"compare on the device with `{module}.{name}`: a new array, with the gradients of both; "
        "if one is NaN, so is the result"
    )
    edit = code.replace(call.func, f"{module}.{name}")
    return Fix(message, (edit,), Applicability.UNSAFE)


def _are_alike(code: Code, values: Sequence[Expression]) -> bool:
    """Whether both are tensors of one kind: elements of one, or of a kind that is known."""
    left, right = values
    if isinstance(left, cst.Subscript) and isinstance(right, cst.Subscript):
        return same(left.value, right.value)
    kinds = [infer(code, value) for value in values]
    known = {kind.number for kind in kinds}
    return len(known) == 1 and "" not in known and not any(map(_may_be_host, values))


def _may_be_host(node: Expression) -> bool:
    return is_constant(node) or isinstance(node, (cst.UnaryOperation, cst.BinaryOperation))


# ---- assertions


def _assertion(spot: Spot) -> Fix | None:
    """Assert on the device: `assert (x > 0).all()`."""
    statement, code = spot.statement, spot.code
    if not isinstance(statement, cst.Assert) or not is_whole(spot, statement.test):
        return None
    if not code.is_alone(statement) or not _fails_loudly(spot):
        return None
    condition = scalar(code, statement.test)
    text = _asserted(code, condition, statement.msg) if condition is not None else None
    return _asynchronous(spot, (code.replace(statement, text),)) if text is not None else None


def _check(spot: Spot) -> Fix | None:
    """Assert on the device what a branch raises for: `if (x < 0).any(): raise ValueError`."""
    branch, code = spot.statement, spot.code
    if not isinstance(branch, cst.If) or branch.orelse or not is_whole(spot, branch.test):
        return None
    if code.indent(branch) is None or not _fails_loudly(spot):
        return None
    condition, raised = _negated(code, branch.test), _raised(body(branch))
    if condition is None or raised is None:
        return None
    message = only(raised) if isinstance(raised, cst.Call) else None
    text = _asserted(code, condition, message)
    return _asynchronous(spot, (code.replace(branch, text),)) if text is not None else None


def _raised(statements: Sequence[cst.CSTNode]) -> Expression | None:
    """Return the error that is all that statements raise, with a message at most."""
    first, *more = statements
    raised = first.exc if isinstance(first, cst.Raise) else None
    if more or raised is None or not _is_error(raised):
        return None
    is_plain = not isinstance(raised, cst.Call) or not raised.args or only(raised) is not None
    return raised if is_plain else None


def _is_error(raised: Expression) -> bool:
    known = {
        "ValueError",
        "RuntimeError",
        "AssertionError",
        "FloatingPointError",
        "ArithmeticError",
    }
    return (name_of(raised) or function(raised)) in known


def _asynchronous(spot: Spot, edits: tuple[Edit, ...]) -> Fix:
    message = (
        "check on the device; a failure is a RuntimeError of the device, and comes a little later"
    )
    return Fix(message, edits, Applicability.UNSAFE)


def is_whole(spot: Spot, test: Expression) -> bool:
    """Whether what waits is all that the condition asks."""
    while isinstance(test, cst.UnaryOperation) and is_not(test):
        if test is spot.node:
            return True
        test = test.expression
    return test is spot.node


def _fails_loudly(spot: Spot) -> bool:
    """Whether nothing in the file waits for the exception: a later one would pass it by."""
    code = spot.code
    if spot.finding.framework != "torch" or module_name(code, _dialect(spot)) is None:
        return False
    return not _catches(code.tree)


@kept(OF_SCOPES)
def _catches(tree: cst.Module) -> bool:
    """Whether any exception is caught in a file."""
    catching = (cst.ExceptHandler, cst.ExceptStarHandler)
    return any(isinstance(node, catching) for node in nodes.walk(tree))


def _dialect(spot: Spot):  # type: ignore[no-untyped-def]
    assert spot.dialect is not None
    return spot.dialect


def _asserted(code: Code, condition: str, message: Expression | None) -> str | None:
    module = code.name_for("torch")
    if message is None:
        return f"{module}._assert_async({condition})"
    if not nodes.is_text(message):
        return None  # its text would be made in every step
    return f"{module}._assert_async({condition}, {flat(code.source(message))})"


def scalar(code: Code, test: Expression) -> str | None:
    """Return the condition as a tensor of one truth value."""
    if isinstance(test, cst.UnaryOperation) and is_not(test):
        return _negated(code, test.expression)
    kind = infer(code, test)
    return flat(code.source(test)) if kind.number == "bool" and kind.scalar else None


def _negated(code: Code, test: Expression) -> str | None:
    if isinstance(test, cst.UnaryOperation) and is_not(test):
        return scalar(code, test.expression)
    kind = infer(code, test)
    if kind.number != "bool" or not kind.scalar:
        return None
    if isinstance(test, cst.Comparison) and (opposite := _OPPOSITE.get(nodes.operator(test))):
        left, right = map(code.source, nodes.compared(test)[:2])
        return flat(f"{left} {opposite} {right}")
    is_tight = isinstance(test, cst.Call) or is_name(test)
    return flat(f"~{code.source(test)}" if is_tight else f"~({code.source(test)})")


# ---- clamping what overflowed


def _clamp(spot: Spot) -> Fix | None:
    """Clamp at once what a test finds infinite first."""
    code, branch = spot.code, spot.statement
    if not isinstance(branch, cst.If) or branch.orelse or code.indent(branch) is None:
        return None
    tested = _tested(spot.node)
    if not tested or not _is_clamp(body(branch), tested):
        return None
    rest = rest_of_test(code, branch.test, spot.node)
    if rest is None:
        return None
    edits = without_test(code, branch) if rest == "" else (code.replace(branch.test, rest),)
    if edits is None:
        return None
    message = f"clamp `{tested}` without asking first; values close to the largest are clamped too"
    return Fix(message, edits, Applicability.UNSAFE)


def _tested(node: Expression) -> str:
    """Return `x` of `torch.isinf(x).any()` and `torch.isfinite(x).all()`, or ""."""
    if isinstance(node, cst.UnaryOperation) and is_not(node):
        node = node.expression
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Call(func=cst.Attribute(value=owner)) as inner)):
            asks = method(node) in {"any", "all"} and method(inner) in {"isinf", "isfinite"}
            value = next(iter(positional(inner)), owner)
            return name_of(value) if asks and not positional(node) else ""
    return ""


def _is_clamp(statements: Sequence[cst.CSTNode], name: str) -> bool:
    """Whether a branch does no more than compute bounds and clamp a variable to them."""
    *bounds, last = statements
    if not all(_is_bound(statement, name) for statement in bounds):
        return False
    match last:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=target))],
            value=cst.Call(func=cst.Attribute(value=owner)) as value,
        ):
            first = owner if nodes.root(owner) == name else next(iter(positional(value)), None)
            return target == name == name_of(first) and method(value) == "clamp"
    return False


def _is_bound(statement: cst.CSTNode, name: str) -> bool:
    """Whether a statement computes a bound for a variable: `most = torch.finfo(x.dtype).max`."""
    if not isinstance(statement, cst.Assign) or flow.bound(statement) == {name}:
        return False
    return any(nodes.attribute(part) == "finfo" for part in nodes.walk(statement))


def rest_of_test(code: Code, test: Expression, node: Expression) -> str | None:
    """Return what else the condition asks; "" for nothing, None where that is not plain."""
    if holds(test, node):
        return ""
    if not isinstance(test, cst.BooleanOperation) or not is_and(test):
        return None
    values = nodes.operands(test)
    others = [value for value in values if not holds(value, node)]
    if len(others) != len(values) - 1 or "\n" in code.source(test):
        return None
    return " and ".join(f"({code.source(o)})" if o.lpar else code.source(o) for o in others)


def holds(test: Expression, node: Expression) -> bool:
    """Whether a test asks for an expression and nothing else, or for its opposite."""
    if isinstance(test, cst.UnaryOperation) and is_not(test) and test.expression is node:
        return True
    return test is node


def without_test(code: Code, branch: cst.If) -> tuple[Edit, ...] | None:
    """Dedent the body of a branch, of one line a statement, and delete its test."""
    is_plain = all(code.line(part) == code.last_line(part) for part in body(branch))
    return dedented(code, branch) if is_plain else None


def dedented(code: Code, branch: cst.If, change: Edit | None = None) -> tuple[Edit, ...] | None:
    """Put the body of a branch in its place, a change in one of its lines made."""
    indent, lines = code.indent(branch), code.body_lines(branch, change)
    if indent is None or lines is None:
        return None
    last = code.last_line(branch)
    text = "\n".join(indent + line if line.strip() else line for line in lines)
    return (Edit(code.line(branch), 0, last, len(code.lines[last - 1]), text),)
