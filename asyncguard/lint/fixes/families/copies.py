"""Copies to the host that wait one by one: start them all, and wait once.

`a.cpu()` and `b.cpu()` wait for one copy each. With `non_blocking=True` a copy goes into memory
that torch pins for it, and the host goes on; one wait behind the last of them is enough. The same
holds for a list that a loop fills with copies and nobody looks at before its end. What is read
before that wait is garbage, whoever edits the code later, so these are shown and never applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.families import collect
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import Expression, method, name_of
from asyncguard.model import Applicability, Edit, Fix

ORDER = 58
_APIS = words("copy.apis")
_SHARING = words("copy.shares")
_START = '.to("cpu", non_blocking=True)'
_UNTIL = "until then the copies hold garbage"


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each list of copies, and of each group of them."""
    copies = [spot for spot in spots if _copied(spot) is not None]
    left: dict[int, list[Spot]] = {}
    for spot in copies:
        if (fix := _listed(spot)) is not None:
            yield Repair(fix, (spot,))
        else:
            left.setdefault(id(spot.body), []).append(spot)
    for group in (part for spots in left.values() for part in _groups(spots)):
        yield Repair(_together(group), tuple(group))


def _copied(spot: Spot) -> Expression | None:
    """Return `x` of `x.cpu()`."""
    call = spot.node
    if spot.finding.api not in _APIS or not isinstance(call, cst.Call) or call.args:
        return None
    if not isinstance(call.func, cst.Attribute) or _wait(spot) is None:
        return None
    return call.func.value


def _wait(spot: Spot) -> str | None:
    """Return the one wait for all copies of the stream."""
    module = module_name(spot.code, spot.dialect) if spot.dialect is not None else None
    return f"{module}.cuda.current_stream().synchronize()" if module is not None else None


# ---- a list that a loop fills


def _listed(spot: Spot) -> Fix | None:
    """Wait behind the loop for what it appends: `rows.append(x.cpu())`."""
    code, value = spot.code, _copied(spot)
    statement = spot.statement
    call = statement.value if isinstance(statement, cst.Expr) else None
    if value is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    name, outer = name_of(call.func.value), nodes.only(call)
    if method(call) not in {"append", "extend"} or not name:
        return None
    if outer is None or not _is_shared(code, spot.node, outer):
        return None
    loop = collect.outermost(spot, name)
    if loop is None or not collect.is_only_filled(spot, name, loop):
        return None
    wait = _wait(spot)
    assert wait is not None
    edits = (
        code.replace(spot.node, f"{code.operand(value)}{_START}"),
        code.insert_after(loop, wait),
    )
    message = f"copy to `{name}` without waiting, and wait once behind the loop; {_UNTIL}"
    return Fix(message, edits, Applicability.SHOWN)


def _is_shared(code: Code, copy: Expression, outer: Expression) -> bool:
    """Whether what a copy is made into looks at none of its values: `x.cpu().t()`."""
    return outer in code.through(copy, _SHARING)


# ---- several in one block


def _groups(spots: Sequence[Spot]) -> Iterator[list[Spot]]:
    """Yield the copies of a block that can be started at the place of the first."""
    left = [*spots]
    while left:
        group = [left[0]]
        for spot in left[1:]:
            if not _can_join(group, spot):
                break
            group.append(spot)
        left = left[len(group) :]
        if len(group) > 1:
            yield group


def _can_join(group: Sequence[Spot], spot: Spot) -> bool:
    first, value = group[0], _copied(spot)
    assert value is not None
    parts = [_copied(first), value]
    if first.code.indent(first.statement) is None or spot.scope is not first.scope:
        return False
    if not all(part is not None and flow.is_pure(part) for part in parts):
        return False
    certain = (flow.is_certain(s.code, s.node, s.statement) for s in (first, spot))
    between = first.body[first.at : spot.at]
    return (
        all(certain)
        and all(map(flow.is_quiet, between))
        and not effects.changes_in_view(first.code, between, value)
    )


def _together(group: Sequence[Spot]) -> Fix:
    first, code, wait = group[0], group[0].code, _wait(group[0])
    assert wait is not None
    lines: list[str] = []
    edits: list[Edit] = []
    for spot in group:
        value = _copied(spot)
        assert value is not None
        name = code.fresh(f"{nodes.root(value) or 'value'}_copy", spot.node)
        lines.append(f"{name} = {flat(code.operand(value))}{_START}")
        edits.append(code.replace(spot.node, name))
    edits.append(code.insert_before(first.statement, *lines, wait))
    message = f"start {len(group)} copies and wait for them once; {_UNTIL}"
    return Fix(message, tuple(edits), Applicability.SHOWN)
