"""A number that each step reads only to add it up: add on the device, read once after the loop.

`total += loss.item()`, `total = total + float(loss)`, `mean += (loss.item() - mean) / n`,
`ema = 0.9 * ema + 0.1 * loss.item()`, of a variable, an attribute of `self` or an entry of a
dictionary. The sum is kept in double precision, as Python's own floats are, so it stays the same
bit for bit where the framework has that type; a count stays an integer. Where the loop reports the
sum every n-th step, the report reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, LOOPS, SCOPES, Code, Loop, Scope, dotted, written
from asyncguard.lint.fixes.dialects import call, graphless, module_name
from asyncguard.lint.fixes.families import logs
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.kinds import infer, is_long
from asyncguard.lint.fixes.places import devices
from asyncguard.lint.fixes.spots import Repair, Spot, read_value
from asyncguard.lint.fixes.sums import Sum, start_of, sum_of
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10


class Plan(NamedTuple):
    """How the sums of one target in one loop are read: where it begins, and who reports it.

    `reports` are branches of every n-th step, `lines` reports of each step.
    """

    start: ast.Constant
    reports: Sequence[ast.If]
    lines: Sequence[ast.stmt] = ()

    @property
    def said(self) -> str:
        """The words about these reports in the text of a repair."""
        return "; it is reported every n-th step" if self.lines else ""


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each sum that the loop itself does not need."""
    targets: dict[str, list[list[Sum]]] = {}
    places: dict[ast.stmt, list[Spot]] = {}
    for spot in spots:
        if read_value(spot.node) is not None:
            places.setdefault(spot.statement, []).append(spot)
    for group in places.values():
        if found := _sums([*{spot.node: spot for spot in group}.values()]):
            targets.setdefault(written(found[0].target), []).append(found)
    for groups in targets.values():
        if len(_devices(groups)) > 1:
            continue  # which no sum of the device may mix
        own = frozenset[ast.AST]().union(*(flow.parts(sums[0].spot.statement) for sums in groups))
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


def plan_of(found: Sum, own: frozenset[ast.AST]) -> Plan | None:
    """Return how a target is read; None where the loop needs it, or others may see it unread.

    `own` is all that stands in statements that add to it.
    """
    code, loop, scope = found.spot.code, found.loop, found.spot.scope
    start = start_of(found)
    if start is None or code.indent(loop) is None or isinstance(scope, (ast.Lambda, ast.ClassDef)):
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
    edits = [code.insert_before(branch.body[0], read) for branch in plan.reports]
    for line in plan.lines:
        assert isinstance(found.loop, ast.For)
        if (thinned := logs.thinned(code, found.loop, [line], read)) is None:
            return None
        edits += thinned[1]
    behind = [code.insert_after(found.loop, read)] if _is_used_behind(found) else []
    return *dict.fromkeys(edits), *behind


def _is_used_behind(found: Sum) -> bool:
    """Whether anybody looks at a sum but its loop."""
    if not isinstance(found.target, ast.Name) or isinstance(found.spot.scope, ast.Module):
        return True
    return _is_read_outside(found.spot.scope, found.name, found.loop)


@kept(OF_SCOPES)
def _is_read_outside(scope: Scope, name: str, loop: Loop) -> bool:
    uses = flow.uses(scope, name, [loop])
    return any(isinstance(use.ctx, ast.Load) for use in uses)  # type: ignore[attr-defined]


@kept(OF_SCOPES)
def _exits(loop: Loop) -> tuple[bool, bool]:
    """Return whether a loop holds a `return` of its function, and whether a `raise`."""
    kinds = {type(node) for node in flow.walk_own(loop)}
    return ast.Return in kinds, ast.Raise in kinds


def _others(found: Sum, own: frozenset[ast.AST]) -> list[ast.AST]:
    """Return where the loop uses the target otherwise than to add to it, or to another entry."""
    if isinstance(found.target, ast.Subscript):
        entries = _entries(found.spot.code, found.loop, found.name)
        mentioned = [*entries.get("", ()), *entries.get(written(found.target), ())]
    else:
        mentioned = [*flow.mentions(found.loop).get(found.name, ())]
    return [use for use in mentioned if use not in own]


@kept(OF_SCOPES)
def _entries(code: Code, loop: Loop, name: str) -> dict[str, list[ast.AST]]:
    """Return where a loop mentions a dictionary, by the entry that is used; "" is all of it.

    An entry within another entry is neither's.
    """
    found: dict[str, list[ast.AST]] = {}
    for use in flow.mentions(loop).get(name, ()):
        around = takewhile(lambda parent: parent is not loop, code.parents(use))
        entries = {written(parent) for parent in around if _is_entry(parent)}
        if len(entries) < 2:
            found.setdefault("".join(entries), []).append(use)
    return found


def _is_entry(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)


def _reports(
    found: Sum, others: Sequence[ast.AST]
) -> tuple[Sequence[ast.If], Sequence[ast.stmt]] | None:
    """Return the periodic branches and the reports that hold all other uses; None where another
    does.
    """
    code = found.spot.code
    gates: dict[ast.If, None] = {}
    lines: dict[ast.stmt, None] = {}
    for use in others:
        branch, statement = gate(code, use, found.loop), code.statement(use)
        if branch is not None and code.indent(branch.body[0]) is not None:
            gates[branch] = None
        elif branch is None and statement in found.loop.body and isinstance(found.loop, ast.For):
            lines[statement] = None
        else:
            return None
    return [*gates], [*lines]


