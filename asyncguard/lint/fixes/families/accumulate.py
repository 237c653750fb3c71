"""A number that each step reads only to add it up: add on the device, read once after the loop.

`total += loss.item()`, `total = total + float(loss)`, `mean += (loss.item() - mean) / n`,
`ema = 0.9 * ema + 0.1 * loss.item()`, of a variable, an attribute of `self` or an entry of a
dictionary. The sum is kept in double precision, as Python's own floats are, so it stays the same
bit for bit where the framework has that type; a count stays an integer. Where the loop reports the
sum every n-th step, the report reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.dialects import call, graphless, module_name
from asyncguard.lint.fixes.families import logs
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.kinds import infer, is_long
from asyncguard.lint.fixes.places import devices
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, start_of, sum_of
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    LOOPS,
    SCOPES,
    Expression,
    Loop,
    Scope,
    body,
    is_constant,
    is_for,
    is_name,
    written,
)
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10


class Plan(NamedTuple):
    """How the sums of one target in one loop are read: where it begins, and who reports it.

    `reports` are branches of every n-th step, `lines` reports of each step.
    """

    start: float
    reports: Sequence[cst.If]
    lines: Sequence[cst.CSTNode] = ()

    @property
    def said(self) -> str:
        """The words about these reports in the text of a repair."""
        return "; it is reported every n-th step" if self.lines else ""


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each sum that the loop itself does not need."""
    targets: dict[str, list[list[Sum]]] = {}
    places: dict[cst.CSTNode, list[Spot]] = {}
    for spot in spots:
        if read_value(spot.node) is not None:
            places.setdefault(spot.statement, []).append(spot)
    for group in places.values():
        if found := _sums([*{spot.node: spot for spot in group}.values()]):
            targets.setdefault(written(found[0].target), []).append(found)
    for groups in targets.values():
        if len(_devices(groups)) > 1:
            continue  # which no sum of the device may mix
        own = frozenset[cst.CSTNode]().union(
            *(flow.parts(sums[0].spot.statement) for sums in groups)
        )
        plans: dict[Loop, Plan | None] = {}
        for sums in groups:
            loop = sums[0].loop
            if loop not in plans:
                plans[loop] = plan_of(sums[0], own)
            plan = plans[loop]
            if plan is not None and (edits := _edits(sums, plan)) is not None:
                yield Repair(_fix(sums[0], plan, edits), tuple(places[sums[0].spot.statement]))


def _devices(groups: Sequence[Sequence[Sum]]) -> frozenset[str]:
    """Return the devices with a number that the terms of a target are put on."""
    terms = (found for sums in groups for found in sums)
    return frozenset[str]().union(*(devices(found.spot.code, found.value) for found in terms))


def _sums(group: Sequence[Spot]) -> list[Sum]:
    """Return what each read of a statement is added to; none unless all are, to one target."""
    reads = [spot.node for spot in group]
    found = [sum_of(spot, value, None, reads) for spot in group
             if (value := read_value(spot.node)) is not None]  # fmt: skip
    sums = [each for each in found if each is not None]
    numbers = {each.number for each in sums}
    number = numbers.pop() if len(numbers) == 1 else "float" if "float" in numbers else ""
    return [each._replace(number=number) for each in sums] if len(sums) == len(group) else []


def plan_of(found: Sum, own: frozenset[cst.CSTNode]) -> Plan | None:
    """Return how a target is read; None where the loop needs it, or others may see it unread.

    `own` is all that stands in statements that add to it.
    """
    code, loop, scope = found.spot.code, found.loop, found.spot.scope
    start = start_of(found)
    if start is None or code.indent(loop) is None or isinstance(scope, (cst.Lambda, cst.ClassDef)):
        return None
    if _is_seen_elsewhere(found) or _leaves_unread(found):
        return None
    reports = _reports(found, _others(found, own))
    return None if reports is None else Plan(start, *reports)


def _edits(sums: Sequence[Sum], plan: Plan) -> tuple[Edit, ...] | None:
    if (read := reading(sums[0], plan)) is None:
        return None
    code = sums[0].spot.code
    return *(code.replace(each.spot.node, on_device(each)) for each in sums), *read


