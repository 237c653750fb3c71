"""Indices that are uploaded: name the places in a way that needs no copy.

`x[:, [2, 1, 0]]` uploads a list in each step; a slice, or `torch.stack` of the columns, does not.
`x[range(n), y]` and `x[torch.arange(n), y]` can count on the device. `x[places] = 0` uploads the
number; `x.new_zeros(())` is one on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import libcst as cst

from asyncguard.lint.fixes import effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat, is_postfix
from asyncguard.lint.fixes.host import counts, is_list, is_number
from asyncguard.lint.fixes.numbers import fits, is_size
from asyncguard.lint.fixes.refills import is_refilled
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Expression,
    body,
    constant,
    elements,
    function,
    integer,
    is_for,
    is_name,
    keywords,
    method,
    name_of,
    only,
    positional,
    targets,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 55
_MOST = 8  # columns that are stacked one by one
_SCALAR_WRITES = words("index.number_written")
_FACTORIES = words("factory.made")
_MOVING = words("factory.moving")
Part = Expression | cst.Slice  # of an index


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each subscript that uploads its index or its number."""
    subscripts = [
        spot for spot in spots
        if spot.finding.framework == "torch" and spot.finding.code == "ASG106"
        and isinstance(spot.node, cst.Subscript)
    ]  # fmt: skip
    for spot in subscripts:
        if spot.finding.api in _SCALAR_WRITES:
            fix = _number(spot)
        else:
            fix = _list(spot) or _counted(spot) or _named(spot, subscripts) or _uploaded(spot)
        if fix is not None:
            yield Repair(fix, (spot,))


# ---- x[places] = 0


def _number(spot: Spot) -> Fix | None:
    """Make the number that is written on the device."""
    code, node, statement = spot.code, spot.node, spot.statement
    if not isinstance(statement, cst.Assign) or targets(statement) != [node]:
        return None
    assert isinstance(node, cst.Subscript)
    value = statement.value
    if not is_number(code, value) or not is_postfix(node.value) or not flow.is_pure(node.value):
        return None
    owner = flat(code.source(node.value))
    text = f"{owner}.{_maker(value) or f'new_full((), {code.source(value)})'}"
    message = f"write a number of the device, which has the type of `{owner}`"
    like = cst.Attribute(node.value, cst.Name("dtype"))
    sure = fits(code, value, like)
    return Fix(message, (code.replace(value, flat(text)),), _trust(code, node.value, sure=sure))


def _maker(value: Expression) -> str:
    if (number := constant(value)) in (0, 1):
        return "new_ones(())" if number else "new_zeros(())"
    return ""


def _trust(code: Code, owner: Expression, *, sure: bool = True) -> Applicability:
    """Safe if the text shows a tensor; an array of NumPy may have come by the same name."""
    sure = sure and sorts.is_tensor(code, owner) and effects.is_repeatable(code, owner)
    return Applicability.SAFE if sure else Applicability.UNSAFE


# ---- x[:, [0, 2]]


def _list(spot: Spot) -> Fix | None:
    """Take a slice or single columns rather than a list: `x[:, [0, 2]]`, `x[[i]]`."""
    code, node = spot.code, spot.node
    assert isinstance(node, cst.Subscript)
    parts = _parts(node)
    lists = [part for part in parts if isinstance(part, cst.List)]
    plain = all(isinstance(part, (cst.List, cst.Slice, cst.Ellipsis)) for part in parts)
    if len(lists) != 1 or not plain:
        return None
    text = _slice(lists[0]) or _one(spot, lists[0])
    if text is None:
        return _stacked(spot, node, lists[0])
    edit = code.replace(lists[0], text)
    if code.is_stored(node):
        message = f"write to `{text}` rather than upload a list, even if that is beyond the end"
        return Fix(message, (edit,), Applicability.UNSAFE)
    message = f"take `{text}` rather than upload a list; the result shares memory with its source"
    return Fix(message, (edit,), Applicability.UNSAFE)


