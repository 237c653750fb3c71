"""Sums and lists that a loop fills with what it reads from the device.

A host sum is `total += loss.item()`, `total = total + float(loss)` or `losses.append(loss.item())`
in a loop over steps that has no other use for `total`, but perhaps in a periodic report.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.report.indices import Indices
from asyncguard.lint.report.statement_order import step_loop
from asyncguard.model import SyncKind


class HostSum(NamedTuple):
    """A variable that a read is added to, in one statement of a loop over steps."""

    name: str
    adds: bool  # and does not append
    statement: cst.CSTNode
    read: cst.BaseExpression  # what is read: `loss` of `loss.item()`
    loop: cst.For | cst.While
    gated: bool  # it is used in the loop, but only every n-th step


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
    return HostSum(name, adds, statement, read, loop.node, gated)


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