def reading(found: Sum, plan: Plan) -> tuple[Edit, ...] | None:
    """Return what reads a sum where it is reported, and behind its loop if it is used there."""
    code, read = found.spot.code, _read(found, plan.start)
    edits = [code.insert_before(body(branch)[0], read) for branch in plan.reports]
    for line in plan.lines:
        assert isinstance(found.loop, cst.For)
        if (thinned := logs.thinned(code, found.loop, [line], read)) is None:
            return None
        edits += thinned[1]
    behind = [code.insert_after(found.loop, read)] if _is_used_behind(found) else []
    return *dict.fromkeys(edits), *behind


def _is_used_behind(found: Sum) -> bool:
    """Whether anybody looks at a sum but its loop."""
    if not isinstance(found.target, cst.Name) or isinstance(found.spot.scope, cst.Module):
        return True
    return _is_read_outside(found.spot.code, found.spot.scope, found.name, found.loop)


@kept(OF_SCOPES)
def _is_read_outside(code: Code, scope: Scope, name: str, loop: Loop) -> bool:
    return not all(map(code.is_stored, flow.uses(scope, name, [loop])))


@kept(OF_SCOPES)
def _exits(loop: Loop) -> tuple[bool, bool]:
    """Return whether a loop holds a `return` of its function, and whether a `raise`."""
    kinds = {type(node) for node in flow.walk_own(loop)}
    return cst.Return in kinds, cst.Raise in kinds


def _others(found: Sum, own: frozenset[cst.CSTNode]) -> list[cst.CSTNode]:
    """Return where the loop uses the target otherwise than to add to it, or to another entry."""
    if isinstance(found.target, cst.Subscript):
        entries = _entries(found.spot.code, found.loop, found.name)
        mentioned = [*entries.get("", ()), *entries.get(written(found.target), ())]
    else:
        mentioned = [*flow.mentions(found.loop).get(found.name, ())]
    return [use for use in mentioned if use not in own]


@kept(OF_SCOPES)
def _entries(code: Code, loop: Loop, name: str) -> dict[str, list[cst.CSTNode]]:
    """Return where a loop mentions a dictionary, by the entry that is used; "" is all of it.

    An entry within another entry is neither's.
    """
    found: dict[str, list[cst.CSTNode]] = {}
    for use in flow.mentions(loop).get(name, ()):
        around = takewhile(lambda parent: parent is not loop, code.parents(use))
        entries = {written(parent) for parent in around if _is_entry(parent)}
        if len(entries) < 2:
            found.setdefault("".join(entries), []).append(use)
    return found


def _is_entry(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Subscript) and is_constant(nodes.index(node))


def _reports(
    found: Sum, others: Sequence[cst.CSTNode]
) -> tuple[Sequence[cst.If], Sequence[cst.CSTNode]] | None:
    """Return the periodic branches and the reports that hold all other uses; None where another
    does.
    """
    code, loop = found.spot.code, found.loop
    is_plain = is_for(loop)
    gates: dict[cst.If, None] = {}
    lines: dict[cst.CSTNode, None] = {}
    for use in others:
        branch, statement = gate(code, use, loop), code.statement(use)
        if branch is not None and code.indent(body(branch)[0]) is not None:
            gates[branch] = None
        elif branch is None and is_plain and statement in body(loop):
            lines[statement] = None
        else:
            return None
    return [*gates], [*lines]


def gate(code: Code, use: cst.CSTNode, loop: Loop) -> cst.If | None:
    """Return the innermost branch around a use that runs every n-th step."""
    child = use
    for parent in code.outers(use):
        if parent is loop or isinstance(parent, (*SCOPES, *LOOPS)):
            break
        if isinstance(parent, cst.If) and child in body(parent) and flow.is_periodic(parent.test):
            return parent
        child = parent
    return None


def _is_seen_elsewhere(found: Sum) -> bool:
    """Whether others than the statements of this function could see a value not yet read."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if isinstance(found.target, cst.Attribute):
        owner = code.around(found.target, cst.ClassDef)
        return owner is None or _hands_itself_out(owner) or _is_seen_by_methods(owner, found.loop)
    if not flow.is_private(code, scope, name):
        return True
    return isinstance(found.target, cst.Subscript) and _is_handed_out(found)


def _is_handed_out(found: Sum) -> bool:
    """Whether somebody else may know a dictionary: it is given, kept or passed before its loop."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if name in flow.parameters(scope):
        return False  # its caller sees it when the function ends
    if any(map(is_name, flow.assignments(scope, name))):
        return True
    first = code.line(found.loop)
    above = (use for use in flow.uses(scope, name) if code.line(use) < first)
    return any(
        not code.is_stored(use) and not isinstance(code.outer(use), cst.Subscript) for use in above
    )


