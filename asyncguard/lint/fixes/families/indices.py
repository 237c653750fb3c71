"""Indices that are uploaded: name the places in a way that needs no copy.

`x[:, [2, 1, 0]]` uploads a list in each step; a slice, or `torch.stack` of the columns, does not.
`x[range(n), y]` and `x[torch.arange(n), y]` can count on the device. `x[places] = 0` uploads the
number; `x.new_zeros(())` is one on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from asyncguard.lint.fixes import effects, flow, sorts
from asyncguard.lint.fixes.code import Code, flat, is_postfix
from asyncguard.lint.fixes.host import counts, is_list, is_number
from asyncguard.lint.fixes.numbers import fits, is_size
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 55
_MOST = 8  # columns that are stacked one by one
_SCALAR_WRITES = words("index.number_written")
_FACTORIES = words("factory.made")
_MOVING = words("factory.moving")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each subscript that uploads its index or its number."""
    subscripts = [
        spot for spot in spots
        if spot.finding.framework == "torch" and spot.finding.code == "ASG106"
        and isinstance(spot.node, ast.Subscript)
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
    if not isinstance(statement, ast.Assign) or statement.targets != [node]:
        return None
    assert isinstance(node, ast.Subscript)
    value = statement.value
    if not is_number(code, value) or not is_postfix(node.value) or not flow.is_pure(node.value):
        return None
    owner = flat(code.source(node.value))
    text = f"{owner}.{_maker(value) or f'new_full((), {code.source(value)})'}"
    message = f"write a number of the device, which has the type of `{owner}`"
    like = ast.Attribute(node.value, "dtype", ast.Load())
    sure = fits(code, value, like)
    return Fix(message, (code.replace(value, flat(text)),), _trust(code, node.value, sure=sure))


def _maker(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and value.value in (0, 1):
        return "new_ones(())" if value.value else "new_zeros(())"
    return ""


def _trust(code: Code, owner: ast.expr, *, sure: bool = True) -> Applicability:
    """Safe if the text shows a tensor; an array of NumPy may have come by the same name."""
    sure = sure and sorts.is_tensor(code, owner) and effects.is_repeatable(code, owner)
    return Applicability.SAFE if sure else Applicability.UNSAFE


# ---- x[:, [0, 2]]


def _list(spot: Spot) -> Fix | None:
    """Take a slice or single columns rather than a list: `x[:, [0, 2]]`, `x[[i]]`."""
    code, node = spot.code, spot.node
    assert isinstance(node, ast.Subscript)
    parts = _parts(node)
    lists = [part for part in parts if isinstance(part, ast.List)]
    plain = all(isinstance(part, (ast.List, ast.Slice)) or _is_ellipsis(part) for part in parts)
    if len(lists) != 1 or not plain:
        return None
    text = _slice(lists[0]) or _one(spot, lists[0])
    if text is None:
        return _stacked(spot, node, lists[0])
    edit = code.replace(lists[0], text)
    if not isinstance(node.ctx, ast.Load):
        message = f"write to `{text}` rather than upload a list, even if that is beyond the end"
        return Fix(message, (edit,), Applicability.UNSAFE)
    message = f"take `{text}` rather than upload a list; the result shares memory with its source"
    return Fix(message, (edit,), Applicability.UNSAFE)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _slice(node: ast.List) -> str | None:
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


def _integers(node: ast.List) -> list[int]:
    """Return the numbers of a list; none where it holds anything else."""
    values: list[int] = []
    for element in node.elts:
        negative = isinstance(element, ast.UnaryOp) and isinstance(element.op, ast.USub)
        number = element.operand if negative else element  # type: ignore[attr-defined]
        if not isinstance(number, ast.Constant) or type(number.value) is not int:
            return []
        values.append(-number.value if negative else number.value)
    return values


def _one(spot: Spot, node: ast.List) -> str | None:
    """Return the slice of one place that a loop counts."""
    index = node.elts[0] if len(node.elts) == 1 else None
    if not isinstance(index, ast.Name):
        return None
    loops = flow.loops_around(spot.code, spot.node)
    loop = next((x for x in loops if isinstance(x, ast.For) and counts(x, index.id)), None)
    if loop is None or index.id in flow.changed(loop.body):
        return None
    return f"{index.id} : {index.id} + 1"


def _stacked(spot: Spot, node: ast.Subscript, listed: ast.List) -> Fix | None:
    """Stack the columns that a short list names."""
    code, values, parts = spot.code, _integers(listed), _parts(node)
    module = code.name_for("torch")
    if not 1 < len(values) <= _MOST or module is None or not isinstance(node.ctx, ast.Load):
        return None
    if not isinstance(node.value, (ast.Name, ast.Attribute)) or not flow.is_pure(node.value):
        return None
    at = parts.index(listed)
    before, after = parts[:at], parts[at + 1 :]
    if not all(map(_is_whole, [*before, *after])):
        return None
    ellipsis = any(map(_is_ellipsis, before))
    owner = flat(code.source(node.value))
    texts = [code.source(part) for part in parts]
    columns = [", ".join([*texts[:at], str(value), *texts[at + 1 :]]) for value in values]
    stacked = ", ".join(f"{owner}[{column}]" for column in columns)
    dimension = -1 - len(after) if ellipsis else len(before)
    text = f"{module}.stack([{stacked}]{f', dim={dimension}' if dimension else ''})"
    message = "stack the columns rather than upload a list"
    return Fix(message, (code.replace(node, flat(text)),), _trust(code, node.value))


def _is_whole(node: ast.expr) -> bool:
    return _is_ellipsis(node) or (
        isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
    )


# ---- x[range(n), y], x[torch.arange(n), y]


def _counted(spot: Spot) -> Fix | None:
    """Count the places on the device."""
    code, node = spot.code, spot.node
    assert isinstance(node, ast.Subscript)
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return None
    edits: list[Edit] = []
    for part in _parts(node):
        if isinstance(part, (ast.List, ast.Tuple)):
            return None
        edits += _of_device(code, part, flat(code.source(node.value)))
    if not edits:
        return None
    counted = [part for part in _parts(node) if isinstance(part, ast.Call)
               and isinstance(part.func, ast.Name)]  # fmt: skip
    sure = all(is_size(code, part.args[0]) for part in counted)
    return Fix("count the places on the device", tuple(edits), _trust(code, node.value, sure=sure))


def _of_device(code: Code, part: ast.expr, owner: str) -> list[Edit]:
    """Return what makes `range(n)` or `torch.arange(n)` an index of the device's."""
    module = code.name_for("torch")
    device = f"device={owner}.device"
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "range":
        arguments = flat(", ".join(code.source(argument) for argument in part.args))
        if module is None or len(part.args) != 1 or part.keywords:
            return []
        return [code.replace(part, f"{module}.arange({arguments}, {device})")]
    made = _factory(code, part)
    return [_with_device(code, made, device)] if made is not None else []


def _factory(code: Code, node: ast.expr) -> ast.Call | None:
    """Return the call that makes an index on the host, below methods that only shape it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if code.meaning(node.func) in _FACTORIES:
            told = {keyword.arg for keyword in node.keywords}
            source = code.source(node)[:-1].rstrip()
            plain = bool(node.args) and not source.endswith(",") and "#" not in source
            return node if plain and not told & {"device", "out", "pin_memory", None} else None
        if node.func.attr not in _MOVING:
            return None
        node = node.func.value
    return None


def _with_device(code: Code, call: ast.Call, device: str) -> Edit:
    _, _, line, end = code.span(call)
    return Edit(line, end - 1, line, end - 1, f", {device}")


def _named(spot: Spot, spots: Sequence[Spot]) -> Fix | None:
    """Make on the device an index that has a name and no use but as an index."""
    code, node, scope = spot.code, spot.node, spot.scope
    assert isinstance(node, ast.Subscript)
    for part in _parts(node):
        name = flow.root(part)
        values = flow.assignments(scope, name) if name else ()
        made = _factory(code, values[0]) if len(values) == 1 and values[0] is not None else None
        if made is None or not flow.is_private(code, scope, name):
            continue
        owner = node.value
        uses = [use for use in flow.uses(scope, name) if isinstance(use.ctx, ast.Load)]  # type: ignore[attr-defined]
        if not isinstance(owner, ast.Name) or not _is_bound_above(code, scope, owner.id, made):
            continue
        if all(any(_is_index_of(code, use, other) for other in spots) for use in uses):
            edit = _with_device(code, made, f"device={owner.id}.device")
            return Fix("count the places on the device", (edit,), _trust(code, owner))
    return None


def _is_bound_above(code: Code, scope: ast.AST, name: str, place: ast.Call) -> bool:
    """Whether a variable has its only value above a place, on every way to it."""
    bindings = [n for n in flow.uses(scope, name) if not isinstance(n.ctx, ast.Load)]  # type: ignore[attr-defined]
    if len(bindings) != 1:
        return not bindings
    binding, around = code.statement(bindings[0]), [*code.parents(place)]
    if isinstance(binding, ast.For) and binding in around:
        return not isinstance(place, ast.stmt) and place not in flow.parts(binding.iter)
    body, at = code.block(binding)
    return any(part in body[at + 1 :] for part in around)


def _is_index_of(code: Code, use: ast.AST, spot: Spot) -> bool:
    """Whether a use stands in the index of a subscript, by itself or below a shaping method."""
    assert isinstance(spot.node, ast.Subscript)
    parts = _parts(spot.node)
    return any(node in parts for node in code.through(use, _MOVING))


# ---- any other index of the host


def _uploaded(spot: Spot) -> Fix | None:
    """Show how an index is uploaded without waiting: `x[places]`."""
    code, node = spot.code, spot.node
    assert isinstance(node, ast.Subscript)
    index = node.slice
    if not isinstance(index, (ast.Name, ast.Attribute, ast.Call)) or not is_postfix(node.value):
        return None
    if isinstance(index, ast.Call) and not isinstance(index.func, ast.Attribute):
        return None
    if not flow.is_pure(node.value) or is_list(code, index):
        return None
    owner, text = flat(code.source(node.value)), flat(code.source(index))
    edit = code.replace(index, f"{text}.to({owner}.device, non_blocking=True)")
    message = f"upload `{text}` without waiting, once it is in pinned memory"
    return Fix(message, (edit,), Applicability.SHOWN)