def gate(code: Code, use: ast.AST, loop: Loop) -> ast.If | None:
    """Return the innermost branch around a use that runs every n-th step."""
    child = use
    for parent in code.parents(use):
        if parent is loop or isinstance(parent, (*SCOPES, *LOOPS)):
            break
        block = code.block(child)[0] if isinstance(child, ast.stmt) else None
        if isinstance(parent, ast.If) and block is parent.body and flow.is_periodic(parent.test):
            return parent
        child = parent
    return None


def _is_seen_elsewhere(found: Sum) -> bool:
    """Whether others than the statements of this function could see a value not yet read."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if isinstance(found.target, ast.Attribute):
        owner = code.around(found.target, ast.ClassDef)
        return owner is None or _hands_itself_out(owner) or _is_seen_by_methods(owner, found.loop)
    if not flow.is_private(code, scope, name):
        return True
    return isinstance(found.target, ast.Subscript) and _is_handed_out(found)


def _is_handed_out(found: Sum) -> bool:
    """Whether somebody else may know a dictionary: it is given, kept or passed before its loop."""
    code, scope, name = found.spot.code, found.spot.scope, found.name
    if name in flow.parameters(scope):
        return False  # its caller sees it when the function ends
    if any(isinstance(value, ast.Name) for value in flow.assignments(scope, name)):
        return True
    above = (use for use in flow.uses(scope, name) if use.lineno < found.loop.lineno)  # type: ignore[attr-defined]
    return any(
        isinstance(use.ctx, ast.Load) and not isinstance(code.parent(use), ast.Subscript)  # type: ignore[attr-defined]
        for use in above
    )


_LOOKING = frozenset({"super", "isinstance", "hasattr", "getattr", "type", "id"})


@kept(OF_SCOPES)
def _hands_itself_out(owner: ast.ClassDef) -> bool:
    """Whether a class gives `self` or a bound method to others, who may call back at any time."""
    methods = {part.name for part in owner.body if isinstance(part, FUNCTIONS)}
    taken: set[ast.AST] = set()  # what is only looked at or called
    for node in parsed.walk(owner):
        if isinstance(node, ast.Attribute):
            taken.add(node.value)
        elif isinstance(node, ast.Call):
            taken.add(node.func)
            if dotted(node.func) in _LOOKING:
                taken.update(node.args)
    return any(
        (isinstance(node, ast.Name) and node.id == "self" and node not in taken)
        or (dotted(node) in {f"self.{name}" for name in methods} and node not in taken)
        for node in parsed.walk(owner)
        if isinstance(node, (ast.Name, ast.Attribute))
    )


@kept(OF_SCOPES)
def _is_seen_by_methods(owner: ast.ClassDef, loop: Loop) -> bool:
    """Whether a loop calls what may be a method of `self`, or pauses."""
    kept_by_it = {
        target.attr
        for node in parsed.walk(owner)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and dotted(target.value) == "self"
    }
    methods = {part.name for part in owner.body if isinstance(part, FUNCTIONS)}
    for node in parsed.walk(loop):
        called = dotted(node.func) if isinstance(node, ast.Call) else ""
        first, _, name = called.partition(".")
        if first == "self" and "." not in name and (name in methods or name not in kept_by_it):
            return True
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
    return False


def _leaves_unread(found: Sum) -> bool:
    """Whether the loop can be left without passing its end while the target is still needed."""
    code, loop, local = found.spot.code, found.loop, isinstance(found.target, ast.Name)
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


def _binds_tightly(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _read(found: Sum, start: ast.Constant) -> str:
    text = found.spot.code.source(found.target)
    return f"{text} = {_final(found, start)}({text})"


def _final(found: Sum, start: ast.Constant) -> str:
    return "float" if found.number != "int" or isinstance(start.value, float) else "int"


def _fix(found: Sum, plan: Plan, edits: tuple[Edit, ...]) -> Fix:
    dialect = found.spot.dialect
    assert dialect is not None
    text = found.spot.code.source(found.target)
    message = f"add to `{text}` on the device and read it once after the loop{plan.said}"
    applicability = Applicability.UNSAFE
    if not found.number and not isinstance(plan.start.value, float):
        message += "; if it is a count, it becomes a float"
        applicability = Applicability.SHOWN
    elif found.number == "int":
        message += "; the count stays an integer"
    elif dialect.exact:
        message += "; the sum is kept in double precision, as Python's is"
    else:
        message += "; the sum is rounded to the type of its terms"
    if found.number == "float" and not isinstance(plan.start.value, float):
        message += ", and is a float after no step too"
    if not isinstance(found.target, ast.Name):
        message += "; until then, after an exception too, it is a tensor"
    if found.assumed:
        message += f"; if `{found.assumed}` is a number"
        applicability = Applicability.SHOWN
    return Fix(message, edits, applicability, bool(plan.lines))
