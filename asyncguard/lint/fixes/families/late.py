"""A report in a loop without a counter: show the value of the step before, which has arrived.

`print(loss.item())` waits for the step that was just enqueued. `asyncguard.later` starts a copy,
which is done by when the next step asks for it. The reader sees each value one step late, and none
in the first step, and the program needs asyncguard, so this is shown and never applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import flow, rounds
from asyncguard.lint.fixes.code import flat
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
from asyncguard.lint.syntax.nodes import Expression, body, root
from asyncguard.model import Applicability, Fix

ORDER = 62


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each report of a `while` loop that reads one float."""
    reports: dict[int, list[Spot]] = {}
    for spot in spots:
        reports.setdefault(id(spot.statement), []).append(spot)
    for group in reports.values():
        if len(group) == 1 and (fix := _fix(group[0])) is not None:
            yield Repair(fix, (group[0],))


def _loop(spot: Spot, value: Expression) -> cst.While | None:
    """Return the loop in which a report may show the value of the round before."""
    code, statement = spot.code, spot.statement
    loop = next(iter(flow.loops_around(code, statement)), None)
    if not isinstance(loop, cst.While) or statement not in body(loop) or code.indent(loop) is None:
        return None
    if not rounds.is_report(statement) or not code.is_alone(statement) or not flow.is_pure(value):
        return None
    is_float = converts_to(spot.node) != "int" and infer(code, value).number == "float"
    return loop if is_float else None


def _fix(spot: Spot) -> Fix | None:
    code, value = spot.code, read_value(spot.node)
    loop = _loop(spot, value) if value is not None and spot.dialect is not None else None
    if value is None or loop is None:
        return None
    imports = [s for s in body(code.tree) if isinstance(s, (cst.Import, cst.ImportFrom))]
    module = code.name_for("asyncguard")
    if module is None and not imports:
        return None
    late = code.fresh(f"late_{root(value) or 'value'}", loop)
    text = flat(code.operand(value))
    start = f"{module or 'asyncguard'}.later"
    edits = (
        *(() if module else (code.insert_after(imports[-1], "import asyncguard"),)),
        code.insert_before(loop, f'{late} = {start}(float("nan"))'),
        code.replace(spot.node, f"{late}.result()"),
        code.insert_after(spot.statement, f"{late} = {start}({text})"),
    )
    message = f"show `{text}` of the step before, which has been copied meanwhile; the first is NaN"
    return Fix(message, edits, Applicability.SHOWN)
