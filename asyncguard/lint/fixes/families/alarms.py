"""A check of every step that ends the loop, such as one for NaN: note it on the device, ask rarely.

`if torch.isnan(loss): break` waits in each step for an answer that is nearly always no. A flag on
the device remembers it; every n-th step asks the flag and leaves the loop, and what was to be done
is done behind it, whichever way the loop ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.families import truth
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.rounds import periodic
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import Expression, body, is_for, method
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Applicability, Edit, Fix

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
    if loop is None or not isinstance(branch, cst.If) or not truth.is_whole(spot, branch.test):
        return None
    if not _ends(body(branch)[-1]) or not _is_of_failure(branch.test):
        return None
    condition = _condition(code, branch.test)
    found = periodic(code, loop, branch)
    if condition is None or found is None:
        return None
    test, edits = found
    name = code.fresh("failed", loop)
    done = _done_behind(code, branch, loop, name)
    if done is None:
        return None
    edits = (
        *edits,
        code.insert_before(loop, f"{name} = False"),
        code.insert_before(branch, f"{name} = {name} | {condition}"),
        code.replace(branch.test, f"{test} and {name}"),
        *done,
    )
    message = (
        f"note on the device that it happened, and ask where `{test}` and behind the loop: the "
        "steps until then, and their updates of the weights, are made all the same"
    )
    return Fix(message, edits, Applicability.UNSAFE)


def _loop(spot: Spot) -> cst.For | None:
    """Return the loop that a branch without an `else` stands in, if each round comes to it."""
    code, branch = spot.code, spot.statement
    loop = next(iter(flow.loops_around(code, branch)), None)
    if not isinstance(branch, cst.If) or branch.orelse or code.indent(branch) is None:
        return None
    if not is_for(loop):
        return None
    if branch not in body(loop) or code.indent(loop) is None:
        return None
    if isinstance(spot.scope, (cst.Lambda, cst.ClassDef)) or _leads_on(loop, branch):
        return None
    return loop


def _condition(code: Code, test: Expression) -> str | None:
    """Return a test as an operand on the device, where it is one of a boolean tensor.

    That has one element, of whatever shape, or the test would fail.
    """
    asked = test.expression if isinstance(test, cst.UnaryOperation) else test
    if infer(code, asked).number != "bool":
        return None
    text = flat(code.operand(asked))
    return text if asked is test else f"~{text}"


def _done_behind(code: Code, branch: cst.If, loop: cst.For, name: str) -> tuple[Edit, ...] | None:
    """Leave the loop in the branch, and do behind it what the branch did; None if it cannot be."""
    first, last = body(branch)[0], body(branch)[-1]
    if first is last and isinstance(last, cst.Break):
        return ()
    lines, inner = code.body_lines(branch), code.indent(first)
    if lines is None or inner is None or not code.is_alone(last):
        return None
    if isinstance(last, cst.Break):
        lines = lines[: code.line(last) - code.line(first)]
    unit = inner[len(code.indent(branch) or "") :]
    end = code.last_line(branch)
    leave = Edit(code.line(first), 0, end, len(code.lines[end - 1]), f"{inner}break")
    return leave, code.insert_after(loop, f"if {name}:", *(f"{unit}{line}" for line in lines))


def _ends(statement: cst.CSTNode) -> bool:
    """Whether a statement leaves the loop for good."""
    if isinstance(statement, (cst.Break, cst.Raise)):
        return True
    call = statement.value if isinstance(statement, cst.Expr) else None
    return isinstance(call, cst.Call) and dotted(call.func) in _EXITS


def _is_of_failure(test: Expression) -> bool:
    """Whether a test asks for values that are no numbers."""
    return any(method(node) in _FAILURES for node in nodes.walk(test))


def _leads_on(loop: cst.For, branch: cst.If) -> bool:
    """Whether the loop has an `else`, or may be left so that nobody asks."""
    jumps = any(map(_jumps, body(branch)[:-1]))
    return loop.orelse is not None or jumps or not _leaving(loop) <= {id(branch)}


@kept(OF_SCOPES)
def _leaving(loop: cst.For) -> frozenset[int]:
    """Return the statements of a loop in which its function may end, or wait for its caller."""
    return frozenset(
        id(part)
        for part in body(loop)
        if any(isinstance(node, (cst.Return, cst.Yield)) for node in flow.walk_own(part))
    )


def _jumps(part: cst.CSTNode) -> bool:
    return any(isinstance(node, (cst.Break, cst.Continue)) for node in flow.walk_own(part))
