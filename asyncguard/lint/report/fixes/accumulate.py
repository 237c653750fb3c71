"""Sums and lists that a loop fills: what is read into them, and how to fill them on the device.

A host sum is `total += loss.item()`, `total = total + float(loss)` or `losses.append(loss.item())`
in a loop over steps that has no other use for `total`, but perhaps in a periodic report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.domain.effects import Site
from asyncguard.lint.report.indices import Indices
from asyncguard.lint.report.reports import FixMaker, Source
from asyncguard.lint.report.statement_order import step_loop
from asyncguard.lint.syntax.tree import Place
from asyncguard.model import Edit, Fix, SyncKind


class HostSum(NamedTuple):
    """A variable that a read is added to, in one statement of a loop over steps."""

    name: str
    adds: bool  # and does not append
    statement: cst.CSTNode
    read: cst.BaseExpression  # what is read: `loss` of `loss.item()`
    loop: cst.For | cst.While
    gated: bool  # it is used in the loop, but only every n-th step
    start: cst.BaseExpression | None  # what it is before the loop, if that is plain to see
    reused: bool  # the loop assigns it in another way, or a nested function knows it

    @property
    def fixable(self) -> bool:
        """Whether the loop can add on the device, for all that a reader of one function sees."""
        plain = isinstance(self.start, (cst.Integer, cst.Float))
        return self.adds and plain and not self.gated and not self.reused

    @property
    def nodes(self) -> tuple[cst.CSTNode, ...]:
        """The nodes whose places a fix must know."""
        return self.read, self.loop


def host_sum(site: Site, indices: Indices) -> HostSum | None:
    """Return what a site's read is added to, if to nothing that the loop needs."""
    loop = step_loop(site)
    read = _read(site)
    target = _target(site)
    if loop is None or read is None or target is None or site.point.kind != SyncKind.SCALAR:
        return None
    name, adds, statement = target
    assert isinstance(loop.node, (cst.For, cst.While))
    uses = indices.uses(site.function.node)
    gated = uses.count(loop.node, name, but=statement) > 0
    if gated:
        gates, others = indices.gates(loop.node, uses), uses.places(loop.node, name, statement)
        if not all(map(gates.hold, others)):
            return None
    start = _start(site, name, indices)
    reused = gated or name in indices.shared(site.function.node)
    return HostSum(name, adds, statement, read, loop.node, gated, start, reused)


def _read(site: Site) -> cst.BaseExpression | None:
    """Return the value of `value.item()` or `float(value)`."""
    node = site.node
    if site.via is not None or type(node) is not cst.Call:
        return None
    if type(node.func) is cst.Attribute and not node.args:
        return node.func.value
    if type(node.func) is cst.Name and len(node.args) == 1:
        return node.args[0].value
    return None


def _target(site: Site) -> tuple[str, bool, cst.CSTNode] | None:
    """Return the variable that the site's statement adds to (or else appends to)."""
    statement = site.statement
    target: cst.BaseExpression
    if type(statement) is cst.AugAssign and type(statement.operator) is cst.AddAssign:
        target, value = statement.target, statement.value
    elif type(statement) is cst.Assign and (added := _added_to_itself(statement)) is not None:
        target, value = statement.targets[0].target, added
    elif type(statement) is cst.Expr and (call := _append(statement.value)) is not None:
        target, value = call
    else:
        return None
    if type(target) is not cst.Name or not _is_term(value, site.node):
        return None
    return target.value, type(statement) is not cst.Expr, statement


def _added_to_itself(node: cst.Assign) -> cst.BaseExpression | None:
    """Return `value` of `total = total + value`."""
    value = node.value
    if len(node.targets) != 1 or type(value) is not cst.BinaryOperation:
        return None
    if type(value.operator) is not cst.Add or type(value.left) is not cst.Name:
        return None
    return value.right if value.left.deep_equals(node.targets[0].target) else None


def _append(node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return `losses` and `value` of `losses.append(value)`."""
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute:
        return None
    if node.func.attr.value != "append" or len(node.args) != 1:
        return None
    return node.func.value, node.args[0].value


def _is_term(value: cst.BaseExpression, read: cst.CSTNode) -> bool:
    """Whether `value` is the read, or arithmetic of it, which the device can do as well."""
    if value is read:
        return True
    if type(value) is cst.BinaryOperation:
        plain = isinstance(value.operator, (cst.Multiply, cst.Divide, cst.Add, cst.Subtract))
        return plain and (_is_term(value.left, read) or _is_term(value.right, read))
    return False


def _start(site: Site, name: str, indices: Indices) -> cst.BaseExpression | None:
    """Return what is assigned to the variable before the loop, nearest first."""
    for body, index in reversed(site.blocks):
        found = indices.body(body).start(name, index)
        if found is not None:
            return found.value if len(found.targets) == 1 else None
    return None


def sum_on_device(site: Site, found: HostSum, detach: str) -> FixMaker:
    """Make the fix: add without reading, and read once after the loop."""

    def make(places: dict[int, Place], source: Source) -> Fix | None:
        needed = [places.get(id(node)) for node in (site.node, *found.nodes)]
        read, value, loop = needed
        if read is None or value is None or loop is None:
            return None
        text = source.text(value)
        if not _is_postfix(found.read):
            text = f"({text})"
        last = _last_line(source.lines, loop)
        first = source.lines[loop[0] - 1]
        indent = first[: len(first) - len(first.lstrip())]
        after = "".join(f"\n{indent}{line}" for line in _read_after(found))
        end = len(source.lines[last - 1])
        text = text if text.endswith(detach) else text + detach
        edits = (Edit(*read, text), Edit(last, end, last, end, after))
        return Fix(f"add to `{found.name}` on the device and read it once", edits, safe=False)

    return make


def _is_postfix(node: cst.BaseExpression) -> bool:
    """Whether `.name` can be written behind an expression; places leave its parentheses out."""
    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))


def _last_line(lines: Sequence[str], loop: Place) -> int:
    """Return the last line of a loop that is not blank."""
    last = loop[2] if loop[3] else loop[2] - 1
    while not lines[last - 1].strip():
        last -= 1
    return last


def _read_after(found: HostSum) -> list[str]:
    """Write the read: a float stays one, an integer too, and so does a sum of no steps."""
    if type(found.start) is cst.Float:
        return [f"{found.name} = float({found.name})"]
    return [f'if hasattr({found.name}, "item"):', f"    {found.name} = {found.name}.item()"]
