"""A line that reports a device value in every step: report every n-th step.

The loop's own period is taken, if another report of it has one, else 100 steps; a loop without a
counter gets one from `enumerate`. Lines that follow each other share one branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat, may_continue_text
from asyncguard.lint.fixes.rounds import is_report, periodic
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import body, is_for, same
from asyncguard.model import Applicability, Edit, Fix

ORDER = 50


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each report, once for all that it and those next to it read."""
    reports: dict[cst.CSTNode, list[Spot]] = {}
    for spot in spots:
        reports.setdefault(spot.statement, []).append(spot)
    for run in _runs([group for group in reports.values() if _is_repaired(group)]):
        if (fix := _fix([group[0] for group in run])) is not None:
            yield Repair(fix, tuple(spot for group in run for spot in group))


def _runs(groups: Sequence[list[Spot]]) -> Iterator[list[list[Spot]]]:
    """Yield reports that follow each other together."""
    run: list[list[Spot]] = []
    for group in groups:
        if run and (run[-1][0].body is not group[0].body or run[-1][0].at + 1 != group[0].at):
            yield run
            run = []
        run.append(group)
    if run:
        yield run


def _is_repaired(group: Sequence[Spot]) -> bool:
    """Whether it is a report of a loop's round, and no other line waits for what it shows."""
    loop = _loop(group[0])
    return loop is not None and not all(_is_read_elsewhere(loop, each) for each in group)


def _loop(spot: Spot) -> cst.For | None:
    loop = next(iter(flow.loops_around(spot.code, spot.statement)), None)
    if not is_for(loop):
        return None
    return loop if spot.body == body(loop) and is_report(spot.statement) else None


def _fix(run: Sequence[Spot]) -> Fix | None:
    loop = _loop(run[0])
    assert loop is not None
    found = thinned(run[0].code, loop, [spot.statement for spot in run])
    if found is None:
        return None
    test, edits = found
    return Fix(
        f"report only in the steps where `{test}`", edits, Applicability.UNSAFE, reports_less=True
    )


def _is_read_elsewhere(loop: cst.For, spot: Spot) -> bool:
    """Whether another line of each round waits for the same value, so that nothing is saved."""
    value = read_value(spot.node) or spot.node
    return any(
        other is not None and same(other, value)
        for line in body(loop)
        if line is not spot.statement and isinstance(line, (cst.Expr, cst.Assign, cst.AugAssign))
        for part in nodes.walk(line)
        if isinstance(part, cst.Call) and (other := read_value(part)) is not None
    )


def thinned(
    code: Code, loop: cst.For, statements: Sequence[cst.CSTNode], *above: str
) -> tuple[str, tuple[Edit, ...]] | None:
    """Return when reports that follow each other are made from now on, and the edits.

    Lines go above them. Next to a branch of the same steps they become a part of it.
    """
    indent = code.indent(statements[0])
    if indent is None or code.indent(loop) is None or not all(map(is_report, statements)):
        return None
    found = periodic(code, loop, statements[0])
    first, last = code.line(statements[0]), code.last_line(statements[-1])
    lines = code.lines[first - 1 : last]
    if found is None or not all(map(code.is_alone, statements)) or may_continue_text(lines):
        return None
    test, edits = found
    step = _unit(code, loop)
    if (branch := _branch_below(code, loop, statements[-1], test)) is not None:
        texts = [*above, *(line.removeprefix(indent) for line in lines)]
        edits = (*edits, code.insert_before(body(branch)[0], *texts))
        return test, (*edits, Edit(first, 0, last + 1, 0, ""))
    lines = [*(f"{indent}{line}" for line in above), *lines]
    inner = "\n".join(f"{step}{line}" if line.strip() else line for line in lines)
    header = "" if _is_behind(code, loop, statements[0], test) else f"{indent}if {test}:\n"
    return test, (*edits, Edit(first, 0, last, len(code.lines[last - 1]), header + inner))


def _is_behind(code: Code, loop: cst.For, statement: cst.CSTNode, test: str) -> bool:
    """Whether a statement follows a branch of a test that it can become a part of."""
    at = body(loop).index(statement)
    above = body(loop)[at - 1] if at else None
    if not isinstance(above, cst.If) or above.orelse or flat(code.source(above.test)) != test:
        return False
    indent = code.indent(body(above)[0])
    return indent == f"{code.indent(statement)}{_unit(code, loop)}" and not any(
        flow.names(above.test) & flow.changed([line]) for line in body(above)
    )


def _branch_below(code: Code, loop: cst.For, statement: cst.CSTNode, test: str) -> cst.If | None:
    """Return the branch of a test that follows a statement, which can become a part of it."""
    below = next(iter(body(loop)[body(loop).index(statement) + 1 :]), None)
    if not isinstance(below, cst.If) or flat(code.source(below.test)) != test:
        return None
    return below if not below.orelse and code.indent(body(below)[0]) is not None else None


def _unit(code: Code, loop: cst.For) -> str:
    """Return by how much the file indents."""
    inner, outer = code.indent(body(loop)[0]) or "", code.indent(loop) or ""
    return inner[len(outer) :] or "    "
