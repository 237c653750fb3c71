"""A number that is made on the host and uploaded: make it on the device.

`torch.tensor(0.0, device=d)` copies from the host and waits; `torch.zeros((), device=d)` is one
more operation in the queue, with the same value, type and device. `torch.arange(n).to(d)` makes on
the host what the device can count for itself. Random numbers stay where they are drawn, for the
device would draw others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
_KEPT = words("factory.kept")
_MAKERS = words("factory.tensor")
_FACTORIES = words("factory.made")
_MOVING = words("factory.moving")
_LIMITS = words("factory.limits")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each upload of a number, or of what a factory made."""
    for spot in spots:
        if spot.finding.framework != "torch" or not isinstance(spot.node, ast.Call):
            continue
        fix = _constant(spot.code, spot.node) or _factory(spot.code, spot.node)
        if fix is not None:
            yield Repair(fix, (spot,))


def _constant(code: Code, call: ast.Call) -> Fix | None:
    """Make a number on the device: `torch.tensor(0.0, device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, ast.Attribute):
        return None
    if len(call.args) != 1 or any(k.arg not in _KEPT for k in call.keywords):
        return None
    told = {keyword.arg for keyword in call.keywords}
    argument = call.args[0]
    if "device" not in told or not _is_number(code, argument):
        return None
    maker = _maker(argument, typed="dtype" in told)
    text = f"(), {code.source(argument)}" if maker == "full" else "()"
    edits = (_rename(code, call.func, maker), code.replace(argument, text))
    message = f"make the constant on the device with `torch.{maker}`"
    return Fix(message, edits, Applicability.SAFE)


def _is_number(code: Code, node: ast.expr) -> bool:
    """Whether an expression is a number of Python by its form."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (bool, int, float)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and _is_number(code, node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(code, node.left) and _is_number(code, node.right)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        return code.meaning(node.value.func) in _LIMITS and node.attr in {"min", "max", "eps"}
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in {"float", "len"}:
            return len(node.args) == 1 and not node.keywords and _is_host_text(node)
        return False
    return False


def _is_host_text(call: ast.Call) -> bool:
    """Whether it is `float("-inf")` or `len(x)`: `float(x)` might itself be a read."""
    assert isinstance(call.func, ast.Name)
    return call.func.id == "len" or isinstance(call.args[0], ast.Constant)


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
        if code.meaning(node.func) in _FACTORIES:
            break
        if node.func.attr not in _MOVING:
            return None
        node = node.func.value
    if not isinstance(node, ast.Call) or code.meaning(node.func) not in _FACTORIES:
        return None
    if any(k.arg in {"device", "out", "pin_memory", None} for k in node.keywords) or not node.args:
        return None
    _, _, end_line, end = code.span(node)
    before = code.source(node)
    if not before.endswith(")") or before[:-1].rstrip().endswith(",") or "#" in before:
        return None
    insert = Edit(end_line, end - 1, end_line, end - 1, f", device={device}")
    move = _without_move(code, call, function)
    if move is None:
        return None
    edits = (insert, *move)
    return Fix("make the values on the device", edits, Applicability.SAFE)


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
