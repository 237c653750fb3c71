"""Statements in their order, as the advice rules look at them.

Where a site stands among its neighbours, which loop repeats it, and which names a piece of code
reads and assigns. Purely syntactic; what values are was decided before (`frames`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.domain.definitions import Site
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.syntax.tree import children
from asyncguard.model import Loop

Blocks = tuple[tuple[Sequence[cst.CSTNode], int], ...]
DEFINITIONS = frozenset({cst.FunctionDef, cst.ClassDef, cst.Lambda})
_STATEMENTS = frozenset(
    {
        cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try, cst.TryStar,
        cst.FunctionDef, cst.ClassDef, cst.Match,
    }
)  # fmt: skip


def suite(blocks: Blocks) -> tuple[Sequence[cst.CSTNode], int] | None:
    """Return the innermost list of whole statements, and the index within it."""
    for body, index in reversed(blocks):
        if type(body[index]) in _STATEMENTS:
            return body, index
    return None


def step_loop(site: Site) -> LoopRecord | None:
    """Return the innermost loop over steps around a site, as its function shows it."""
    for record in reversed(site.loops):
        if record.kind == Loop.STEP and type(record.node) in (cst.For, cst.While):
            return record
    return None


def walk_own(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and the code below it in source order, without the bodies of definitions."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(own_children(current)))


def own_children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the direct children that are code, without definitions."""
    return [child for child in children(node) if type(child) not in DEFINITIONS]


def names_in(node: cst.CSTNode) -> set[str]:
    """Return all names in a piece of code; `a` of `a.b`, and not `b`."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if type(current) is cst.Name:
            found.add(current.value)
        elif type(current) is cst.Attribute or type(current) is cst.Arg:  # not their names
            stack.append(current.value)
        else:
            stack.extend(children(current))
    return found


_BINDING = frozenset({cst.AnnAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.Del})


def targets_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return what one statement, clause or walrus assigns to; augmented assignments aside."""
    if type(node) is cst.Assign:
        return [target.target for target in node.targets]
    if type(node) in _BINDING:
        return [node.target]  # type: ignore[attr-defined]
    if type(node) is cst.AsName:
        return [node.name]
    return []


def assigned(node: cst.CSTNode) -> set[str]:
    """Return the names that a piece of code assigns, in any way."""
    found: set[str] = set()
    for part in walk_own(node):
        targets = [part.target] if type(part) is cst.AugAssign else targets_of(part)
        for target in targets:
            found |= names_in(target)
    return found


def has_modulo(test: cst.CSTNode) -> bool:
    """Whether a condition asks for every n-th step."""
    return any(
        type(node) is cst.BinaryOperation and type(node.operator) is cst.Modulo
        for node in walk_own(test)
    )


def gates(body: Sequence[cst.CSTNode]) -> Iterator[cst.If]:
    """Yield the `if step % n == 0:` (no `else`) among statements."""
    for statement in body:
        if type(statement) is cst.If and not statement.orelse and has_modulo(statement.test):
            yield statement
