"""Uploads from memory that is not pinned: pin it, or make the value where it is used.

A copy from pinned memory with `non_blocking=True` does not wait, and what the device does next with
the copy waits for it by itself. Where the loader pins its batches in view, the flag is all that is
missing. Whether memory should be pinned elsewhere is for the reader to decide, so that is shown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import effects, flow, libraries
from asyncguard.lint.fixes.code import Code, flat, is_postfix
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_list, is_number
from asyncguard.lint.fixes.loaders import loaders
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Edit, Fix

ORDER = 60
_MOVES = words("upload.moves")
_MAKERS = words("factory.array")
_PIN = "pin_memory"
# On MPS a copy that nobody waits for reads memory that may be free by then (pytorch#189690).
_SMALL = (
    "upload the list without waiting for earlier work; CUDA takes 64 KiB at once, more may wait; "
    "on MPS the values can be wrong"
)


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each upload."""
    for spot in spots:
        if spot.finding.framework != "torch" or spot.finding.code != "ASG106":
            continue
        fix = _move(spot) or _cast(spot) or _made(spot) or _made_like(spot)
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
    if _is_small(code, call.func.value):
        return Fix(_SMALL, (flag,), Applicability.UNSAFE)
    known = _loaders(spot, call.func.value)
    if not known or not all(map(_collates, known)):
        message = f"upload `{text}` without waiting, once it is in pinned memory"
        return Fix(message, (flag,), Applicability.SHOWN)
    return _of_loaders(spot, call.func.value, flag, known)


def _of_loaders(spot: Spot, value: ast.expr, flag: Edit, known: Sequence[ast.Call]) -> Fix | None:
    """Let the upload of a batch not wait; loaders that do not pin are to do so."""
    code, text = spot.code, spot.code.source(value)
    lacking = [loader for loader in known if not _pins(code, loader)]
    if not lacking:
        sure = all(_argument(loader, _PIN) is not None for loader in known) and not _names_mps(code)
        message = f"upload `{text}` without waiting: its loader pins the memory"
        if sure and all(_gives_tensors(code, loader) for loader in known) and _stays(spot, value):
            return Fix(message, (flag,), Applicability.SAFE)
        message += f", if `{text}` is a tensor that nobody writes to"
        return Fix(message, (flag,), Applicability.UNSAFE)
    pins = [_with_argument(code, loader, f"{_PIN}=True") for loader in lacking]
    if any(pin is None for pin in pins):
        return None
    names = " and ".join(_named(code, loader) for loader in lacking)
    message = (
        f"pin the batches of {names}, and upload `{text}` without waiting; pinned memory is never "
        "swapped"
    )
    return Fix(message, (flag, *(pin for pin in pins if pin is not None)), Applicability.UNSAFE)


def _named(code: Code, loader: ast.Call) -> str:
    """Return the variable or attribute of a loader, and the line that makes it."""
    statement = code.statement(loader)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else loader.func
    return f"`{code.source(target)}` (line {loader.lineno})"


def _collates(loader: ast.Call) -> bool:
    """Whether a loader makes its batches itself, of tensors, and no function of the program."""
    told = {keyword.arg: keyword.value for keyword in loader.keywords}
    size = told.get("batch_size")
    is_whole = isinstance(size, ast.Constant) and size.value is None
    return "collate_fn" not in told and not is_whole


def _gives_tensors(code: Code, loader: ast.Call) -> bool:
    """Whether the batches of a loader are tuples of tensors: of a `TensorDataset` in view."""
    told = {keyword.arg for keyword in loader.keywords}
    if not loader.args or told & {"collate_fn", "dataset", None}:
        return False
    source = loader.args[0]
    values = given(code, source) if isinstance(source, ast.Name) else [source]
    return bool(values) and all(
        isinstance(value, ast.Call)
        and libraries.library_name(code, value.func) == "torch.utils.data.TensorDataset"
        for value in values
    )


def _stays(spot: Spot, value: ast.expr) -> bool:
    """Whether it is one of several tensors of a batch, which the loop does not write to."""
    loop = next(
        (x for x in flow.loops_around(spot.code, spot.node) if isinstance(x, ast.For)), None
    )
    if loop is None or not isinstance(value, ast.Name):
        return False
    tuples = [part for part in parsed.walk(loop.target) if isinstance(part, (ast.Tuple, ast.List))]
    is_part = any(isinstance(e, ast.Name) and e.id == value.id for t in tuples for e in t.elts)
    return is_part and not effects.may_write(spot.code, loop.body, value)


def _names_mps(code: Code) -> bool:
    """Whether the file speaks of Apple's devices, which have no pinned memory."""
    return "mps" in code.text


def pinned_loader(spot: Spot, value: ast.expr) -> bool:
    """Whether a value is a part of the batches of loaders in view that pin them."""
    loaders = _loaders(spot, value)
    return bool(loaders) and all(_argument(loader, _PIN) is not None for loader in loaders)


