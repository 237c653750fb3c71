"""Decisions that Python makes by a device value, where the device can make them.

`max(a, b)` of two tensors is `torch.maximum(a, b)`. `assert torch.isfinite(loss).all()` is
`torch._assert_async(...)`, which fails on the device, and so a little later. `if x.isinf().any():
x = x.clamp(...)` clamps at once: what is within the bounds stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat, same
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import table
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Edit, Fix

ORDER = 20
_EXTREMES = table("truth.extremes")
_OPPOSITE = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}


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
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        return None
    name = _EXTREMES.get(call.func.id)
    if name is None or len(call.args) != 2 or not _are_alike(code, call.args):
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


def _are_alike(code: Code, values: Sequence[ast.expr]) -> bool:
    """Whether both are tensors of one kind: elements of one, or of a kind that is known."""
    left, right = values
    if isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):
        return same(left.value, right.value)
    kinds = [infer(code, value) for value in values]
    known = {kind.number for kind in kinds}
    return len(known) == 1 and "" not in known and not any(map(_may_be_host, values))


def _may_be_host(node: ast.expr) -> bool:
    return isinstance(node, (ast.Constant, ast.UnaryOp, ast.BinOp))


# ---- assertions


def _assertion(spot: Spot) -> Fix | None:
    """Assert on the device: `assert (x > 0).all()`."""
    statement, code = spot.statement, spot.code
    if not isinstance(statement, ast.Assert) or not is_whole(spot, statement.test):
        return None
    if not code.is_alone(statement) or not _fails_loudly(spot):
        return None
    condition = scalar(code, statement.test)
    text = _asserted(code, condition, statement.msg) if condition is not None else None
    return _asynchronous(spot, (code.replace(statement, text),)) if text is not None else None


def _check(spot: Spot) -> Fix | None:
    """Assert on the device what a branch raises for: `if (x < 0).any(): raise ValueError`."""
    branch, code = spot.statement, spot.code
    if not isinstance(branch, ast.If) or branch.orelse or not is_whole(spot, branch.test):
        return None
    if code.indent(branch) is None or not _fails_loudly(spot):
        return None
    condition, raised = _negated(code, branch.test), _raised(branch.body)
    if condition is None or raised is None:
        return None
    message = raised.args[0] if isinstance(raised, ast.Call) and raised.args else None
    text = _asserted(code, condition, message)
    return _asynchronous(spot, (code.replace(branch, text),)) if text is not None else None


def _raised(body: Sequence[ast.stmt]) -> ast.expr | None:
    """Return the error that is all that statements raise, with a message at most."""
    raised = body[0].exc if len(body) == 1 and isinstance(body[0], ast.Raise) else None
    if raised is None or not _is_error(raised):
        return None
    is_plain = not isinstance(raised, ast.Call) or not (raised.args[1:] or raised.keywords)
    return raised if is_plain else None


def _is_error(raised: ast.expr) -> bool:
    name = raised.func if isinstance(raised, ast.Call) else raised
    known = {
        "ValueError",
        "RuntimeError",
        "AssertionError",
        "FloatingPointError",
        "ArithmeticError",
    }
    return isinstance(name, ast.Name) and name.id in known


def _asynchronous(spot: Spot, edits: tuple[Edit, ...]) -> Fix:
    message = (
        "check on the device; a failure is a RuntimeError of the device, and comes a little later"
    )
    return Fix(message, edits, Applicability.UNSAFE)


def is_whole(spot: Spot, test: ast.expr) -> bool:
    """Whether what waits is all that the condition asks."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if test is spot.node:
            return True
        test = test.operand
    return test is spot.node


def _fails_loudly(spot: Spot) -> bool:
    """Whether nothing in the file waits for the exception: a later one would pass it by."""
    code = spot.code
    if spot.finding.framework != "torch" or module_name(code, _dialect(spot)) is None:
        return False
    return not any(isinstance(node, ast.ExceptHandler) for node in parsed.walk(code.tree))


def _dialect(spot: Spot):  # type: ignore[no-untyped-def]
    assert spot.dialect is not None
    return spot.dialect


def _asserted(code: Code, condition: str, message: ast.expr | None) -> str | None:
    module = code.name_for("torch")
    if message is None:
        return f"{module}._assert_async({condition})"
    if not isinstance(message, ast.Constant) or not isinstance(message.value, str):
        return None  # its text would be made in every step
    return f"{module}._assert_async({condition}, {flat(code.source(message))})"


