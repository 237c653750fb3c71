"""Predicates about what a mask selects: what becomes of it, and what else the mask selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.advice.scene import Scene, predicate
from asyncguard.lint.advice.values import (
    Use,
    hands_on,
    indexes,
    last_name,
    loads,
    place,
    uses,
)
from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.syntax.nodes import (
    COMPREHENSIONS,
    Scope,
    bound_by,
    clauses,
    constant,
    elements,
    index,
    indices,
    is_constant,
    keywords,
    name_of,
    positional,
    root,
    targets,
    unpacked,
    walk,
    written,
)

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
    code, node = spot.code, spot.node
    selection, around = _selection(code, node), code.around(node, COMPREHENSIONS)
    if selection is None or not isinstance(node, cst.Subscript) or around is None:
        return False
    changing = set[str]().union(*(flow.named_in(clause.target) for clause in clauses(around)))
    is_within = code.statement(around) is spot.statement
    return is_within and not flow.names(selection.mask) & changing


@predicate
def is_selected_for_the_host(scene: Scene) -> bool:
    """What is selected is read by the host at once: `x[mask].tolist()`, and nothing else has it."""
    if scene.spot.finding.code != SELECTS:
        is_call = isinstance(scene.spot.node, cst.Call)
        return is_call and scene.company.inside(scene.reads, SELECTS)
    ends = [use for use in uses(scene.spot, _reads) if _reads(use) or not hands_on(use)]
    return any(map(_reads, ends)) and all(_reads(use) or _looks(use) for use in ends)


def _reads(use: Use) -> bool:
    return isinstance(use.parent, cst.Attribute) and use.called in ("tolist", "numpy")


@predicate
def is_used_only_to_write(scene: Scene) -> bool:
    """The places that are found are only written to: `x[places] = 0`."""
    code, ends = scene.spot.code, [*uses(scene.spot, indexes)]
    ends = [use for use in ends if indexes(use) or not hands_on(use)]
    if any(not indexes(use) and not _looks(use) for use in ends):
        return False
    indexed = [use.parent for use in ends if indexes(use)]
    return bool(indexed) and all(code.is_assigned(item) for item in indexed)


@predicate
def is_found_once(scene: Scene) -> bool:
    """The places that are found serve as indices, of more than one array or more than once."""
    return sum(map(indexes, uses(scene.spot, indexes))) > 1


@predicate
def is_reshaped_to_rows(scene: Scene) -> bool:
    """What is selected has as many elements in each row: `x[mask].view(n, -1)`."""
    return any(_is_reshape(scene.spot.code, use) for use in uses(scene.spot))


def _is_reshape(code: Code, use: Use) -> bool:
    call = place(code, use.parent)
    if use.called not in ("view", "reshape") or not isinstance(call, cst.Call):
        return False
    given = positional(call)
    return len(given) > 1 and not isinstance(given[0], cst.UnaryOperation)


@predicate
def is_written_back(scene: Scene) -> bool:
    """What is selected goes back through the same mask: `x[mask] = f(x[mask])`."""
    selection = _selection(scene.spot.code, scene.spot.node)
    return selection is not None and _goes_back(scene.spot, scene.spot.node, selection.mask)


def _goes_back(spot: Spot, node: cst.CSTNode, mask: cst.CSTNode, through: int = 1) -> bool:
    for parent in spot.code.outers(node):
        match parent:
            case cst.Call(func=function) if last_name(function) in _SCATTERS:
                return _is_same(positional(parent)[:1], mask)
            case cst.Assign():
                return _is_stored_back(spot, parent, targets(parent), mask, through)
            case cst.AugAssign(target=target):
                return _is_stored_back(spot, parent, [target], mask, through)
            case cst.BaseSmallStatement() | cst.BaseCompoundStatement():
                return False
    return False


def _is_stored_back(
    spot: Spot, statement: cst.CSTNode, into: Sequence[Any], mask: cst.CSTNode, through: int
) -> bool:
    """Whether an assignment stores through a mask, or each later use of what it binds."""
    names = [name for target in into if (name := name_of(target))]
    if len(names) == len(into) and through:
        line = spot.code.line(statement)
        found = [load for name in names for load in loads(spot.scope).get(name, ())]
        later = [load for load in found if spot.code.line(load) > line]
        return bool(later) and all(_goes_back(spot, load, mask, 0) for load in later)
    parts = (part for target in into for part in unpacked(target))
    return all(isinstance(x, cst.Subscript) and _is_same(indices(x), mask) for x in parts)


_SCATTERS = frozenset({"masked_scatter", "masked_scatter_"})


def _is_same(given: Sequence[Any], mask: cst.CSTNode) -> bool:
    """Whether an index is by a mask, written the same or reshaped: `m`, `m[:, None]`, `(m, :)`."""
    mine = _masks(given)
    if len(mine) != 1:
        return False
    name = root(mine[0])
    return written(mine[0]) == written(mask) or (bool(name) and name == root(mask))


def _masks(given: Sequence[Any]) -> list[Any]:
    """Return the indices that may be masks."""
    return [x for x in _one_by_one(given) if not isinstance(x, cst.Slice) and not is_constant(x)]


def _one_by_one(given: Sequence[Any]) -> Sequence[Any]:
    """Return indices, one a dimension, be they in parentheses or not."""
    first = given[0] if len(given) == 1 else None
    return elements(first) if isinstance(first, cst.Tuple) else given


@predicate
def computes_what_it_writes(scene: Scene) -> bool:
    """A call computes what is written, of elements that are selected: `x[mask] = f(y[mask])`."""
    statement = scene.spot.statement
    if not isinstance(statement, cst.Assign):
        return False
    calls = (part for part in walk(statement.value) if isinstance(part, cst.Call))
    given = [part for call in calls for each in positional(call) for part in walk(each)]
    into = (part for target in targets(statement) for part in unpacked(target))
    masks = [index(part) for part in into if isinstance(part, cst.Subscript)]
    selected = [indices(part) for part in given if isinstance(part, cst.Subscript)]
    return any(_is_same(by, mask) for by in selected for mask in masks if mask is not None)


@predicate
def is_changed_in_place(scene: Scene) -> bool:
    """The elements that a mask selects are read and written: `x[mask] += y`."""
    statement = scene.spot.statement
    return isinstance(statement, cst.AugAssign) and statement.target is scene.spot.node


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
    is_method = isinstance(use.parent, cst.Attribute)
    call = place(spot.code, use.parent) if is_method else use.parent
    if not isinstance(call, cst.Call):
        return False
    if len(call.args) > MOST_OF_A_LOSS:
        return True
    if is_method and _dimension(call) == _place(spot.node):
        return False
    given = positional(call) if is_method else positional(call)[1:]
    if given and use.called in ("max", "min"):
        return True
    numbers = (cst.UnaryOperation, cst.Tuple)
    named = not _ALONG.isdisjoint(keywords(call))
    return named or any(isinstance(part, numbers) or is_constant(part) for part in given)


_ALONG = frozenset({"dim", "axis"})


def _dimension(call: cst.Call) -> int:
    """Return the dimension that a reduction is given by a plain number; -1 if it is not."""
    named = [value for name, value in keywords(call).items() if name in _ALONG]
    given = [*positional(call)[:1], *named]
    value = constant(given[0]) if given else None
    return value if isinstance(value, int) else -1


def _place(node: cst.CSTNode) -> int:
    """Return the dimension that a mask selects along: 1 of `x[:, mask]`; -2 if it is not clear."""
    if not isinstance(node, cst.Subscript):
        return -2
    parts = _one_by_one(indices(node))
    if len(parts) == 1:
        return 0
    before = [*takewhile(lambda part: isinstance(part, cst.Slice), parts)]
    after = parts[len(before) + 1 :]
    return len(before) if all(isinstance(part, cst.Slice) for part in after) else -2


def _selected_alike(spot: Spot) -> Iterator[Any]:
    """Yield the other selections of the function by the mask of this one, while it is the same."""
    code, selection = spot.code, _selection(spot.code, spot.node)
    if selection is None:
        return
    names = flow.names(selection.mask)
    lines = {line for name in names for line in _bindings(code, spot.scope, name)}
    alike = _selections(code, spot.scope)
    for node in alike.get((selection.method, written(selection.mask)), ()):
        first, last = sorted((code.line(node), code.line(spot.node)))
        if node is not spot.node and not any(first <= line < last for line in lines):
            yield node


@kept(OF_SCOPES)
def _bindings(code: Code, scope: Scope, name: str) -> frozenset[int]:
    """Return the lines on which a function binds a name."""
    found = (target for part in walk(scope) for target in bound_by(part))
    return frozenset(code.line(target) for target in found if name_of(target) == name)


@kept(OF_SCOPES)
def _selections(code: Code, scope: Scope) -> dict[tuple[str, str], list[cst.CSTNode]]:
    """Return what may be selected in a function, by the method and the text of the mask."""
    found: dict[tuple[str, str], list[cst.CSTNode]] = {}
    for node in walk(scope):
        if (selection := _selection(code, node)) is not None:
            key = selection.method, written(selection.mask)
            found.setdefault(key, []).append(selection.node)
    return found


class _Selection(NamedTuple):
    """`x[mask]`, `x[:, mask]` (no method) or `x.masked_select(mask)`."""

    node: cst.CSTNode
    method: str
    mask: cst.CSTNode


def _selection(code: Code, node: cst.CSTNode) -> _Selection | None:
    """Return a node as a selection; None for what is none, or has several indices."""
    if isinstance(node, cst.Call) and (given := positional(node)):
        return _Selection(node, last_name(node.func), given[-1])
    if not isinstance(node, cst.Subscript) or code.is_stored(node):
        return None
    masks = _masks(indices(node))
    return _Selection(node, "", masks[0]) if len(masks) == 1 else None
