"""A number that is made on the host and uploaded: make it on the device.

`torch.tensor(0.0, device=d)` copies from the host and waits; `torch.zeros((), device=d)` is one
more operation in the queue, with the same value, type and device. `torch.arange(n).to(d)` makes on
the host what the device can count for itself. Random numbers stay where they are drawn, for the
device would draw others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes.code import Code, dotted, flat
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
_KEPT = words("factory.kept")
_MAKERS = words("factory.tensor")
_FACTORIES = words("factory.made")
_MOVING = words("factory.moving")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each upload of a number, or of what a factory made."""
    for spot in spots:
        if spot.finding.framework != "torch" or not isinstance(spot.node, ast.Call):
            continue
        ways = (_constant, _like, _cast, _counted, _factory)
        found = (way(spot.code, spot.node) for way in ways)
        if (fix := next((fix for fix in found if fix is not None), None)) is not None:
            yield Repair(fix, (spot,))


def _constant(code: Code, call: ast.Call) -> Fix | None:
    """Make a number on the device: `torch.tensor(0.0, device=d)`, `torch.tensor([n], device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, ast.Attribute):
        return None
    if len(call.args) != 1 or any(k.arg not in _KEPT for k in call.keywords):
        return None
    told = {keyword.arg for keyword in call.keywords}
    shape, number = _shape(call.args[0])
    if "device" not in told or not is_number(code, number):
        return None
    maker = _maker(number, typed="dtype" in told)
    text = f"{shape}, {code.source(number)}" if maker == "full" else shape
    edits = (_rename(code, call.func, maker), code.replace(call.args[0], text))
    message = f"make the constant on the device with `torch.{maker}`"
    return Fix(message, edits, Applicability.SAFE)


def _shape(node: ast.expr) -> tuple[str, ast.expr]:
    """Return the shape of a constant, and its number: `(1,)` and `n` of `[n]`."""
    if not isinstance(node, (ast.List, ast.Tuple)) or len(node.elts) != 1:
        return "()", node
    inner = node.elts[0]
    if isinstance(inner, (ast.List, ast.Tuple)) and len(inner.elts) == 1:
        return "(1, 1)", inner.elts[0]
    return "(1,)", inner


def _like(code: Code, call: ast.Call) -> Fix | None:
    """Make a number as another tensor has them: `x.new_tensor(0)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "new_tensor":
        return None
    if len(call.args) != 1 or any(k.arg not in _KEPT for k in call.keywords):
        return None
    shape, number = _shape(call.args[0])
    if not is_number(code, number):
        return None
    edits = (
        _rename(code, call.func, "new_full"),
        code.replace(call.args[0], f"{shape}, {code.source(number)}"),
    )
    return Fix("make the constant on the device with `new_full`", edits, Applicability.SAFE)


def _cast(code: Code, call: ast.Call) -> Fix | None:
    """Make a number as another tensor has them: `torch.tensor(0).type_as(x)`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "type_as" or call.keywords:
        return None
    made = function.value
    if len(call.args) != 1 or not isinstance(made, ast.Call) or len(made.args) != 1:
        return None
    if code.meaning(made.func) not in _MAKERS or any(k.arg != "dtype" for k in made.keywords):
        return None
    shape, number = _shape(made.args[0])
    if not is_number(code, number) or made.keywords:
        return None
    text = f"{code.operand(call.args[0])}.new_full({shape}, {code.source(number)})"
    edits = (code.replace(call, flat(text)),)
    return Fix("make the constant on the device with `new_full`", edits, Applicability.SAFE)


def _counted(code: Code, call: ast.Call) -> Fix | None:
    """Count on the device: `torch.tensor(list(range(n)), device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, ast.Attribute):
        return None
    told = {keyword.arg for keyword in call.keywords}
    listed = call.args[0] if len(call.args) == 1 else None
    if isinstance(listed, ast.Call) and isinstance(listed.func, ast.Name):
        listed = listed.args[0] if listed.func.id == "list" and len(listed.args) == 1 else listed
    if not isinstance(listed, ast.Call) or not told <= _KEPT or not {"device", "dtype"} <= told:
        return None
    if dotted(listed.func) != "range" or len(listed.args) != 1 or not _is_size(listed.args[0]):
        return None
    edits = (
        _rename(code, call.func, "arange"),
        code.replace(call.args[0], code.source(listed.args[0])),
    )
    return Fix("count on the device with `torch.arange`", edits, Applicability.SAFE)


