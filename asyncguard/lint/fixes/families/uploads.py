"""Uploads from memory that is not pinned: pin it, or make the value where it is used.

A copy from pinned memory with `non_blocking=True` does not wait, and what the device does next with
the copy waits for it by itself. Where the loader pins its batches in view, the flag is all that is
missing. Whether memory should be pinned elsewhere is for the reader to decide, so that is shown.
What is filled anew while such a copy may still read it (ASG405) is left to one that waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects, flow, libraries
from asyncguard.lint.fixes.code import Code, flat, is_postfix
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_list, is_number
from asyncguard.lint.fixes.loaders import loaders
from asyncguard.lint.fixes.refills import is_refilled
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import Dialect, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Expression,
    body,
    constant,
    elements,
    is_constant,
    is_for,
    is_name,
    keyword,
    keywords,
    method,
    name_of,
    only,
    positional,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 60
_MOVES = words("upload.moves")
_MAKERS = words("factory.array")
_PIN = "pin_memory"


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
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if method(call) not in _MOVES or keywords(call).keys() & {"non_blocking", ""}:
        return None
    flag = _with_argument(code, call, "non_blocking=True")
    if flag is None or is_refilled(spot, call.func.value):
        return None
    text = code.source(call.func.value)
    if _is_small(code, call.func.value):
        return _of_few(spot, flag)
    known = _loaders(spot, call.func.value)
    if not known or not all(map(_collates, known)):
        message = f"upload `{text}` without waiting, once it is in pinned memory"
        return Fix(message, (flag,), Applicability.SHOWN)
    return _of_loaders(spot, call.func.value, flag, known)


def _of_few(spot: Spot, edit: Edit) -> Fix:
    """Say what comes of sending a few values without a wait."""
    return Fix(_dialect(spot).upload, (edit,), Applicability.UNSAFE)


def _dialect(spot: Spot) -> Dialect:
    assert spot.dialect is not None  # torch's
    return spot.dialect


def _of_loaders(spot: Spot, value: Expression, flag: Edit, known: Sequence[cst.Call]) -> Fix | None:
    """Let the upload of a batch not wait; loaders that do not pin are to do so."""
    code, text = spot.code, spot.code.source(value)
    lacking = [loader for loader in known if not _pins(code, loader)]
    if not lacking:
        pinned = all(_argument(loader, _PIN) is not None for loader in known)
        sure = pinned and _dialect(spot).pinning
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


def _named(code: Code, loader: cst.Call) -> str:
    """Return the variable or attribute of a loader, and the line that makes it."""
    statement = code.statement(loader)
    is_plain = isinstance(statement, cst.Assign)
    target = nodes.targets(statement)[0] if is_plain else loader.func
    return f"`{code.source(target)}` (line {code.line(loader)})"


def _collates(loader: cst.Call) -> bool:
    """Whether a loader makes its batches itself, of tensors, and no function of the program."""
    told = keywords(loader)
    is_whole = constant(told.get("batch_size")) is None
    return "collate_fn" not in told and not is_whole


def _gives_tensors(code: Code, loader: cst.Call) -> bool:
    """Whether the batches of a loader are tuples of tensors: of a `TensorDataset` in view."""
    handed = positional(loader)
    if not handed or keywords(loader).keys() & {"collate_fn", "dataset", ""}:
        return False
    values = given(code, handed[0]) if is_name(handed[0]) else [handed[0]]
    return bool(values) and all(
        isinstance(value, cst.Call)
        and libraries.library_name(code, value.func) == "torch.utils.data.TensorDataset"
        for value in values
    )


def _stays(spot: Spot, value: Expression) -> bool:
    """Whether it is one of several tensors of a batch, which the loop does not write to."""
    loop, name = next(_for_loops(spot), None), name_of(value)
    if loop is None or not name:
        return False
    tuples = [part for part in nodes.walk(loop.target) if isinstance(part, LISTS)]
    is_part = any(name_of(element) == name for each in tuples for element in elements(each))
    return is_part and not effects.may_write(spot.code, body(loop), value)


def _for_loops(spot: Spot) -> Iterator[cst.For]:
    """Yield the `for` loops around a finding, innermost first."""
    return filter(is_for, flow.loops_around(spot.code, spot.node))


def pinned_loader(spot: Spot, value: Expression) -> bool:
    """Whether a value is a part of the batches of loaders in view that pin them."""
    loaders = _loaders(spot, value)
    return bool(loaders) and all(_argument(loader, _PIN) is not None for loader in loaders)


def _is_small(code: Code, value: Expression) -> bool:
    """Whether it is a tensor that was just made of a list, on the host."""
    if not isinstance(value, cst.Call) or code.meaning(value.func) not in _MAKERS:
        return False
    handed = positional(value)
    is_plain = len(handed) == 1 and keywords(value).keys() <= {"dtype"}
    return is_plain and is_list(code, handed[0])


def _loaders(spot: Spot, value: Expression) -> list[cst.Call]:
    """Return each `DataLoader(...)` in view whose batches the value may be a part of."""
    name = nodes.root(value)
    loop = next((x for x in _for_loops(spot) if name in flow.named_in(x.target)), None)
    if loop is None or name in _rebound(spot.code, loop, spot.statement):
        return []
    return loaders(spot.code, loop.iter) or []


def _pins(code: Code, loader: cst.Call) -> bool:
    """Whether a loader pins its batches: by its argument, or by a dictionary of arguments."""
    if _argument(loader, _PIN) is not None:
        return True
    return any(_names_pinning(code, a.value) for a in loader.args if a.star == "**")


def _names_pinning(code: Code, node: Expression, depth: int = 4) -> bool:
    """Whether a dictionary, or what a variable's is made of or updated with, turns pinning on."""
    if isinstance(node, cst.Dict):
        entries = (each for each in node.elements if isinstance(each, cst.DictElement))
        return any(constant(e.key) == _PIN and constant(e.value) is True for e in entries)
    if isinstance(node, cst.IfExp):
        return any(_names_pinning(code, each, depth) for each in (node.body, node.orelse))
    name = name_of(node)
    if not name or not depth:
        return False
    scope = code.scope(node)
    values = [value for value in flow.assignments(scope, name) if value is not None]
    values += _updates(code, scope, name)
    return any(_names_pinning(code, value, depth - 1) for value in values)