def _parts(node: cst.Subscript) -> Sequence[Part]:
    """Return what stands for each dimension, a tuple in the brackets taken apart."""
    index = nodes.index(node)
    return elements(index) if isinstance(index, cst.Tuple) else nodes.indices(node)


def _slice(node: cst.List) -> str | None:
    """Return the slice that takes the same places, if they are evenly spaced and ascending."""
    values = _integers(node)
    if values == [-1]:
        return "-1:"
    if len(values) == 1 and values[0] < -1:
        return f"{values[0]}:{values[0] + 1}"
    if not values or values[0] < 0:
        return None
    steps = {b - a for a, b in pairwise(values)} or {1}
    step = min(steps)
    if len(steps) > 1 or step < 1:
        return None
    end = values[-1] + 1
    return f"{values[0]}:{end}" if step == 1 else f"{values[0]}:{end}:{step}"


def _integers(node: cst.List) -> list[int]:
    """Return the numbers of a list; none where it holds anything else."""
    values: list[int] = []
    for element in elements(node):
        negative = isinstance(element, cst.UnaryOperation) and isinstance(
            element.operator, cst.Minus
        )
        number = integer(element.expression if negative else element)  # type: ignore[attr-defined]
        if number is None:
            return []
        values.append(-number if negative else number)
    return values


def _one(spot: Spot, node: cst.List) -> str | None:
    """Return the slice of one place that a loop counts."""
    name = name_of(elements(node)[0]) if len(node.elements) == 1 else ""
    loops = flow.loops_around(spot.code, spot.node)
    loop = next((x for x in loops if is_for(x) and counts(x, name)), None)
    if not name or loop is None or name in flow.changed(body(loop)):
        return None
    return f"{name} : {name} + 1"


def _stacked(spot: Spot, node: cst.Subscript, listed: cst.List) -> Fix | None:
    """Stack the columns that a short list names."""
    code, values, parts = spot.code, _integers(listed), _parts(node)
    module = code.name_for("torch")
    if not 1 < len(values) <= _MOST or module is None or code.is_stored(node):
        return None
    if not isinstance(node.value, (cst.Name, cst.Attribute)) or not flow.is_pure(node.value):
        return None
    at = parts.index(listed)
    before, after = parts[:at], parts[at + 1 :]
    if not all(map(_is_whole, [*before, *after])):
        return None
    ellipsis = any(isinstance(part, cst.Ellipsis) for part in before)
    owner = flat(code.source(node.value))
    texts = [code.source(part).strip() for part in parts]
    columns = [", ".join([*texts[:at], str(value), *texts[at + 1 :]]) for value in values]
    stacked = ", ".join(f"{owner}[{column}]" for column in columns)
    dimension = -1 - len(after) if ellipsis else len(before)
    text = f"{module}.stack([{stacked}]{f', dim={dimension}' if dimension else ''})"
    message = "stack the columns rather than upload a list"
    return Fix(message, (code.replace(node, flat(text)),), _trust(code, node.value))


def _is_whole(part: Part) -> bool:
    return isinstance(part, cst.Ellipsis) or (
        isinstance(part, cst.Slice) and part.lower is part.upper is part.step is None
    )


# ---- x[range(n), y], x[torch.arange(n), y]


def _counted(spot: Spot) -> Fix | None:
    """Count the places on the device."""
    code, node = spot.code, spot.node
    assert isinstance(node, cst.Subscript)
    if not isinstance(node.value, (cst.Name, cst.Attribute)):
        return None
    edits: list[Edit] = []
    for part in _parts(node):
        if isinstance(part, LISTS):
            return None
        edits += _of_device(code, part, flat(code.source(node.value)))
    if not edits:
        return None
    counted = [part for part in _parts(node) if isinstance(part, cst.Call) and function(part)]
    sure = all(is_size(code, argument) for part in counted for argument in positional(part)[:1])
    return Fix("count the places on the device", tuple(edits), _trust(code, node.value, sure=sure))


