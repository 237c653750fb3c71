"""Predicates about what a mask selects: what becomes of it, and what else the mask selects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import Use, hands_on, last_name, loads, uses
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, Scope, written
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

_REDUCES, _COUNTS = family("advice.reduces"), family("advice.counts")
_LOOKS = family("advice.looks")
SELECTS = "ASG105"  # the rule of what the data decide the size of
MOST_OF_A_LOSS = 6  # arguments: predictions, targets, weights, and options


@predicate
def is_reduced(scene: Scene) -> bool:
    """A sum, a mean or a loss takes all of what results, nothing else does.

    So it is with all that the mask selects: otherwise it has to select anyway.
    """
    spots = (scene.spot._replace(node=node) for node in _selected_alike(scene.spot))
    return _is_reduced(scene.spot) and all(map(_is_reduced, spots))


@predicate
def shares_its_mask(scene: Scene) -> bool:
    """The mask selects from other arrays as well: of the function, or in rounds that it is for."""
    return any(True for _ in _selected_alike(scene.spot)) or _is_for_all_rounds(scene.spot)


def _is_for_all_rounds(spot: Spot) -> bool:
    """Whether a comprehension selects by one mask from several: `[x[mask] for x in arrays]`."""
    selection, around = _selection(spot.node), spot.code.around(spot.node, flow.COMPREHENSIONS)
    if selection is None or not isinstance(spot.node, ast.Subscript) or around is None:
        return False
    changing = {name for part in around.generators for name in flow.bound(part.target)}  # type: ignore[attr-defined]
    is_within = spot.code.statement(around) is spot.statement
    return is_within and not flow.names(selection.mask) & changing


@predicate
def is_selected_for_the_host(scene: Scene) -> bool:
    """What is selected is read by the host at once: `x[mask].tolist()`, and nothing else has it."""
    if scene.spot.finding.code != SELECTS:
        read = scene.read
        return isinstance(scene.spot.node, ast.Call) and scene.company.inside(read, SELECTS)
    ends = [use for use in uses(scene.spot, _reads) if _reads(use) or not hands_on(use)]
    return any(map(_reads, ends)) and all(_reads(use) or _looks(use) for use in ends)


def _reads(use: Use) -> bool:
    return isinstance(use.parent, ast.Attribute) and use.called in ("tolist", "numpy")


@predicate
def is_used_only_to_write(scene: Scene) -> bool:
    """The places that are found are only written to: `x[places] = 0`."""
    spot, ends = scene.spot, [*uses(scene.spot, _indexes)]
    ends = [use for use in ends if _indexes(use) or not hands_on(use)]
    if any(not _indexes(use) and not _looks(use) for use in ends):
        return False
    return any(map(_indexes, ends)) and all(_is_store(spot.code, u) for u in ends if _indexes(u))


def _indexes(use: Use) -> bool:
    """Whether an array is indexed by it there, alone or beside other indices."""
    parent = use.parent
    if isinstance(parent, ast.Subscript):
        return parent.slice is use.child
    return False


def _is_store(code: Code, use: Use) -> bool:
    return isinstance(getattr(use.parent, "ctx", None), ast.Store)


@predicate
def is_found_once(scene: Scene) -> bool:
    """The places that are found serve as indices, of more than one array or more than once."""
    return sum(map(_indexes, uses(scene.spot, _indexes))) > 1


@predicate
def is_reshaped_to_rows(scene: Scene) -> bool:
    """What is selected has as many elements in each row: `x[mask].view(n, -1)`."""
    return any(_is_reshape(scene.spot.code, use) for use in uses(scene.spot))


def _is_reshape(code: Code, use: Use) -> bool:
    call = code.parent(use.parent)
    if use.called not in ("view", "reshape") or not isinstance(call, ast.Call):
        return False
    return len(call.args) > 1 and not isinstance(call.args[0], ast.UnaryOp)


@predicate
def is_written_back(scene: Scene) -> bool:
    """What is selected goes back through the same mask: `x[mask] = f(x[mask])`."""
    selection = _selection(scene.spot.node)
    return selection is not None and _goes_back(scene.spot, scene.spot.node, selection.mask)


def _goes_back(spot: Spot, node: ast.AST, mask: ast.expr, through: int = 1) -> bool:
    for parent in spot.code.parents(node):
        if isinstance(parent, ast.Call) and last_name(parent.func) in _SCATTERS:
            return bool(parent.args) and _is_same(parent.args[0], mask)
        if isinstance(parent, ast.Assign | ast.AugAssign):
            return _is_stored_back(spot, parent, mask, through)
        if isinstance(parent, ast.stmt):
            return False
    return False


def _is_stored_back(
    spot: Spot, statement: ast.Assign | ast.AugAssign, mask: ast.expr, through: int
) -> bool:
    """Whether an assignment stores through a mask, or each later use of what it binds."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) == len(targets) and through:
        found = [load for name in names for load in loads(spot.scope).get(name, ())]
        later = [load for load in found if load.lineno > statement.lineno]
        return bool(later) and all(_goes_back(spot, load, mask, 0) for load in later)
    parts = (part for target in targets for part in _unpacked(target))
    return all(isinstance(part, ast.Subscript) and _is_same(part.slice, mask) for part in parts)


