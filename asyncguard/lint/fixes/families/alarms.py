"""A check of every step that ends the loop, such as one for NaN: note it on the device, ask rarely.

`if torch.isnan(loss): break` waits in each step for an answer that is nearly always no. A flag on
the device remembers it, and every n-th step asks the flag.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, dotted
from asyncguard.lint.fixes.families import logs, truth
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Fix

ORDER = 25
_EXITS = words("alarm.exits")
_FAILURES = words("alarm.failures")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each check that ends its loop."""
    for spot in spots:
        if spot.finding.framework == "torch" and (fix := _fix(spot)) is not None:
            yield Repair(fix, (spot,))


def _fix(spot: Spot) -> Fix | None:
    code, branch, loop = spot.code, spot.statement, _loop(spot)
    if loop is None or not isinstance(branch, ast.If) or not truth.is_whole(spot, branch.test):
        return None
    if not _ends(branch.body[-1]) or not _is_of_failure(branch.test):
        return None
    condition = truth.scalar(code, branch.test)
    counted = logs.counted(code, loop)
    name = code.fresh("failed")
    again = _again(code, branch, name)
    if condition is None or counted is None or again is None:
        return None
    test, edits = counted
    edits = (
        *edits,
        code.insert_before(loop, f"{name} = False"),
        code.insert_before(branch, f"{name} = {name} | {_operand(condition)}"),
        code.replace(branch.test, f"{test} and {name}"),
        *([code.insert_after(loop, *again)] if again else []),
    )
    message = f"note on the device that it happened, and ask where `{test}`: some steps later"
    return Fix(message, edits, Applicability.UNSAFE)


def _loop(spot: Spot) -> ast.For | None:
    """Return the loop that a branch without an `else` stands in, if each round comes to it."""
    code, branch = spot.code, spot.statement
    loop = next(iter(flow.loops_around(code, branch)), None)
    if not isinstance(branch, ast.If) or branch.orelse or code.indent(branch) is None:
        return None
    if not isinstance(loop, ast.For) or branch not in loop.body or code.indent(loop) is None:
        return None
    if isinstance(spot.scope, (ast.Lambda, ast.ClassDef)) or _leads_on(loop, branch):
        return None
    return loop


def _operand(condition: str) -> str:
    known = ast.parse(condition, mode="eval").body
    return condition if isinstance(known, (ast.Call, ast.Name, ast.UnaryOp)) else f"({condition})"


def _again(code: Code, branch: ast.If, name: str) -> list[str] | None:
    """Return the lines that ask once more behind the loop; none for a `break`."""
    if isinstance(branch.body[-1], ast.Break):
        return []
    lines = code.body_lines(branch)
    if lines is None:
        return None
    inner = code.indent(branch.body[0]) or ""
    unit = inner[len(code.indent(branch) or "") :]
    return [f"if {name}:", *(f"{unit}{line}" for line in lines)]


def _ends(statement: ast.stmt) -> bool:
    """Whether a statement leaves the loop for good."""
    if isinstance(statement, (ast.Break, ast.Raise)):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and dotted(call.func) in _EXITS


def _is_of_failure(test: ast.expr) -> bool:
    """Whether a test asks for values that are no numbers."""
    return any(
        isinstance(node, ast.Call)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else "") in _FAILURES
        for node in parsed.walk(test)
    )


def _leads_on(loop: ast.For, branch: ast.If) -> bool:
    """Whether the loop has an `else`, or may skip the branch in the steps that would ask."""
    above = loop.body[: loop.body.index(branch)]
    skips = any(isinstance(node, ast.Continue) for part in above for node in flow.walk_own(part))
    return bool(loop.orelse) or skips
