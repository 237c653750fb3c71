"""A report in a loop without a counter: show the value of the step before, which has arrived.

`print(loss.item())` waits for the step that was just enqueued. A copy into a pinned buffer with an
event behind it needs no wait until the next step asks for it. The reader sees each value one step
late, and none in the first step, so this is shown and never applied.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import flow, rounds
from asyncguard.lint.fixes.code import flat
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.spots import Repair, Spot, converts_to, read_value
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


def _fix(spot: Spot) -> Fix | None:
    code, statement, value = spot.code, spot.statement, read_value(spot.node)
    loop = next(iter(flow.loops_around(code, statement)), None)
    if value is None or spot.finding.framework != "torch" or spot.dialect is None:
        return None
    if not isinstance(loop, ast.While) or statement not in loop.body or code.indent(loop) is None:
        return None
    if not rounds.is_report(statement) or not code.is_alone(statement) or not flow.is_pure(value):
        return None
    if converts_to(spot.node) == "int" or infer(code, value).number != "float":
        return None
    module = module_name(code, spot.dialect)
    if module is None:
        return None
    name = flow.root(value) or "value"
    late, copied = (code.fresh(each, loop) for each in (f"late_{name}", f"{name}_copied"))
    text = flat(code.operand(value))
    edits = (
        code.insert_before(
            loop,
            f'{late} = {module}.full((), float("nan"), pin_memory=True)',
            f"{copied} = {module}.cuda.Event()",
        ),
        code.insert_before(statement, f"{copied}.synchronize()"),
        code.replace(spot.node, f"{late}.item()"),
        code.insert_after(
            statement,
            f"{late}.copy_({text}.detach().reshape(()), non_blocking=True)",
            f"{copied}.record()",
        ),
    )
    message = f"show `{text}` of the step before, which has been copied meanwhile; the first is NaN"
    return Fix(message, edits, Applicability.SHOWN)
