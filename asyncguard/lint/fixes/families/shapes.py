"""Results whose shape depends on the data, where a fixed shape gives the same answer.

`x[m].sum()` is `torch.where(m, x, 0).sum()`, `len(x[m])` is `m.sum()`. `repeat_interleave` and
`one_hot` need not ask the device for a size that the host knows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import aliases, effects, flow, libraries, sorts
from asyncguard.lint.fixes.code import Code, flat, same
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kinds import infer
from asyncguard.lint.fixes.numbers import is_size
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.source import parsed
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


def masked(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return `x` and `m` of `x[m]`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Tuple, ast.Slice)):
        return node.value, node.slice
    return None


def _selected(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return `x` and `m` of `x.masked_select(m)`, which broadcasts both as `where` does."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "masked_select" or len(node.args) != 1 or node.keywords:
        return None
    return None if flow.root(node.func) == "torch" else (node.func.value, node.args[0])


def _definition(spot: Spot, mask: ast.expr) -> ast.expr:
    """Return what a mask is, through the one assignment of its variable."""
    if isinstance(mask, ast.Name):
        values = flow.assignments(spot.scope, mask.id)
        if len(values) == 1 and values[0] is not None:
            return values[0]
    return mask


def has_shape_of(spot: Spot, mask: ast.expr, value: ast.expr) -> bool:
    """Whether a mask compares the value itself with a number, so that both have one shape."""
    known = _definition(spot, mask)
    if not isinstance(known, ast.Compare) or len(known.ops) > 1 or not same(known.left, value):
        return False
    if not isinstance(known.comparators[0], (ast.Constant, ast.UnaryOp)):
        return False
    if known is mask:
        return True
    return isinstance(value, ast.Name) and len(flow.assignments(spot.scope, value.id)) <= 1


# ---- x[m].sum(), x[m].mean()


def _reduction(spot: Spot) -> Fix | None:
    """Reduce a masked tensor without taking its elements out."""
    code, parts = spot.code, masked(spot.node) or _selected(spot.node)
    attribute = code.parent(spot.node)
    call = code.parent(attribute) if isinstance(attribute, ast.Attribute) else None
    if parts is None or not isinstance(attribute, ast.Attribute) or not isinstance(call, ast.Call):
        return None
    if attribute.attr not in {"sum", "mean"} or call.args or call.keywords:
        return None
    if not all(map(flow.is_pure, parts)):
        return None
    broadcast = isinstance(spot.node, ast.Call)
    if attribute.attr == "mean" and broadcast:
        return None  # how many there are depends on how the mask is broadcast
    text = reduced(code, *parts, attribute.attr)
    message = "reduce with a fixed shape; a sum of floats may round otherwise"
    return with_shapes(spot, *parts, message, code.replace(call, text), is_sure=broadcast)


def reduced(code: Code, value: ast.expr, mask: ast.expr, how: str, bound: str = "") -> str:
    """Return the sum or the mean of a value where a mask is true; `bound` is put on the count."""
    torch = code.name_for("torch")
    text = f"{torch}.where({flat(code.source(mask))}, {flat(code.source(value))}, 0).sum()"
    return text if how == "sum" else f"({text} / {flat(code.operand(mask))}.sum(){bound})"


def with_shapes(
    spot: Spot, value: ast.expr, mask: ast.expr, message: str, edit: Edit, *, is_sure: bool = False
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
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    left, right = masked(statement.targets[0]), masked(statement.value)
    if left is None or right is None or not same(left[1], right[1]):
        return None
    target, source, mask = left[0], right[0], left[1]
    if not isinstance(target, ast.Name) or not isinstance(source, ast.Name):
        return None
    sized = has_shape_of(spot, mask, target) or has_shape_of(spot, mask, source)
    if not sized or not flow.is_pure(mask) or not _is_own(spot, target.id):
        return None
    text = flat(f"{target.id} = {code.name_for('torch')}.where({code.source(mask)}, {source.id}, "
                 f"{target.id})")  # fmt: skip
    message = f"choose with `where`; `{target.id}` becomes a new tensor, of the wider type of both"
    return Fix(message, (code.replace(statement, text),), Applicability.UNSAFE)


def _is_own(spot: Spot, name: str) -> bool:
    """Whether nothing else holds the object of a variable: a call made it, and nobody kept it."""
    code, scope = spot.code, spot.scope
    values = flow.assignments(scope, name)
    if len(values) != 1 or not isinstance(values[0], (ast.Call, ast.BinOp)):
        return False
    if not flow.is_private(code, scope, name) or isinstance(scope, ast.Lambda):
        return False
    above = [at for at in flow.binders(code, spot.body[0]).get(name, ()) if at < spot.at]
    since = spot.body[above[-1] : spot.at] if above else scope.body
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
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, (ast.Div, ast.Mult)):
        return None
    other = parent.left if parent.right is counting else parent.right
    if isinstance(parent.op, ast.Div) and parent.left is counting:
        return None
    if not infer(code, other).number or not _is_tensor(other):
        return None
    text = f"{flat(code.operand(mask))}.sum()"
    message = f"count on the device with `{text}`, as nothing but the device divides by it"
    return Fix(message, (code.replace(counting, text),), Applicability.UNSAFE)


def _is_tensor(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


def _counted_mask(spot: Spot) -> ast.expr | None:
    parts = masked(spot.node)
    if parts is not None:
        return parts[1] if has_shape_of(spot, parts[1], parts[0]) else None
    node = spot.node
    if isinstance(node, ast.Call) and spot.finding.api == "torch.nonzero":
        if spot.code.meaning(node.func) == "torch.nonzero":
            mask = node.args[0] if len(node.args) == 1 and not node.keywords else None
        else:
            bare = isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
            mask = node.func.value if bare and isinstance(node.func, ast.Attribute) else None
        if mask is not None and infer(spot.code, mask).number == "bool":
            return mask
    return None


def _counting(code: Code, node: ast.expr) -> ast.expr | None:
    """Return `len(node)`, `node.size(0)` or `node.shape[0]`."""
    parent = code.parent(node)
    if isinstance(parent, ast.Call) and parent.args == [node]:
        return parent if isinstance(parent.func, ast.Name) and parent.func.id == "len" else None
    return _counting_by(code, parent, node) if isinstance(parent, ast.Attribute) else None


def _counting_by(code: Code, parent: ast.Attribute, node: ast.expr) -> ast.expr | None:
    """Return `node.size(0)` or `node.shape[0]`, of the attribute that is asked for."""
    around = code.parent(parent)
    if parent.attr == "shape" and isinstance(around, ast.Subscript):
        return around if _is_zero(around.slice) else None
    if parent.attr == "size" and isinstance(around, ast.Call) and len(around.args) == 1:
        return around if _is_zero(around.args[0]) else None
    if parent.attr == "numel" and isinstance(around, ast.Call) and masked(node) is not None:
        return around
    return None


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and type(node.value) is int


# ---- sizes that the host knows


def _repeat(spot: Spot) -> Fix | None:
    """Say how long the result is, where the repeats come from a list."""
    code, call = spot.code, spot.node
    if "repeat_interleave" not in spot.finding.api or not isinstance(call, ast.Call):
        return None
    own = code.meaning(call.func) == "torch.repeat_interleave"
    given = call.args[1 if own else 0 :]
    repeats = given[0] if given else None
    if repeats is None or any(k.arg in {"output_size", "repeats", None} for k in call.keywords):
        return None
    numbers = _numbers(code, repeats)
    owner = call.args[0] if own else getattr(call.func, "value", call)
    if numbers is None or not sorts.is_tensor(code, owner):
        return None
    source = code.source(call)
    if not source.endswith(")") or source[:-1].rstrip().endswith(",") or "#" in source:
        return None
    text = f"{source[:-1]}, output_size=sum({numbers}))"
    message = "say how long the result is: the host knows its list"
    return Fix(message, (code.replace(call, text),), Applicability.SAFE)


def _numbers(code: Code, repeats: ast.expr) -> str | None:
    """Return the list of the host that a tensor of repeats was made from, and still holds."""
    made = _only_value(code, repeats)
    if not isinstance(made, ast.Call) or len(made.args) != 1:
        return None
    if libraries.library_name(code, made.func) not in {"torch.tensor", "torch.as_tensor"}:
        return None
    listed = _only_value(code, made.args[0])
    if not isinstance(listed, ast.List) or not _are_counts(code, listed):
        return None
    if made is repeats or listed is not made.args[0]:
        return flat(code.source(made.args[0]))
    is_literal = all(isinstance(part, ast.Constant) for part in listed.elts)
    return flat(code.source(listed)) if is_literal else None


def _only_value(code: Code, node: ast.expr) -> ast.expr | None:
    """Return what an expression is made by; of a variable, if nothing can have changed it since."""
    if not isinstance(node, ast.Name):
        return node
    values = flow.assignments(code.scope(node), node.id)
    if len(values) != 1 or len(given(code, node)) != 1:
        return None
    return None if effects.is_ever_written(code, node) else values[0]


def _are_counts(code: Code, listed: ast.List) -> bool:
    """Whether it is a list of several counts: a single one would hold for all rows."""
    return len(listed.elts) > 1 and all(
        is_size(code, part) or (isinstance(part, ast.Constant) and type(part.value) is int)
        for part in listed.elts
    )


def _one_hot(spot: Spot) -> Fix | None:
    """Say how many classes there are, where a variable of that name does."""
    code, call = spot.code, spot.node
    if not isinstance(call, ast.Call) or not code.meaning(call.func).endswith("one_hot"):
        return None
    if len(call.args) != 1 or call.keywords or not code.source(call).endswith(")"):
        return None
    name = next((n for n in ("num_classes", "n_classes") if n in _variables(spot)), None)
    if name is None or code.source(call)[:-1].rstrip().endswith(","):
        return None
    text = f"{code.source(call)[:-1]}, num_classes={name})"
    message = f"say that there are `{name}` classes; the result has a column for each"
    return Fix(message, (code.replace(call, text),), Applicability.UNSAFE)


def _variables(spot: Spot) -> set[str]:
    scope = spot.scope
    found = flow.bound(scope) if not isinstance(scope, ast.Lambda) else set()
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found |= {a.arg for a in parsed.walk(scope.args) if isinstance(a, ast.arg)}
    return found