def _of_device(code: Code, part: Part, owner: str) -> list[Edit]:
    """Return what makes `range(n)` or `torch.arange(n)` an index of the device's."""
    module = code.name_for("torch")
    device = f"device={owner}.device"
    if isinstance(part, cst.Call) and function(part) == "range":
        length = only(part)
        if module is None or length is None:
            return []
        text = flat(code.source(length))
        return [code.replace(part, f"{module}.arange({text}, {device})")]
    made = _factory(code, part)
    return [_with_device(code, made, device)] if made is not None else []


def _factory(code: Code, node: Part) -> cst.Call | None:
    """Return the call that makes an index on the host, below methods that only shape it."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if code.meaning(node.func) in _FACTORIES:
            told = keywords(node).keys() & {"device", "out", "pin_memory", ""}
            source = code.source(node)[:-1].rstrip()
            plain = bool(positional(node)) and not source.endswith(",") and "#" not in source
            return node if plain and not told else None
        if method(node) not in _MOVING:
            return None
        node = node.func.value
    return None


def _with_device(code: Code, call: cst.Call, device: str) -> Edit:
    _, _, line, end = code.span(call)
    return Edit(line, end - 1, line, end - 1, f", {device}")


def _named(spot: Spot, spots: Sequence[Spot]) -> Fix | None:
    """Make on the device an index that has a name and no use but as an index."""
    code, node, scope = spot.code, spot.node, spot.scope
    assert isinstance(node, cst.Subscript)
    for part in _parts(node):
        name = nodes.root(part)
        values = flow.assignments(scope, name) if name else ()
        made = _factory(code, values[0]) if len(values) == 1 and values[0] is not None else None
        if made is None or not flow.is_private(code, scope, name):
            continue
        owner = node.value
        uses = [use for use in flow.uses(scope, name) if not code.is_stored(use)]
        if not is_name(owner) or not _is_bound_above(code, scope, name_of(owner), made):
            continue
        if all(any(_is_index_of(code, use, other) for other in spots) for use in uses):
            edit = _with_device(code, made, f"device={name_of(owner)}.device")
            return Fix("count the places on the device", (edit,), _trust(code, owner))
    return None


def _is_bound_above(code: Code, scope: cst.CSTNode, name: str, place: cst.Call) -> bool:
    """Whether a variable has its only value above a place, on every way to it."""
    bindings = [use for use in flow.uses(scope, name) if code.is_stored(use)]
    if len(bindings) != 1:
        return not bindings
    binding, around = code.statement(bindings[0]), [*code.parents(place)]
    if is_for(binding) and binding in around:
        return place not in flow.parts(binding.iter)
    block, at = code.block(binding)
    return any(part in block[at + 1 :] for part in around)


def _is_index_of(code: Code, use: cst.CSTNode, spot: Spot) -> bool:
    """Whether a use stands in the index of a subscript, by itself or below a shaping method."""
    assert isinstance(spot.node, cst.Subscript)
    parts = _parts(spot.node)
    return any(node in parts for node in code.through(use, _MOVING))


# ---- any other index of the host


def _uploaded(spot: Spot) -> Fix | None:
    """Show how an index is uploaded without waiting: `x[places]`."""
    code, node = spot.code, spot.node
    assert isinstance(node, cst.Subscript)
    index = nodes.index(node)
    if index is None or not is_postfix(node.value):
        return None
    made = index.func if isinstance(index, cst.Call) else index
    if not isinstance(made, cst.Attribute) and not is_name(index):
        return None
    if not flow.is_pure(node.value) or is_list(code, index) or is_refilled(spot, index):
        return None
    owner, text = flat(code.source(node.value)), flat(code.source(index))
    edit = code.replace(index, f"{text}.to({owner}.device, non_blocking=True)")
    message = f"upload `{text}` without waiting, once it is in pinned memory"
    return Fix(message, (edit,), Applicability.SHOWN)