_LOOKING = frozenset({"super", "isinstance", "hasattr", "getattr", "type", "id"})


@kept(OF_SCOPES)
def _hands_itself_out(owner: cst.ClassDef) -> bool:
    """Whether a class gives `self` or a bound method to others, who may call back at any time."""
    own = {"self", *(f"self.{name}" for name in _methods(owner))}
    taken: set[cst.CSTNode] = set()  # what is only looked at or called
    for node in nodes.walk(owner):
        if isinstance(node, cst.Attribute):
            taken.add(node.value)
        elif isinstance(node, cst.Call):
            taken.add(node.func)
            if nodes.function(node) in _LOOKING:
                taken.update(nodes.positional(node))
    return any(dotted(node) in own and node not in taken for node in nodes.walk(owner))


@kept(OF_SCOPES)
def _is_seen_by_methods(owner: cst.ClassDef, loop: Loop) -> bool:
    """Whether a loop calls what may be a method of `self`, or pauses."""
    kept_by_it = {
        nodes.attribute(target)
        for node in nodes.walk(owner)
        if isinstance(node, cst.Assign)
        for target in nodes.targets(node)
        if isinstance(target, cst.Attribute) and dotted(target.value) == "self"
    }
    methods = _methods(owner)
    for node in nodes.walk(loop):
        called = dotted(node.func) if isinstance(node, cst.Call) else ""
        first, _, name = called.partition(".")
        if first == "self" and "." not in name and (name in methods or name not in kept_by_it):
            return True
        if isinstance(node, (cst.Yield, cst.Await)):
            return True
    return False


def _methods(owner: cst.ClassDef) -> set[str]:
    return {part.name.value for part in body(owner) if isinstance(part, cst.FunctionDef)}


def _leaves_unread(found: Sum) -> bool:
    """Whether the loop can be left without passing its end while the target is still needed."""
    code, loop, local = found.spot.code, found.loop, isinstance(found.target, cst.Name)
    if not local and any(_exits(loop)):
        return True
    return flow.may_swallow(code, loop, found.spot.scope)


def on_device(found: Sum) -> str:
    """Return the text of a value as it is added up."""
    spot, code = found.spot, found.spot.code
    dialect = spot.dialect
    assert dialect is not None
    module = module_name(code, dialect)
    if found.number == "int":
        if dialect.long and not is_long(code, found.value):
            return call(dialect.long, code.operand(found.value), module)
        kind = infer(code, found.value).number
        text = code.source(found.value)
        return text if kind == "int" and _binds_tightly(found.value) else f"({text})"
    form = graphless(spot, dialect.wide)
    value = code.source(found.value) if "{value}" in form else code.operand(found.value)
    return call(form, value, module)


def _binds_tightly(node: Expression) -> bool:
    return is_name(node) or isinstance(node, (cst.Attribute, cst.Call, cst.Subscript))


def _read(found: Sum, start: float) -> str:
    text = found.spot.code.source(found.target)
    return f"{text} = {_final(found, start)}({text})"


def _final(found: Sum, start: float) -> str:
    return "float" if found.number != "int" or isinstance(start, float) else "int"


def _fix(found: Sum, plan: Plan, edits: tuple[Edit, ...]) -> Fix:
    dialect = found.spot.dialect
    assert dialect is not None
    text = found.spot.code.source(found.target)
    message = f"add to `{text}` on the device and read it once after the loop{plan.said}"
    applicability = Applicability.UNSAFE
    if not found.number and not isinstance(plan.start, float):
        message += "; if it is a count, it becomes a float"
        applicability = Applicability.SHOWN
    elif found.number == "int":
        message += "; the count stays an integer"
    elif dialect.exact:
        message += "; the sum is kept in double precision, as Python's is"
    else:
        message += "; the sum is rounded to the type of its terms"
    if found.number == "float" and not isinstance(plan.start, float):
        message += ", and is a float after no step too"
    if not isinstance(found.target, cst.Name):
        message += "; until then, after an exception too, it is a tensor"
    if found.assumed:
        message += f"; if `{found.assumed}` is a number"
        applicability = Applicability.SHOWN
    return Fix(message, edits, applicability, bool(plan.lines))