def _is_size(node: ast.expr) -> bool:
    """Whether it is a length, which is not negative."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape"


def _maker(node: ast.expr, *, typed: bool) -> str:
    """Return the factory of a number; a zero or one of no given type is a float if it reads so."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return "full"
    if (typed or isinstance(node.value, float)) and node.value in (0, 1):
        return "ones" if node.value else "zeros"
    return "full"


def _rename(code: Code, function: ast.Attribute, name: str) -> Edit:
    _, _, line, end = code.span(function)
    return Edit(line, end - len(function.attr), line, end, name)


def _factory(code: Code, call: ast.Call) -> Fix | None:
    """Make on the device what is moved there at once: `torch.arange(n).to(d)`."""
    device = _destination(code, call)
    function = call.func
    if device is None or not isinstance(function, ast.Attribute):
        return None
    node: ast.expr = function.value
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if code.meaning(node.func) in _FACTORIES | _MAKERS:
            break
        if node.func.attr not in _MOVING:
            return None
        node = node.func.value
    if not isinstance(node, ast.Call) or (there := _there(code, node, device)) is None:
        return None
    move = _without_move(code, call, function)
    if move is None:
        return None
    edits = (*there, *move)
    return Fix("make the values on the device", edits, Applicability.SAFE)


def _there(code: Code, call: ast.Call, device: str) -> tuple[Edit, ...] | None:
    """Tell a factory the device; None where it does not make the values by its arguments alone."""
    if any(k.arg in {"device", "out", "pin_memory", None} for k in call.keywords) or not call.args:
        return None
    _, _, end_line, end = code.span(call)
    before = code.source(call)
    if not before.endswith(")") or before[:-1].rstrip().endswith(",") or "#" in before:
        return None
    insert = Edit(end_line, end - 1, end_line, end - 1, f", device={device}")
    if code.meaning(call.func) in _FACTORIES:
        return (insert,)
    shape, number = _shape(call.args[0])
    if code.meaning(call.func) not in _MAKERS or len(call.args) != 1:
        return None
    if not is_number(code, number) or not isinstance(call.func, ast.Attribute):
        return None
    text = f"{shape}, {code.source(number)}"
    return (_rename(code, call.func, "full"), code.replace(call.args[0], text), insert)


def _destination(code: Code, call: ast.Call) -> str | None:
    """Return the device that `.to(device)`, `.to(x.device)` or `.type_as(x)` names."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) + len(call.keywords) != 1:
        return None
    argument = call.args[0] if call.args else call.keywords[0].value
    if call.keywords and call.keywords[0].arg != "device":
        return None
    if call.func.attr == "type_as" and isinstance(argument, (ast.Name, ast.Attribute)):
        return f"{code.source(argument)}.device"
    if call.func.attr != "to":
        return None
    if isinstance(argument, (ast.Name, ast.Attribute)):
        text = code.source(argument)
        return text if text.rpartition(".")[2].rpartition("_")[2] == "device" else None
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return code.source(argument) if argument.value.startswith("cuda") else None
    return None


def _without_move(code: Code, call: ast.Call, function: ast.Attribute) -> tuple[Edit, ...] | None:
    """Delete `.to(d)`; `.type_as(x)` stays for the type. None if a parenthesis is in the way."""
    if function.attr == "type_as":
        return ()
    _, _, line, column = code.span(function.value)
    _, _, end_line, end = code.span(function)
    if line != end_line or code.lines[line - 1][column:end].strip() != f".{function.attr}":
        return None
    _, _, end_line, end = code.span(call)
    return (Edit(line, column, end_line, end, ""),)