def scalar(code: Code, test: ast.expr) -> str | None:
    """Return the condition as a tensor of one truth value."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _negated(code, test.operand)
    kind = infer(code, test)
    return flat(code.source(test)) if kind.number == "bool" and kind.scalar else None


def _negated(code: Code, test: ast.expr) -> str | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return scalar(code, test.operand)
    kind = infer(code, test)
    if kind.number != "bool" or not kind.scalar:
        return None
    if isinstance(test, ast.Compare) and type(test.ops[0]) in {ast.Eq, ast.NotEq}:
        left, right = code.source(test.left), code.source(test.comparators[0])
        return flat(f"{left} {_OPPOSITE[type(test.ops[0])]} {right}")
    text = code.source(test) if isinstance(test, (ast.Call, ast.Name)) else f"({code.source(test)})"
    return flat(f"~{text}")


# ---- clamping what overflowed


def _clamp(spot: Spot) -> Fix | None:
    """Clamp at once what a test finds infinite first."""
    code, branch = spot.code, spot.statement
    if not isinstance(branch, ast.If) or branch.orelse or code.indent(branch) is None:
        return None
    tested = _tested(spot.node)
    if tested is None or not _is_clamp(branch.body, tested):
        return None
    rest = rest_of_test(code, branch.test, spot.node)
    if rest is None:
        return None
    edits = without_test(code, branch) if rest == "" else (code.replace(branch.test, rest),)
    if edits is None:
        return None
    message = f"clamp `{tested}` without asking first; values close to the largest are clamped too"
    return Fix(message, edits, Applicability.UNSAFE)


def _tested(node: ast.expr) -> str | None:
    """Return `x` of `torch.isinf(x).any()` and `torch.isfinite(x).all()`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return None
    inner = node.func.value
    if node.func.attr not in {"any", "all"} or not isinstance(inner, ast.Call):
        return None
    if not isinstance(inner.func, ast.Attribute) or inner.func.attr not in {"isinf", "isfinite"}:
        return None
    value = inner.args[0] if inner.args else inner.func.value
    return value.id if isinstance(value, ast.Name) else None


def _is_clamp(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a branch does no more than compute bounds and clamp a variable to them."""
    *bounds, last = body
    if not all(_is_bound(statement, name) for statement in bounds):
        return False
    if not isinstance(last, ast.Assign) or len(last.targets) != 1:
        return False
    target, value = last.targets[0], last.value
    if not isinstance(target, ast.Name) or target.id != name or not isinstance(value, ast.Call):
        return False
    function = value.func
    if not isinstance(function, ast.Attribute) or function.attr != "clamp":
        return False
    first = function.value if flow.root(function) == name else next(iter(value.args), None)
    return isinstance(first, ast.Name) and first.id == name


def _is_bound(statement: ast.stmt, name: str) -> bool:
    """Whether a statement computes a bound for a variable: `most = torch.finfo(x.dtype).max`."""
    if not isinstance(statement, ast.Assign) or flow.bound(statement) == {name}:
        return False
    return any(isinstance(n, ast.Attribute) and n.attr == "finfo" for n in parsed.walk(statement))


def rest_of_test(code: Code, test: ast.expr, node: ast.expr) -> str | None:
    """Return what else the condition asks; "" for nothing, None where that is not plain."""
    if holds(test, node):
        return ""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return None
    others = [value for value in test.values if not holds(value, node)]
    if len(others) != len(test.values) - 1 or "\n" in code.source(test):
        return None
    return " and ".join(map(code.source, others))


def holds(test: ast.expr, node: ast.expr) -> bool:
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return test is node or (negated and test.operand is node)  # type: ignore[attr-defined]


def without_test(code: Code, branch: ast.If) -> tuple[Edit, ...] | None:
    """Dedent the body of a branch, of one line a statement, and delete its test."""
    is_plain = all(s.lineno == s.end_lineno for s in branch.body)
    return dedented(code, branch) if is_plain else None


def dedented(code: Code, branch: ast.If, change: Edit | None = None) -> tuple[Edit, ...] | None:
    """Put the body of a branch in its place, a change in one of its lines made."""
    indent, lines = code.indent(branch), code.body_lines(branch, change)
    if indent is None or lines is None:
        return None
    last = branch.end_lineno or 0
    text = "\n".join(indent + line if line.strip() else line for line in lines)
    return (Edit(branch.lineno, 0, last, len(code.lines[last - 1]), text),)
