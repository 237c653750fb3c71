"""Results whose shape depends on the data, where a fixed shape gives the same answer.

`x[m].sum()` is `torch.where(m, x, 0).sum()`, `len(x[m])` is `m.sum()`. `repeat_interleave` and
`one_hot` need not ask the device for a size that the host knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import aliases, effects, flow, libraries, sorts
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.numbers import is_size
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    attribute,
    compared,
    elements,
    function,
    index,
    integer,
    is_constant,
    is_name,
    keywords,
    method,
    name_of,
    only,
    positional,
    same,
    targets,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 15


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each result that can have a fixed shape."""
    for spot in spots:
        if spot.finding.framework != "torch" or spot.code.name_for("torch") is None:
            continue
        fix = _count(spot) or _reduction(spot) or _assignment(spot) or _repeat(spot)
        fix = fix or _one_hot(spot)
        if fix is not None:
            yield Repair(fix, (spot,))


def masked(node: Expression) -> tuple[Expression, Expression] | None:
    """Return `x` and `m` of `x[m]`."""
    mask = index(node) if isinstance(node, cst.Subscript) else None
    if mask is None or isinstance(mask, cst.Tuple):
        return None
    return node.value, mask  # type: ignore[attr-defined]


def _selected(node: Expression) -> tuple[Expression, Expression] | None:
    """Return `x` and `m` of `x.masked_select(m)`, which broadcasts both as `where` does."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    mask = only(node)
    if method(node) != "masked_select" or mask is None:
        return None
    return None if nodes.root(node.func) == "torch" else (node.func.value, mask)


def _definition(spot: Spot, mask: Expression) -> Expression:
    """Return what a mask is, through the one assignment of its variable."""
    values = flow.assignments(spot.scope, name_of(mask))
    return values[0] if len(values) == 1 and values[0] is not None else mask


def has_shape_of(spot: Spot, mask: Expression, value: Expression) -> bool:
    """Whether a mask compares the value itself with a number, so that both have one shape."""
    known = _definition(spot, mask)
    if not isinstance(known, cst.Comparison) or not same(known.left, value):
        return False
    _, bound, *more = compared(known)
    if more or not (is_constant(bound) or isinstance(bound, cst.UnaryOperation)):
        return False
    if known is mask:
        return True
    return is_name(value) and len(flow.assignments(spot.scope, name_of(value))) <= 1


# ---- x[m].sum(), x[m].mean()


def _reduction(spot: Spot) -> Fix | None:
    """Reduce a masked tensor without taking its elements out."""
    code, parts = spot.code, masked(spot.node) or _selected(spot.node)
    reducing = code.parent(spot.node)
    call = code.parent(reducing) if isinstance(reducing, cst.Attribute) else None
    if parts is None or not isinstance(call, cst.Call):
        return None
    how = method(call)
    if how not in {"sum", "mean"} or call.args:
        return None
    if not all(map(flow.is_pure, parts)):
        return None
    broadcast = isinstance(spot.node, cst.Call)
    if how == "mean" and broadcast:
        return None  # how many there are depends on how the mask is broadcast
    text = reduced(code, *parts, how)
    message = "reduce with a fixed shape; a sum of floats may round otherwise"
    return with_shapes(spot, *parts, message, code.replace(call, text), is_sure=broadcast)


def reduced(code: Code, value: Expression, mask: Expression, how: str, bound: str = "") -> str:
    """Return the sum or the mean of a value where a mask is true; `bound` is put on the count."""
    torch = code.name_for("torch")
    text = f"{torch}.where({flat(code.source(mask))}, {flat(code.source(value))}, 0).sum()"
    return text if how == "sum" else f"({text} / {flat(code.operand(mask))}.sum(){bound})"


def with_shapes(
    spot: Spot,
    value: Expression,
    mask: Expression,
    message: str,
    edit: Edit,
    *,
    is_sure: bool = False,
) -> Fix:
    """Return a repair that is applied if the mask has the shape of the value, else only shown."""
    if is_sure or has_shape_of(spot, mask, value):
        return Fix(message, (edit,), Applicability.UNSAFE)
    texts = [flat(spot.code.source(part)) for part in (mask, value)]
    message += f", and `{texts[0]}` must have the shape of `{texts[1]}`"
    return Fix(message, (edit,), Applicability.SHOWN)


# ---- x[m] = y[m]


def _assignment(spot: Spot) -> Fix | None:
    """Choose between two tensors by a mask: `x[m] = y[m]`."""
    code, statement = spot.code, spot.statement
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    left, right = masked(targets(statement)[0]), masked(statement.value)
    if left is None or right is None or not same(left[1], right[1]):
        return None
    target, source, mask = name_of(left[0]), name_of(right[0]), left[1]
    if not target or not source:
        return None
    sized = has_shape_of(spot, mask, left[0]) or has_shape_of(spot, mask, right[0])
    if not sized or not flow.is_pure(mask) or not _is_own(spot, target):
        return None
    text = flat(f"{target} = {code.name_for('torch')}.where({code.source(mask)}, {source}, "
                 f"{target})")  # fmt: skip
    message = f"choose with `where`; `{target}` becomes a new tensor, of the wider type of both"
    return Fix(message, (code.replace(statement, text),), Applicability.UNSAFE)


def _is_own(spot: Spot, name: str) -> bool:
    """Whether nothing else holds the object of a variable: a call made it, and nobody kept it."""
    code, scope = spot.code, spot.scope
    values = flow.assignments(scope, name)
    if len(values) != 1 or not isinstance(values[0], (cst.Call, cst.BinaryOperation)):
        return False
    if not flow.is_private(code, scope, name) or isinstance(scope, cst.Lambda):
        return False
    above = [at for at in flow.binders(code, spot.body[0]).get(name, ()) if at < spot.at]
    since = spot.body[above[-1] : spot.at] if above else nodes.body(scope)
    return not aliases.is_shared_by(code, since, name)


# ---- len(x[m]), m.nonzero().numel()


def _count(spot: Spot) -> Fix | None:
    """Count on the device what is only divided by."""
    code = spot.code
    mask = _counted_mask(spot)
    counting = _counting(code, spot.node)
    if mask is None or counting is None or not flow.is_pure(mask):
        return None
    parent = code.parent(counting)
    match parent:
        case cst.BinaryOperation(operator=cst.Divide(), right=right) if right is counting:
            other = parent.left
        case cst.BinaryOperation(operator=cst.Multiply()):
            other = parent.left if parent.right is counting else parent.right
        case _:
            return None
    if not infer(code, other).number or not _is_tensor(other):
        return None
    text = f"{flat(code.operand(mask))}.sum()"
    message = f"count on the device with `{text}`, as nothing but the device divides by it"
    return Fix(message, (code.replace(counting, text),), Applicability.UNSAFE)


def _is_tensor(node: Expression) -> bool:
    return bool(method(node))


def _counted_mask(spot: Spot) -> Expression | None:
    parts = masked(spot.node)
    if parts is not None:
        return parts[1] if has_shape_of(spot, parts[1], parts[0]) else None
    node = spot.node
    if isinstance(node, cst.Call) and spot.finding.api == "torch.nonzero":
        if spot.code.meaning(node.func) == "torch.nonzero":
            mask = only(node)
        else:
            is_bare = isinstance(node.func, cst.Attribute) and not node.args
            mask = node.func.value if is_bare else None  # type: ignore[attr-defined]
        if mask is not None and infer(spot.code, mask).number == "bool":
            return mask
    return None


def _counting(code: Code, node: Expression) -> Expression | None:
    """Return `len(node)`, `node.size(0)` or `node.shape[0]`."""
    match code.outer(node):
        case cst.Call() as call:
            return call if function(call) == "len" and positional(call) == [node] else None
        case cst.Attribute() as asked:
            return _counting_by(code, asked, node)
    return None


def _counting_by(code: Code, asked: cst.Attribute, node: Expression) -> Expression | None:
    """Return `node.size(0)` or `node.shape[0]`, of the attribute that is asked for."""
    around, name = code.parent(asked), attribute(asked)
    if name == "shape" and isinstance(around, cst.Subscript):
        return around if integer(index(around)) == 0 else None
    if name == "size" and isinstance(around, cst.Call) and len(positional(around)) == 1:
        return around if integer(positional(around)[0]) == 0 else None
    if name == "numel" and isinstance(around, cst.Call) and masked(node) is not None:
        return around
    return None


# ---- sizes that the host knows


def _repeat(spot: Spot) -> Fix | None:
    """Say how long the result is, where the repeats come from a list."""
    code, call = spot.code, spot.node
    if "repeat_interleave" not in spot.finding.api or not isinstance(call, cst.Call):
        return None
    own = code.meaning(call.func) == "torch.repeat_interleave"
    handed = positional(call)
    repeats = next(iter(handed[1 if own else 0 :]), None)
    if repeats is None or keywords(call).keys() & {"output_size", "repeats", ""}:
        return None
    numbers = _numbers(code, repeats)
    owner = handed[0] if own else getattr(call.func, "value", call)
    if numbers is None or not sorts.is_tensor(code, owner):
        return None
    source = code.source(call)
    if not source.endswith(")") or source[:-1].rstrip().endswith(",") or "#" in source:
        return None
    text = f"{source[:-1]}, output_size=sum({numbers}))"
    message = "say how long the result is: the host knows its list"
    return Fix(message, (code.replace(call, text),), Applicability.SAFE)


def _numbers(code: Code, repeats: Expression) -> str | None:
    """Return the list of the host that a tensor of repeats was made from, and still holds."""
    made = _only_value(code, repeats)
    if not isinstance(made, cst.Call) or len(positional(made)) != 1:
        return None
    if libraries.library_name(code, made.func) not in {"torch.tensor", "torch.as_tensor"}:
        return None
    (source,) = positional(made)
    listed = _only_value(code, source)
    if not isinstance(listed, cst.List) or not _are_counts(code, listed):
        return None
    if made is repeats or listed is not source:
        return flat(code.source(source))
    is_literal = all(map(is_constant, elements(listed)))
    return flat(code.source(listed)) if is_literal else None


def _only_value(code: Code, node: Expression) -> Expression | None:
    """Return what an expression is made by; of a variable, if nothing can have changed it since."""
    if not isinstance(node, cst.Name) or is_constant(node):
        return node
    values = flow.assignments(code.scope(node), node.value)
    if len(values) != 1 or len(given(code, node)) != 1:
        return None
    return None if effects.is_ever_written(code, node) else values[0]


def _are_counts(code: Code, listed: cst.List) -> bool:
    """Whether it is a list of several counts: a single one would hold for all rows."""
    return len(listed.elements) > 1 and all(
        is_size(code, part) or integer(part) is not None for part in elements(listed)
    )


def _one_hot(spot: Spot) -> Fix | None:
    """Say how many classes there are, where a variable of that name does."""
    code, call = spot.code, spot.node
    if not isinstance(call, cst.Call) or not code.meaning(call.func).endswith("one_hot"):
        return None
    if only(call) is None or not code.source(call).endswith(")"):
        return None
    name = next((n for n in ("num_classes", "n_classes") if n in _variables(spot)), None)
    if name is None or code.source(call)[:-1].rstrip().endswith(","):
        return None
    text = f"{code.source(call)[:-1]}, num_classes={name})"
    message = f"say that there are `{name}` classes; the result has a column for each"
    return Fix(message, (code.replace(call, text),), Applicability.UNSAFE)


def _variables(spot: Spot) -> set[str]:
    scope = spot.scope
    return set() if isinstance(scope, cst.Lambda) else flow.bound(scope) | flow.parameters(scope)
