"""A number that is read in every step, and used only every n-th: read it there.

`value = loss.item()` above `if step % 100 == 0: print(value)` waits a hundred times for one line of
output. The fix moves the whole assignment to the top of the `if`.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from asyncguard.lint.domain.effects import Site
from asyncguard.lint.report.indices import Indices
from asyncguard.lint.report.reports import FixMaker, Source
from asyncguard.lint.report.statement_order import names_in, suite
from asyncguard.lint.syntax.tree import Place
from asyncguard.model import Edit, Fix


def into_gate(site: Site, indices: Indices) -> tuple[FixMaker, tuple[cst.CSTNode, ...]] | None:
    """Return the fix of a read that can move into the one place of its use, and its nodes."""
    place = suite(site.blocks)
    if place is None or site.via is not None or not site.loops:
        return None
    body, index = place
    name = _assigned_name(body[index], site)
    gate = _only_use(site, name, body, index, indices) if name else None
    if gate is None or type(gate.body) is not cst.IndentedBlock:
        return None
    statement, first = body[index], gate.body.body[0]

    def make(places: dict[int, Place], source: Source) -> Fix | None:
        old, new = places.get(id(statement)), places.get(id(first))
        if old is None or new is None or source.lines[old[0] - 1].strip() != source.text(old):
            return None  # it is written over several lines, or something else is on its line
        indent = source.lines[new[0] - 1][: new[1]]
        if indent.strip():
            return None
        edits = (
            Edit(old[0], 0, old[0] + 1, 0, ""),
            Edit(new[0], 0, new[0], 0, f"{indent}{source.text(old)}\n"),
        )
        return Fix(f"read `{name}` only where it is used", edits, safe=False)

    return make, (statement, first)


def _assigned_name(statement: cst.CSTNode, site: Site) -> str:
    """Return the variable that a line does nothing but assign the read to."""
    if type(statement) is not cst.SimpleStatementLine or len(statement.body) != 1:
        return ""
    small = statement.body[0]
    if small is not site.statement or type(small) is not cst.Assign or len(small.targets) != 1:
        return ""
    target = small.targets[0].target
    return target.value if type(target) is cst.Name else ""


def _only_use(
    site: Site, name: str, body: Sequence[cst.CSTNode], index: int, indices: Indices
) -> cst.If | None:
    """Return the gate further down that holds every use of the variable, if one does."""
    function, statement = site.function.node, body[index]
    uses, known = indices.uses(function), indices.body(body)
    first = next(uses.places(function, name, but=statement), None)
    if first is None:
        return None
    for until, gate in known.gates:
        start, end = uses.span(gate.body)
        if until > index and start <= first <= end:
            moves = uses.count(gate.body, name, statement) == uses.count(function, name, statement)
            changed = known.assigns(names_in(statement), index + 1, until)
            return gate if moves and not changed else None
    return None
