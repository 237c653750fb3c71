"""Several numbers that one step reads one by one: read them with one transfer.

`log(loss.item(), accuracy.item())` waits twice; `torch.stack([loss, accuracy]).tolist()` waits
once, for the same numbers. What is stacked must be scalars of a kind that is known, so that counts
stay integers; elements of one tensor are of one kind anyway. A second read of the same value takes
the number that the first one brought.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import libcst as cst

from asyncguard.lint.fixes import effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.places import devices, may_be_on_host
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.transfers import MOST, WAYS, Made, Read, assigned, is_text
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import Expression, is_constant, name_of, same, targets
from asyncguard.model import Applicability, Edit, Fix

ORDER = 30


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each group of reads that can be made at the place of the first."""
    blocks: dict[tuple[int, str], list[Read]] = {}
    for spot in spots:
        if (read := _read(spot)) is not None:
            blocks.setdefault((id(spot.body), spot.finding.framework), []).append(read)
    for reads in blocks.values():
        taken: set[int] = set()
        for at, read in enumerate(reads):
            if id(read) in taken:
                continue
            group = _group(other for other in islice(reads, at, None) if id(other) not in taken)
            taken.update(map(id, group))
            if len(group) > 1 and (repair := _repair(group)) is not None:
                yield repair


def _read(spot: Spot) -> Read | None:
    value = read_value(spot.node)
    certain = flow.is_certain(spot.code, spot.node, spot.statement)
    if value is None or not certain or spot.code.indent(spot.statement) is None:
        return None
    if not flow.is_pure(value) or spot.finding.framework not in WAYS:
        return None
    if may_be_on_host(spot.code, value):
        return None
    return Read(spot, value, infer(spot.code, value), _assigned(spot))


def _assigned(spot: Spot) -> str:
    statement = spot.statement
    if not isinstance(statement, cst.Assign) or statement.value is not spot.node:
        return ""
    alone = len(statement.targets) == 1 and spot.code.is_alone(statement)
    return name_of(targets(statement)[0]) if alone else ""


def _group(reads: Iterator[Read]) -> list[Read]:
    """Return the first read of a block, and those after it that can be made in its place."""
    first = next(reads)
    group = [first]
    for other in reads:
        if len(group) == MOST:
            break
        spot = other.spot
        if any(read.spot.node is spot.node for read in group):
            continue
        if not _goes_with(group, other):
            break
        group.append(other)
    return group


def _goes_with(group: Sequence[Read], other: Read) -> bool:
    """Whether a read gives the same if it is made, and assigned, at the place of a group."""
    first, spot = group[0].spot, other.spot
    between = first.body[first.at : spot.at]
    if other.name and any(other.name in flow.names(statement) for statement in between):
        return False  # what it was before is used
    assigned = [read.spot.statement for read in group if read.name]
    between = [statement for statement in between if statement not in assigned]
    if effects.changes_in_view(spot.code, between, other.value):
        return False
    if {read.name for read in group} & flow.names(other.value):
        return False
    return all(flow.is_quiet(statement) or _notes(statement, group) for statement in between)


