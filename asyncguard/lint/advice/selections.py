"""Predicates about what a mask selects: what becomes of it, and what else the mask selects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import Use, hands_on, last_name, uses
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, Scope, written
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

_REDUCES, _COUNTS = family("advice.reduces"), family("advice.counts")


@predicate
def is_reduced(scene: Scene) -> bool:
    """A sum, a mean or a loss takes all of what results, nothing else does.

    So it is with all that the mask selects: otherwise it has to select anyway.
    """
    spots = (scene.spot._replace(node=node) for node in _selected_alike(scene.spot))
    return _is_reduced(scene.spot) and all(map(_is_reduced, spots))


@predicate
def shares_its_mask(scene: Scene) -> bool:
    """The mask selects from other arrays of the function as well."""
    return any(True for _ in _selected_alike(scene.spot))


def _is_reduced(spot: Spot) -> bool:
    def reduces(use: Use) -> bool:
        return bool(_REDUCES(use.called)) and not _keeps_some(spot.code, use)

    ends = [use for use in uses(spot, reduces) if reduces(use) or not hands_on(use)]
    return any(map(reduces, ends)) and all(reduces(u) or _COUNTS(u.called) for u in ends)


def _keeps_some(code: Code, use: Use) -> bool:
    """Whether a reduction goes along one dimension only: `x.sum(-1)`, `torch.max(x, dim=0)`.

    Or goes over pairs: `torch.max(x, y)`.
    """
    method = isinstance(use.parent, ast.Attribute)
    call = code.parent(use.parent) if method else use.parent
    if not isinstance(call, ast.Call):
        return False
    given = call.args if method else call.args[1:]
    if given and use.called in ("max", "min"):
        return True
    numbers = (ast.UnaryOp, ast.Constant, ast.Tuple)
    named = any(keyword.arg in ("dim", "axis") for keyword in call.keywords)
    return named or any(isinstance(argument, numbers) for argument in given)


def _selected_alike(spot: Spot) -> Iterator[ast.expr]:
    """Yield the other selections of the function by the mask of this one, while it is the same."""
    selection = _selection(spot.node)
    if selection is None:
        return
    lines = {line for name in flow.names(selection.mask) for line in _bindings(spot.scope, name)}
    for node in _selections(spot.scope).get((selection.method, written(selection.mask)), ()):
        first, last = sorted((node.lineno, spot.node.lineno))
        if node is not spot.node and not any(first <= line < last for line in lines):
            yield node


@kept(OF_SCOPES)
def _bindings(scope: Scope, name: str) -> frozenset[int]:
    """Return the lines on which a function binds a name."""
    found = (node for node in parsed.walk(scope) if isinstance(node, ast.Name) and node.id == name)
    return frozenset(node.lineno for node in found if not isinstance(node.ctx, ast.Load))


@kept(OF_SCOPES)
def _selections(scope: Scope) -> dict[tuple[str, str], list[ast.expr]]:
    """Return what may be selected in a function, by the method and the text of the mask."""
    found: dict[tuple[str, str], list[ast.expr]] = {}
    for node in parsed.walk(scope):
        if (selection := _selection(node)) is not None:
            key = selection.method, written(selection.mask)
            found.setdefault(key, []).append(selection.node)
    return found


class _Selection(NamedTuple):
    """`x[mask]`, `x[:, mask]` (no method) or `x.masked_select(mask)`."""

    node: ast.expr
    method: str
    mask: ast.expr


def _selection(node: ast.AST) -> _Selection | None:
    """Return a node as a selection; None for what is none, or has several indices."""
    if isinstance(node, ast.Call) and node.args:
        return _Selection(node, last_name(node.func), node.args[-1])
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    indices = [part for part in parts if not isinstance(part, ast.Slice | ast.Constant)]
    return _Selection(node, "", indices[0]) if len(indices) == 1 else None
