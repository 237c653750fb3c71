"""Barriers that can neither go nor move behind their loop: wait for one value, not for everything.

A barrier in a branch, or in a loop with `else`, bounds the queue where Python may run ahead of the
device without bound. A wait for the loss does that too, and beside it the update still runs.

On CUDA a barrier behind a copy that does not block becomes an event behind that copy, so that the
host does not wait for what was enqueued after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.dialects import call, module_name
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax.nodes import (
    STATEMENTS,
    Loop,
    body,
    constant,
    is_name,
    method,
    positional,
    root,
    targets,
    walk,
)
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Applicability, Fix

ORDER = 21  # behind `barriers`
_EVERYTHING = words("barrier.everything")
_CLOCKED = pattern("barrier.clocked")
_COPIES = pattern("barrier.copies")
_READS = words("read.any") | words("read.one")
_TO_HOST = words("copy.into")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each barrier that stands alone as a statement of a loop."""
    for spot in spots:
        if (fix := _one_value(spot) or _one_copy(spot)) is not None:
            yield Repair(fix, (spot,))


def _is_plain(spot: Spot) -> bool:
    """Whether it is a barrier on lines of its own, in code without clocks and streams."""
    statement = spot.statement
    if spot.finding.api not in _EVERYTHING or not isinstance(statement, cst.Expr):
        return False
    if statement.value is not spot.node or not spot.code.is_alone(statement):
        return False
    return not _CLOCKED.search(spot.scope_text)


# ---- The loss


def _one_value(spot: Spot) -> Fix | None:
    """Wait for the loss alone, where nothing else in the loop bounds the queue."""
    code, dialect = spot.code, spot.dialect
    if dialect is None or not dialect.wait or not _is_plain(spot):
        return None
    loop = next(iter(flow.loops_around(code, spot.node)), None)
    if loop is None or _waits_elsewhere(code, loop, spot):
        return None
    if flow.may_swallow(code, spot.statement, loop):  # errors of the other work come up here
        return None
    known = _computed_before(spot, loop)
    starts = {root for root in _starts_of_backward(loop) if known.get(root)}
    if len(starts) != 1:
        return None
    name = starts.pop()
    text = call(dialect.wait, name, module_name(code, dialect))
    message = (
        f"wait for `{name}` alone: the queue stays as short, and what was enqueued behind it "
        "runs beside the next step"
    )
    return Fix(message, (code.replace(spot.node, text),), Applicability.UNSAFE)


def _waits_elsewhere(code: Code, loop: Loop, spot: Spot) -> bool:
    """Whether a call of the loop reads, or is a barrier too."""
    barrier = code.meaning(spot.node.func) if isinstance(spot.node, cst.Call) else ""
    for part in walk(loop):
        if not isinstance(part, cst.Call) or part is spot.node:
            continue
        if method(part) in _READS or dotted(part.func) in {"float", "int", "print"}:
            return True
        if code.meaning(part.func) == barrier:
            return True
    return False


def _computed_before(spot: Spot, loop: Loop) -> dict[str, bool]:
    """Return the names that the round binds before the barrier; whether plainly, and surely so."""
    found: dict[str, bool] = {}
    statement: cst.CSTNode = spot.statement
    while statement is not loop and isinstance(statement, STATEMENTS):
        block, at = spot.code.block(statement)
        for before in reversed(block[:at]):
            for name, plainly in _bindings(before):
                found.setdefault(name, plainly)
        statement = spot.code.outer(statement) or loop
    return found


def _bindings(statement: cst.CSTNode) -> Iterator[tuple[str, bool]]:
    """Yield what a statement binds: plainly where it is an assignment, or one in a `with`."""
    if isinstance(statement, cst.With) and statement.asynchronous is None:
        for inner in reversed(body(statement)):
            yield from _bindings(inner)
    plain = isinstance(statement, cst.Assign) and is_name(targets(statement)[0])
    for name in flow.bound(statement):
        yield name, plain


def _starts_of_backward(loop: Loop) -> Iterator[str]:
    """Yield `loss` of `loss.backward()` and of `loss.sum().backward()`."""
    for part in flow.walk_own(loop):
        if method(part) == "backward" and not positional(part):
            yield root(part.func.value)


# ---- A copy


def _one_copy(spot: Spot) -> Fix | None:
    """Wait for the one copy that does not block, by an event behind it."""
    code, dialect = spot.code, spot.dialect
    if dialect is None or spot.finding.framework != "torch" or not _is_plain(spot):
        return None
    module = module_name(code, dialect)
    if module is None or len(_COPIES.findall(spot.scope_text)) != 1:
        return None
    if not isinstance(spot.node, cst.Call) or spot.node.args:
        return None
    copies = [at for at, each in enumerate(spot.body[: spot.at]) if _copies(code, each)]
    if len(copies) != 1 or not code.is_alone(spot.body[copies[0]]):
        return None
    if all(map(flow.is_quiet, spot.body[copies[0] + 1 : spot.at])):
        return None  # nothing is enqueued behind the copy
    if not flow.loops_around(code, spot.node):
        return None
    name = code.fresh("copied", spot.node)
    lines = (f"{name} = {module}.cuda.Event()", f"{name}.record()")
    edits = (
        code.insert_after(spot.body[copies[0]], *lines),
        code.replace(spot.node, f"{name}.synchronize()"),
    )
    message = "wait for the copy alone, by an event behind it; what follows it may still run then"
    return Fix(message, edits, Applicability.SHOWN)


def _copies(code: Code, statement: cst.CSTNode) -> bool:
    """Whether a plain statement is `buffer.copy_(x, non_blocking=True)`, or moves to the CPU so."""
    value = statement.value if isinstance(statement, (cst.Expr, cst.Assign)) else None
    if not isinstance(value, cst.Call) or method(value) not in _TO_HOST:
        return False
    if not _COPIES.search(flat(code.source(value))):
        return False
    return method(value) == "copy_" or "cpu" in map(constant, positional(value))
