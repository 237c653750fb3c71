"""Uploads from memory that is not pinned: pin it, or make the value where it is used.

A copy from pinned memory with `non_blocking=True` does not wait, and what the device does next with
the copy waits for it by itself. Where the loader pins its batches in view, the flag is all that is
missing. Whether memory should be pinned elsewhere is for the reader to decide, so that is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.model import Applicability, Edit, Fix

ORDER = 60
_MOVES = frozenset({"to", "cuda"})
_MAKERS = frozenset({"torch.tensor", "torch.as_tensor", "torch.from_numpy"})
_PIN = "pin_memory"


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each upload."""
    for spot in spots:
        if spot.finding.framework != "torch" or spot.finding.code != "ASG106":
            continue
        fix = _move(spot) or _made(spot) or _index(spot)
        if fix is not None:
            yield Repair(fix, (spot,))


def _move(spot: Spot) -> Fix | None:
    """Let a move of a batch not wait; where its loader does not pin, have it do so."""
    code, call = spot.code, spot.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr not in _MOVES or any(k.arg in {"non_blocking", None} for k in call.keywords):
        return None
    flag = _with_argument(code, call, "non_blocking=True")
    if flag is None:
        return None
    text = code.source(call.func.value)
    loader = _loader(spot, call.func.value)
    if loader is None:
        message = f"upload `{text}` without waiting, once it is in pinned memory"
        return Fix(message, (flag,), Applicability.SHOWN)
    if _argument(loader, _PIN) is not None:
        message = f"upload `{text}` without waiting: its loader pins the memory"
        return Fix(message, (flag,), Applicability.SAFE)
    pin = _with_argument(code, loader, f"{_PIN}=True")
    if pin is None:
        return None
    message = (
        f"pin the batches, and upload `{text}` without waiting; pinned memory is never swapped"
    )
    return Fix(message, (flag, pin), Applicability.UNSAFE)


def pinned_loader(spot: Spot, value: ast.expr) -> bool:
    """Whether a value is a part of the batches of a loader in view that pins them."""
    loader = _loader(spot, value)
    return loader is not None and _argument(loader, _PIN) is not None


def _loader(spot: Spot, value: ast.expr) -> ast.Call | None:
    """Return the `DataLoader(...)` in view whose batches the value is a part of."""
    name = flow.root(value)
    loops = flow.loops_around(spot.code, spot.node)
    loop = next((x for x in loops if isinstance(x, ast.For) and name in flow.bound(x.target)), None)
    if loop is None or name in _rebound(loop, spot.statement):
        return None
    source = loop.iter
    while isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.args:
        if source.func.id not in {"enumerate", "tqdm"}:
            break
        source = source.args[0]
    if isinstance(source, ast.Name):
        values = flow.assignments(spot.scope, source.id)
        values = values or flow.assignments(spot.code.tree, source.id)
        source = values[0] if len(values) == 1 and values[0] is not None else source
    if not isinstance(source, ast.Call):
        return None
    is_loader = spot.code.meaning(source.func).startswith("torch.utils.data")
    return source if is_loader and spot.code.meaning(source.func).endswith("DataLoader") else None


def _rebound(loop: ast.For, until: ast.stmt) -> set[str]:
    """Return what the loop changes before a statement of it; the statement itself may bind anew."""
    before = [part for part in loop.body if part.lineno < until.lineno]
    return flow.changed(before)


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    """Return an argument that is given as anything but False."""
    for keyword in call.keywords:
        if keyword.arg == name:
            given = keyword.value
            is_false = isinstance(given, ast.Constant) and given.value is not True
            return None if is_false else given
    return None


def _with_argument(code: Code, call: ast.Call, text: str) -> Edit | None:
    """Write one more argument into a call."""
    source = code.source(call)
    inner = source[:-1].rstrip()
    if not source.endswith(")") or "#" in source or any(k.arg is None for k in call.keywords):
        return None
    if any(k.arg == text.partition("=")[0] for k in call.keywords):
        return None
    lines = inner.split("\n")
    line = call.lineno + len(lines) - 1
    column = len(lines[-1]) + (code.span(call)[1] if len(lines) == 1 else 0)
    lead = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    return Edit(line, column, line, column, f"{lead}{text}")


def _made(spot: Spot) -> Fix | None:
    """Show how a list becomes a tensor on the device without waiting."""
    code, call = spot.code, spot.node
    if not isinstance(call, ast.Call) or code.meaning(call.func) not in _MAKERS or not call.args:
        return None
    device = next((k for k in call.keywords if k.arg == "device"), None)
    if device is None or any(k.arg not in {"device", "dtype"} for k in call.keywords):
        return None
    module = code.source(call.func).rpartition(".")[0]
    rest = [code.source(argument) for argument in call.args]
    rest += [f"{k.arg}={code.source(k.value)}" for k in call.keywords if k is not device]
    where = code.source(device.value)
    if code.meaning(call.func) == "torch.tensor":
        text = f"{module}.tensor({', '.join(rest)}, {_PIN}=True)"
    else:
        text = f"{module}.as_tensor({', '.join(rest)}).{_PIN}()"
    edit = code.replace(call, " ".join(f"{text}.to({where}, non_blocking=True)".split()))
    message = "upload from pinned memory without waiting; make it once if it stays the same"
    return Fix(message, (edit,), Applicability.SHOWN)


def _index(spot: Spot) -> Fix | None:
    """Index by a slice rather than by a list, which is uploaded: `x[:, [0, 2]]`, `x[[i]]`."""
    code, node = spot.code, spot.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    lists = [part for part in parts if isinstance(part, ast.List)]
    plain = all(isinstance(part, (ast.List, ast.Slice)) or _is_ellipsis(part) for part in parts)
    if len(lists) != 1 or not plain:
        return None
    text = _slice(lists[0]) or _one(spot, lists[0])
    if text is None:
        return None
    message = f"take `{text}` rather than upload a list; the result shares memory with its source"
    return Fix(message, (code.replace(lists[0], text),), Applicability.UNSAFE)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _slice(node: ast.List) -> str | None:
    """Return the slice that takes the same places, if they are evenly spaced and ascending."""
    values = [e.value for e in node.elts if isinstance(e, ast.Constant) and type(e.value) is int]
    if len(values) != len(node.elts) or not values or values[0] < 0:
        return None
    steps = {b - a for a, b in pairwise(values)} or {1}
    step = min(steps)
    if len(steps) > 1 or step < 1:
        return None
    end = values[-1] + 1
    return f"{values[0]}:{end}" if step == 1 else f"{values[0]}:{end}:{step}"


def _one(spot: Spot, node: ast.List) -> str | None:
    """Return the slice of one place that a loop counts."""
    index = node.elts[0] if len(node.elts) == 1 else None
    if not isinstance(index, ast.Name):
        return None
    loops = flow.loops_around(spot.code, spot.node)
    loop = next((x for x in loops if isinstance(x, ast.For) and _counts(x, index.id)), None)
    if loop is None or index.id in flow.changed(loop.body):
        return None
    return f"{index.id} : {index.id} + 1"


def _counts(loop: ast.For, name: str) -> bool:
    """Whether a loop gives a name the numbers from 0 up."""
    source, target = loop.iter, loop.target
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name):
        return False
    if source.func.id == "enumerate" and len(source.args) == 1:
        first = target.elts[0] if isinstance(target, ast.Tuple) else None
        return isinstance(first, ast.Name) and first.id == name
    is_range = source.func.id == "range" and len(source.args) == 1
    return is_range and isinstance(target, ast.Name) and target.id == name
