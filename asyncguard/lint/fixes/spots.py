"""The place of a finding among the code around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import Dialect, dialects_of, words
from asyncguard.lint.syntax.nodes import (
    Expression,
    Scope,
    function,
    method,
    name_of,
    only,
    targets,
)
from asyncguard.model import Finding, Fix


class Spot(NamedTuple):
    """A finding, the expression that waits, and the statement, block and scope around it.

    The statement is `body[at]`.
    """

    finding: Finding
    code: Code
    node: Expression
    statement: Any
    body: Sequence[Any]
    at: int
    scope: Scope

    @property
    def dialect(self) -> Dialect | None:
        """How the finding's framework writes things; None where repairs do not know it."""
        api = self.finding.api
        known = dialects_of(self.finding.framework)
        return next((d for d in known if api.startswith(d.apis) and _fits(self.code, d.text)), None)

    @property
    def scope_text(self) -> str:
        """The text of the function around it, or of the file."""
        code = self.code
        return code.text if self.scope is code.tree else code.source(self.scope)

    @property
    def assigned(self) -> str:
        """The variable that the statement gives the waiting expression, and nothing else; or ""."""
        found = targets(self.statement)
        if len(found) != 1 or self.statement.value is not self.node:
            return ""
        return name_of(found[0])


@kept(OF_SCOPES)
def _fits(code: Code, pattern: str) -> bool:
    return re.search(pattern, code.text) is not None


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


def read_value(node: Expression) -> Expression | None:
    """Return `x` of `x.item()`, `x.asscalar()`, `float(x)` or `int(x)`; None of other reads."""
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Attribute) and not node.args:
        return _without_host_copy(node.func.value) if method(node) in _SCALAR else None
    argument = only(node)
    if function(node) in _NUMBERS and argument is not None:
        return _without_host_copy(argument)
    return None


_SCALAR = words("read.scalar")
_REPEATED = words("read.repeated")
_NUMBERS = frozenset({"float", "int"})


def _without_host_copy(node: Expression) -> Expression:
    """Return `x` of `x.cpu()` or `x.cpu().item()`: what follows reads it anyway."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in _REPEATED
        and not node.args
    ):
        node = node.func.value
    return node


def converts_to(node: Expression) -> str:
    """Return "float" or "int" where a read makes that of any number; "" where it keeps its type."""
    name = function(node)
    return name if name in _NUMBERS else ""