_SCATTERS = frozenset({"masked_scatter", "masked_scatter_"})


def _unpacked(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _unpacked(part)
    else:
        yield target


def _is_same(index: ast.expr, mask: ast.expr) -> bool:
    """Whether an index is by a mask, written the same or reshaped: `m`, `m[:, None]`, `(m, :)`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    mine = [part for part in parts if not isinstance(part, ast.Slice | ast.Constant)]
    if len(mine) != 1:
        return False
    root = flow.root(mine[0])
    return written(mine[0]) == written(mask) or (bool(root) and root == flow.root(mask))


@predicate
def computes_what_it_writes(scene: Scene) -> bool:
    """A call computes what is written, of elements that are selected: `x[mask] = f(y[mask])`."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign):
        return False
    calls = (part for part in parsed.walk(statement.value) if isinstance(part, ast.Call))
    given = [part for call in calls for argument in call.args for part in parsed.walk(argument)]
    written_to = (part for target in statement.targets for part in _unpacked(target))
    masks = [target.slice for target in written_to if isinstance(target, ast.Subscript)]
    selected = (part.slice for part in given if isinstance(part, ast.Subscript))
    return any(_is_same(index, mask) for index in selected for mask in masks)


@predicate
def is_changed_in_place(scene: Scene) -> bool:
    """The elements that a mask selects are read and written: `x[mask] += y`."""
    statement = scene.spot.statement
    return isinstance(statement, ast.AugAssign) and statement.target is scene.spot.node


def _is_reduced(spot: Spot) -> bool:
    def reduces(use: Use) -> bool:
        return bool(_REDUCES(use.called)) and not _keeps_some(spot, use)

    ends = [use for use in uses(spot, reduces) if reduces(use) or not hands_on(use)]
    return any(map(reduces, ends)) and all(reduces(u) or _looks(u) for u in ends)


def _looks(use: Use) -> bool:
    """Whether only the number, type or place of the elements is asked for."""
    return bool(_COUNTS(use.called) or _LOOKS(use.called))


def _keeps_some(spot: Spot, use: Use) -> bool:
    """Whether a reduction goes along one dimension only: `x.sum(-1)`, `torch.max(x, dim=0)`.

    That along which the mask has selected is all that it selects, `x[:, mask].any(1)`. Or it goes
    over pairs, `torch.max(x, y)`, or is a loss that is given more than values and weights.
    """
    method = isinstance(use.parent, ast.Attribute)
    call = spot.code.parent(use.parent) if method else use.parent
    if not isinstance(call, ast.Call):
        return False
    if len(call.args) + len(call.keywords) > MOST_OF_A_LOSS:
        return True
    if method and _dimension(call) == _place(spot.node):
        return False
    given = call.args if method else call.args[1:]
    if given and use.called in ("max", "min"):
        return True
    numbers = (ast.UnaryOp, ast.Constant, ast.Tuple)
    named = any(keyword.arg in ("dim", "axis") for keyword in call.keywords)
    return named or any(isinstance(argument, numbers) for argument in given)


def _dimension(call: ast.Call) -> int:
    """Return the dimension that a reduction is given by a plain number; -1 if it is not."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("dim", "axis")]
    given = [*call.args[:1], *named]
    value = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return value if isinstance(value, int) else -1


def _place(node: ast.expr) -> int:
    """Return the dimension that a mask selects along: 1 of `x[:, mask]`; -2 if it is not clear."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return 0 if isinstance(node, ast.Subscript) else -2
    before = [*takewhile(lambda part: isinstance(part, ast.Slice), node.slice.elts)]
    after = node.slice.elts[len(before) + 1 :]
    return len(before) if all(isinstance(part, ast.Slice) for part in after) else -2


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