def _updates(code: Code, scope: cst.CSTNode, name: str) -> Iterator[Expression]:
    """Yield what a dictionary is updated with."""
    for use in flow.uses(scope, name):
        function = code.parent(use)
        call = code.parent(function) if isinstance(function, cst.Attribute) else None
        if isinstance(call, cst.Call) and method(call) == "update":
            yield from (value for value in positional(call) if name_of(value) != name)


def _rebound(code: Code, loop: cst.For, until: cst.CSTNode) -> set[str]:
    """Return what the loop changes before a statement of it; the statement itself may bind anew."""
    return flow.changed(part for part in body(loop) if code.line(part) < code.line(until))


def _argument(call: cst.Call, name: str) -> Expression | None:
    """Return an argument that is given as anything but False."""
    told = keyword(call, name)
    return None if is_constant(told) and constant(told) is not True else told


def _with_argument(code: Code, call: cst.Call, text: str) -> Edit | None:
    """Write one more argument into a call."""
    source = code.source(call)
    inner = source[:-1].rstrip()
    if not source.endswith(")") or "#" in source:
        return None
    if keywords(call).keys() & {text.partition("=")[0], ""}:
        return None
    lines = inner.split("\n")
    line = code.line(call) + len(lines) - 1
    column = len(lines[-1]) + (code.span(call)[1] if len(lines) == 1 else 0)
    lead = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    return Edit(line, column, line, column, f"{lead}{text}")


def _cast(spot: Spot) -> Fix | None:
    """Upload to where another tensor is without waiting: `x.type_as(y)`."""
    code, call = spot.code, spot.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    other = only(call)
    if method(call) != "type_as" or other is None:
        return None
    value = call.func.value
    text = f"{code.source(value)}.to({code.source(other)}, non_blocking=True)"
    if not is_postfix(value) or "#" in code.source(call) or is_refilled(spot, value):
        return None
    edit = code.replace(call, flat(text))
    if _is_small(code, value):
        return _of_few(spot, edit)
    message = f"upload `{code.source(value)}` without waiting, once it is in pinned memory"
    return Fix(message, (edit,), Applicability.SHOWN)


def _made_like(spot: Spot) -> Fix | None:
    """Upload a list to where another tensor is: `x.new_tensor([a, b])`."""
    code, call = spot.code, spot.node
    torch = code.name_for("torch")
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or torch is None:
        return None
    owner, data = call.func.value, only(call)
    if method(call) != "new_tensor" or data is None:
        return None
    if not isinstance(owner, (cst.Name, cst.Attribute)) or not is_list(code, data):
        return None
    name = code.source(owner)
    text = f"{torch}.tensor({code.source(data)}, dtype={name}.dtype)"
    text += f".to({name}.device, non_blocking=True)"
    if "#" in text:
        return None
    return _of_few(spot, code.replace(call, flat(text)))


def _made(spot: Spot) -> Fix | None:
    """Upload a list without waiting: `torch.tensor([a, b], device=d)`."""
    code, call = spot.code, spot.node
    if not isinstance(call, cst.Call) or code.meaning(call.func) not in _MAKERS:
        return None
    handed, told = positional(call), keywords(call)
    device = told.pop("device", None)
    if not handed or device is None or not told.keys() <= {"dtype"}:
        return None
    data = handed[0]
    rest = [code.source(argument) for argument in handed]
    rest += [f"{name}={code.source(value)}" for name, value in told.items()]
    text = f"{code.source(call.func)}({', '.join(rest)})"
    text = f"{text}.to({code.source(device)}, non_blocking=True)"
    edit = code.replace(call, flat(text))
    if "#" in code.source(call) or is_refilled(spot, call):
        return None
    if len(handed) == 1 and (is_list(code, data) or is_number(code, data)):
        return _of_few(spot, edit)
    text = flat(code.source(data))
    message = f"upload `{text}` without waiting, if it is on the host, and small or pinned"
    return Fix(message, (edit,), Applicability.SHOWN)
