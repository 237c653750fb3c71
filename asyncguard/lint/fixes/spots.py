"""The place of a finding among the code around it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from asyncguard.lint.fixes.code import Code, Scope
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import Dialect, dialects, pattern, words
from asyncguard.model import Finding, Fix

_MPS = pattern("device.mps")


class Spot(NamedTuple):
    """A finding, the expression that waits, and the statement, block and scope around it.

    The statement is `body[at]`.
    """

    finding: Finding
    code: Code
    node: ast.expr
    statement: ast.stmt
    body: list[ast.stmt]
    at: int
    scope: Scope

    @property
    def dialect(self) -> Dialect | None:
        """How the finding's framework writes things; None where repairs do not know it."""
        name = self.finding.framework
        if name == "torch" and _names_mps(self.code):
            name = "torch.mps"
        elif name == "mxnet" and self.finding.api.startswith("mxnet.NDArray"):
            name = "mxnet.nd"
        return dialects().get(name)

    @property
    def scope_text(self) -> str:
        """The text of the function around it, or of the file."""
        code = self.code
        return code.text if self.scope is code.tree else code.source(self.scope)

    @property
    def assigned(self) -> str:
        """The variable that the statement gives the waiting expression, and nothing else; or ""."""
        statement = self.statement
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        if len(targets) != 1 or statement.value is not self.node:  # type: ignore[attr-defined]
            return ""
        return targets[0].id if isinstance(targets[0], ast.Name) else ""


@kept(OF_SCOPES)
def _names_mps(code: Code) -> bool:
    return _MPS.search(code.text) is not None


class Repair(NamedTuple):
    """A fix, and the spots whose waits it takes out of the step."""

    fix: Fix
    spots: tuple[Spot, ...]


def spot_of(code: Code, finding: Finding) -> Spot | None:
    """Return the spot of a finding; None where its place holds no expression."""
    span = finding.line, finding.column - 1, finding.end_line, finding.end_column - 1
    node = code.expression_at(span)
    if node is None:
        return None
    statement = code.statement(node)
    body, index = code.block(statement)
    return Spot(finding, code, node, statement, body, index, code.scope(node))


def read_value(node: ast.expr) -> ast.expr | None:
    """Return `x` of `x.item()`, `x.asscalar()`, `float(x)` or `int(x)`; None of other reads."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    function = node.func
    if isinstance(function, ast.Attribute) and not node.args:
        return _without_host_copy(function.value) if function.attr in _SCALAR else None
    if isinstance(function, ast.Name) and function.id in _NUMBERS and len(node.args) == 1:
        argument = node.args[0]
        return None if isinstance(argument, ast.Starred) else _without_host_copy(argument)
    return None


_SCALAR = words("read.scalar")
_REPEATED = words("read.repeated")
_NUMBERS = frozenset({"float", "int"})


def _without_host_copy(node: ast.expr) -> ast.expr:
    """Return `x` of `x.cpu()` or `x.cpu().item()`: what follows reads it anyway."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _REPEATED
        and not node.args
        and not node.keywords
    ):
        node = node.func.value
    return node


def converts_to(node: ast.expr) -> str:
    """Return "float" or "int" where a read makes that of any number; "" where it keeps its type."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NUMBERS:
        return node.func.id
    return ""