def _is_small(code: Code, value: ast.expr) -> bool:
    """Whether it is a tensor that was just made of a list, on the host."""
    if not isinstance(value, ast.Call) or code.meaning(value.func) not in _MAKERS:
        return False
    told = {keyword.arg for keyword in value.keywords}
    return len(value.args) == 1 and told <= {"dtype"} and is_list(code, value.args[0])


def _loaders(spot: Spot, value: ast.expr) -> list[ast.Call]:
    """Return each `DataLoader(...)` in view whose batches the value may be a part of."""
    name = flow.root(value)
    loops = flow.loops_around(spot.code, spot.node)
    loop = next((x for x in loops if isinstance(x, ast.For) and name in flow.bound(x.target)), None)
    if loop is None or name in _rebound(loop, spot.statement):
        return []
    return loaders(spot.code, loop.iter) or []


def _pins(code: Code, loader: ast.Call) -> bool:
    """Whether a loader pins its batches: by its argument, or by a dictionary of arguments."""
    if _argument(loader, _PIN) is not None:
        return True
    given = [k.value for k in loader.keywords if k.arg is None]
    return any(_names_pinning(code, value) for value in given)


def _names_pinning(code: Code, node: ast.expr, depth: int = 4) -> bool:
    """Whether a dictionary, or what a variable's is made of or updated with, turns pinning on."""
    if isinstance(node, ast.Dict):
        return any(
            isinstance(key, ast.Constant) and key.value == _PIN
            and isinstance(value, ast.Constant) and value.value is True
            for key, value in zip(node.keys, node.values, strict=True)
        )  # fmt: skip
    if isinstance(node, ast.IfExp):
        return any(_names_pinning(code, each, depth) for each in (node.body, node.orelse))
    if not isinstance(node, ast.Name) or not depth:
        return False
    scope = code.scope(node)
    values = [value for value in flow.assignments(scope, node.id) if value is not None]
    values += _updates(code, scope, node.id)
    return any(_names_pinning(code, value, depth - 1) for value in values)


def _updates(code: Code, scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield what a dictionary is updated with."""
    for use in flow.uses(scope, name):
        attribute = code.parent(use)
        call = code.parent(attribute) if isinstance(attribute, ast.Attribute) else None
        if isinstance(call, ast.Call) and getattr(attribute, "attr", "") == "update":
            yield from (v for v in call.args if not isinstance(v, ast.Name) or v.id != name)


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


def _cast(spot: Spot) -> Fix | None:
    """Upload to where another tensor is without waiting: `x.type_as(y)`."""
    code, call = spot.code, spot.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr != "type_as" or len(call.args) != 1 or call.keywords:
        return None
    value = call.func.value
    other = code.source(call.args[0])
    text = f"{code.source(value)}.to({other}, non_blocking=True)"
    if not is_postfix(value) or "#" in code.source(call):
        return None
    edit = code.replace(call, flat(text))
    if _is_small(code, value):
        return Fix(_SMALL, (edit,), Applicability.UNSAFE)
    message = f"upload `{code.source(value)}` without waiting, once it is in pinned memory"
    return Fix(message, (edit,), Applicability.SHOWN)


def _made_like(spot: Spot) -> Fix | None:
    """Upload a list to where another tensor is: `x.new_tensor([a, b])`."""
    code, call = spot.code, spot.node
    torch = code.name_for("torch")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or torch is None:
        return None
    if call.func.attr != "new_tensor" or len(call.args) != 1 or call.keywords:
        return None
    owner = call.func.value
    if not isinstance(owner, (ast.Name, ast.Attribute)) or not is_list(code, call.args[0]):
        return None
    name, data = code.source(owner), code.source(call.args[0])
    text = f"{torch}.tensor({data}, dtype={name}.dtype).to({name}.device, non_blocking=True)"
    if "#" in text:
        return None
    return Fix(_SMALL, (code.replace(call, flat(text)),), Applicability.UNSAFE)


def _made(spot: Spot) -> Fix | None:
    """Upload a list without waiting: `torch.tensor([a, b], device=d)`."""
    code, call = spot.code, spot.node
    if not isinstance(call, ast.Call) or code.meaning(call.func) not in _MAKERS or not call.args:
        return None
    device = next((k for k in call.keywords if k.arg == "device"), None)
    if device is None or any(k.arg not in {"device", "dtype"} for k in call.keywords):
        return None
    data = call.args[0]
    rest = [code.source(argument) for argument in call.args]
    rest += [f"{k.arg}={code.source(k.value)}" for k in call.keywords if k is not device]
    text = f"{code.source(call.func)}({', '.join(rest)})"
    text = f"{text}.to({code.source(device.value)}, non_blocking=True)"
    edit = code.replace(call, flat(text))
    if "#" in code.source(call):
        return None
    if len(call.args) == 1 and (is_list(code, data) or is_number(code, data)):
        return Fix(_SMALL, (edit,), Applicability.UNSAFE)
    text = flat(code.source(data))
    message = f"upload `{text}` without waiting, if it is on the host, and small or pinned"
    return Fix(message, (edit,), Applicability.SHOWN)