def _notes(statement: cst.CSTNode, group: Sequence[Read]) -> bool:
    """Whether a call is given no more than texts and numbers that the group reads."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or nodes.has_star(call):
        return False
    given = nodes.given(call)
    reads = [read.spot.node for read in group]
    return any(part in reads for part in given) and all(
        part in reads or is_constant(part) or is_text(part) for part in given
    )


def _repair(group: Sequence[Read]) -> Repair | None:
    spots = tuple(read.spot for read in group)
    if all(same(read.value, group[0].value) for read in group):
        return _again(group, spots)
    placed = frozenset[str]().union(*(devices(read.spot.code, read.value) for read in group))
    if len(placed) > 1:
        return None
    once = _once(group)
    made = WAYS[group[0].spot.finding.framework](once)
    if made is None:
        return None
    edits = _edits(group, once, made)
    message = f"read {len(once)} values with one transfer; the numbers are the same"
    if any(not read.kind.number for read in once):
        message += ", integers among them as floats"
    return Repair(Fix(message, edits, Applicability.UNSAFE), spots)


def _once(group: Sequence[Read]) -> list[Read]:
    """Leave out reads without a name that another one makes in the same way."""
    once: list[Read] = []
    for read in group:
        if _place(once, read) is None:
            once.append(read)
    return once


def _place(once: Sequence[Read], read: Read) -> int | None:
    """Return which of several reads is this one, or gives its number."""
    for at, other in enumerate(once):
        is_twin = not read.name and not other.name and same(other.spot.node, read.spot.node)
        if other is read or is_twin:
            return at
    return None


def _name_of(code: Code, value: Expression) -> str:
    """Return a name for the number of a value: by its variable, and by what computes it."""
    root, method = nodes.root(value), nodes.method(value)
    if not root or root in code.may_import:
        return f"{method}_value" if method else "value"
    return f"{root}_{method or 'value'}"


def _edits(group: Sequence[Read], once: Sequence[Read], made: Made) -> tuple[Edit, ...]:
    """Write the transfer before the first read, and its numbers where the reads were."""
    code, first = group[0].spot.code, group[0].spot.statement
    indent = code.indent(first) or ""
    names = [read.name or code.fresh(_name_of(code, read.value), read.spot.node) for read in once]
    text = assigned(code, indent, names, made)
    edits: list[Edit] = []
    if not group[0].name:
        lines = [line.removeprefix(indent) for line in text.split("\n")]
        edits.append(code.insert_before(first, *lines))
    for read in group:
        at = _place(once, read)
        assert at is not None
        name, number = names[at], made.finals[at].format(names[at])
        statement = read.spot.statement
        if read.name and statement is first:
            extra = [] if number == name else [f"\n{indent}{name} = {number}"]
            edits.append(code.replace(statement, "".join([text, *extra])))
        elif read.name and number == name:
            edits.append(code.delete(statement))
        else:
            edits.append(code.replace(read.spot.node, number))
    return tuple(edits)


def _again(group: Sequence[Read], spots: tuple[Spot, ...]) -> Repair | None:
    """Read once what is read again."""
    first, code = group[0], group[0].spot.code
    if any(not same(read.spot.node, first.spot.node) for read in group):
        return None
    name, edits = first.name, []
    if name and name in flow.changed(first.spot.body[first.spot.at + 1 : group[-1].spot.at]):
        return None
    if not name:
        name = code.fresh(_name_of(code, first.value), first.spot.node)
        text = flat(code.source(first.spot.node))
        edits.append(code.insert_before(first.spot.statement, f"{name} = {text}"))
        edits.append(code.replace(first.spot.node, name))
    edits += [code.replace(read.spot.node, name) for read in group[1:]]
    message = f"read `{code.source(first.value)}` once and keep the number"
    if not _is_proven(group):
        message += ", if nothing out of sight changes it"
        return Repair(Fix(message, tuple(edits), Applicability.UNSAFE), spots)
    return Repair(Fix(message, tuple(edits), Applicability.SAFE), spots)


def _is_proven(group: Sequence[Read]) -> bool:
    """Whether the first of equal reads gives what all of them would, and its name keeps it."""
    first, last = group[0].spot, group[-1].spot
    code, node = first.code, first.node
    if not effects.is_repeatable(code, node) or not sorts.is_plain(code, node):
        return False
    if not group[0].name and not effects.may_lead(code, first.statement, node):
        return False
    run = [*first.body[first.at : last.at], *effects.before(code, last.statement, last.node)]
    if effects.may_change(code, run, node):
        return False
    is_assigned = isinstance(first.statement, cst.Assign)
    assigned = targets(first.statement)[0] if is_assigned else None
    return not group[0].name or (
        assigned is not None and not effects.may_change(code, run[1:], assigned)
    )
