"""A number that is made on the host and uploaded: make it on the device.

`torch.tensor(0.0, device=d)` copies from the host and waits; `torch.zeros((), device=d)` is one
more operation in the queue, with the same value, type and device. `torch.arange(n).to(d)` makes on
the host what the device can count for itself. Random numbers stay where they are drawn, for the
device would draw others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import libraries, sorts
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.holding import annotation, given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.numbers import exceeds, fits, is_moderate, is_size
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Expression,
    attribute,
    constant,
    elements,
    function,
    is_constant,
    is_name,
    keyword,
    keywords,
    method,
    only,
    positional,
)
from asyncguard.model import Applicability, Edit, Fix

ORDER = 10
_KEPT = words("factory.kept")
_MAKERS = words("factory.tensor")
_FACTORIES = words("factory.made")
_MOVING = words("factory.moving") - {"expand"}  # of which no two elements share memory
_EXACT = words("factory.exact_types")
_COUNTED = "torch.arange"
_MOST_OF_ANY = 127  # the largest integer that every type of torch holds as it is


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each upload of a number, or of what a factory made."""
    for spot in spots:
        if spot.finding.framework != "torch" or not isinstance(spot.node, cst.Call):
            continue
        ways = (_constant, _like, _cast, _counted, _factory)
        found = (way(spot.code, spot.node) for way in ways)
        if (fix := next((fix for fix in found if fix is not None), None)) is not None:
            yield Repair(fix, (spot,))


def _constant(code: Code, call: cst.Call) -> Fix | None:
    """Make a number on the device: `torch.tensor(0.0, device=d)`, `torch.tensor([n], device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, cst.Attribute):
        return None
    handed, told = positional(call), keywords(call)
    if len(handed) != 1 or not told.keys() <= _KEPT:
        return None
    shape, number = _shape(handed[0])
    dtype = told.get("dtype")
    if "device" not in told or not is_number(code, number) or exceeds(code, number, dtype):
        return None
    maker = _maker(number, typed="dtype" in told)
    text = f"{shape}, {code.source(number)}" if maker == "full" else shape
    edits = (_rename(code, call.func, maker), code.replace(handed[0], text))
    message = f"make the constant on the device with `torch.{maker}`"
    return _fix(message, edits, _doubt(code, number), is_sure=fits(code, number, dtype))


def _fix(message: str, edits: tuple[Edit, ...], doubt: str, *, is_sure: bool) -> Fix:
    """Return a repair that is safe if what it presumes is proven."""
    if is_sure:
        return Fix(message, edits, Applicability.SAFE)
    return Fix(f"{message}, if {doubt}", edits, Applicability.UNSAFE)


def _doubt(code: Code, number: Expression) -> str:
    return f"`{flat(code.source(number))}` is a number that fits"


def _shape(node: Expression) -> tuple[str, Expression]:
    """Return the shape of a constant, and its number: `(1,)` and `n` of `[n]`."""
    if not isinstance(node, LISTS) or len(node.elements) != 1:
        return "()", node
    inner = elements(node)[0]
    if isinstance(inner, LISTS) and len(inner.elements) == 1:
        return "(1, 1)", elements(inner)[0]
    return "(1,)", inner


def _like(code: Code, call: cst.Call) -> Fix | None:
    """Make a number as another tensor has them: `x.new_tensor(0)`."""
    if not isinstance(call.func, cst.Attribute) or method(call) != "new_tensor":
        return None
    handed = positional(call)
    if len(handed) != 1 or not keywords(call).keys() <= _KEPT:
        return None
    shape, number = _shape(handed[0])
    like = cst.Attribute(call.func.value, cst.Name("dtype"))
    if not is_number(code, number) or exceeds(code, number, like):
        return None
    edits = (
        _rename(code, call.func, "new_full"),
        code.replace(handed[0], f"{shape}, {code.source(number)}"),
    )
    is_sure = sorts.is_tensor(code, call.func.value) and fits(code, number, like)
    message = "make the constant on the device with `new_full`"
    return _fix(message, edits, _doubt(code, number), is_sure=is_sure)


def _cast(code: Code, call: cst.Call) -> Fix | None:
    """Make a number as another tensor has them: `torch.tensor(0).type_as(x)`."""
    other = only(call)
    if not isinstance(call.func, cst.Attribute) or method(call) != "type_as" or other is None:
        return None
    made = call.func.value
    value = only(made) if isinstance(made, cst.Call) else None
    if value is None or code.meaning(made.func) not in _MAKERS:  # type: ignore[attr-defined]
        return None
    shape, number = _shape(value)
    if not is_number(code, number) or exceeds(code, number):
        return None
    text = f"{code.operand(other)}.new_full({shape}, {code.source(number)})"
    edits = (code.replace(call, flat(text)),)
    is_sure = _is_of_any_type(number) and sorts.is_tensor(code, other)
    message = "make the constant on the device with `new_full`"
    return _fix(message, edits, _doubt(code, number), is_sure=is_sure)


def _is_of_any_type(node: Expression) -> bool:
    """Whether a number is the same in every type, so that it may be cast twice or once."""
    value = constant(node)
    if not isinstance(value, (bool, int, float)):
        return False
    return 0 <= value <= _MOST_OF_ANY and value == int(value)


def _counted(code: Code, call: cst.Call) -> Fix | None:
    """Count on the device: `torch.tensor(list(range(n)), device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, cst.Attribute):
        return None
    handed, told = positional(call), keywords(call)
    size = _counted_to(handed[0]) if len(handed) == 1 else None
    if size is None or not {"device", "dtype"} <= told.keys() <= _KEPT:
        return None
    edits = (_rename(code, call.func, "arange"), code.replace(handed[0], code.source(size)))
    is_sure = is_size(code, size) and libraries.library_name(code, told["dtype"]) in _EXACT
    doubt = _doubt(code, size)
    return _fix("count on the device with `torch.arange`", edits, doubt, is_sure=is_sure)


def _counted_to(node: Expression) -> Expression | None:
    """Return the length `n` of `range(n)` or `list(range(n))`."""
    for name in ("list", "range"):
        if isinstance(node, cst.Call) and function(node) == name and len(positional(node)) == 1:
            node = positional(node)[0]
        elif name == "range":
            return None
    return node if _is_size(node) else None


def _is_size(node: Expression) -> bool:
    """Whether it is a length, which is not negative."""
    if isinstance(node, cst.Call):
        return function(node) == "len"
    return isinstance(node, cst.Subscript) and attribute(node.value) == "shape"


def _maker(node: Expression, *, typed: bool) -> str:
    """Return the factory of a number; a zero or one of no given type is a float if it reads so."""
    value = constant(node)
    if isinstance(value, bool):
        return "full"
    if (typed or isinstance(value, float)) and value in (0, 1):
        return "ones" if value else "zeros"
    return "full"


def _rename(code: Code, function: cst.Attribute, name: str) -> Edit:
    _, _, line, end = code.span(function)
    return Edit(line, end - len(attribute(function)), line, end, name)


def _factory(code: Code, call: cst.Call) -> Fix | None:
    """Make on the device what is moved there at once: `torch.arange(n).to(d)`."""
    device = _destination(code, call)
    if device is None or not isinstance(call.func, cst.Attribute):
        return None
    node: Expression = call.func.value
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if code.meaning(node.func) in _FACTORIES | _MAKERS:
            break
        if method(node) not in _MOVING:
            return None
        node = node.func.value
    if not isinstance(node, cst.Call) or (there := _there(code, node, device)) is None:
        return None
    move = _without_move(code, call, call.func)
    if move is None:
        return None
    edits = (*there, *move)
    is_sure = _is_exact(code, node) and _is_destination(code, call)
    doubt = f"`{device}` is one, and counts as the host does"
    return _fix("make the values on the device", edits, doubt, is_sure=is_sure)


def _is_exact(code: Code, call: cst.Call) -> bool:
    """Whether a factory makes the same values on every device, bit for bit."""
    meaning, handed, told = code.meaning(call.func), positional(call), keywords(call)
    dtype = told.get("dtype")
    if not told.keys() <= {"dtype", "size"}:
        return False
    if meaning in _MAKERS:
        return fits(code, _shape(handed[0])[1], dtype)
    if meaning == _COUNTED:
        is_exact = dtype is None or libraries.library_name(code, dtype) in _EXACT
        return is_exact and all(is_moderate(code, n) and not _is_float(n) for n in handed)
    return meaning != "torch.full" or is_moderate(code, handed[-1])


def _is_float(node: Expression) -> bool:
    return any(isinstance(part, cst.Float) for part in nodes.walk(node))


def _is_destination(code: Code, call: cst.Call) -> bool:
    """Whether what a move is given is proven to be a device, and no tensor or type."""
    argument = call.args[0].value
    is_cast = method(call) == "type_as"
    return sorts.is_tensor(code, argument) if is_cast else _is_device(code, argument)


def _is_device(code: Code, node: Expression, depth: int = 4) -> bool:
    if is_constant(node):
        return nodes.is_text(node)
    match node:
        case cst.IfExp(body=body, orelse=otherwise):
            return _is_device(code, body, depth) and _is_device(code, otherwise, depth)
        case cst.Call(func=made):
            return libraries.library_name(code, made) == "torch.device"
        case cst.Attribute(value=owner):
            return attribute(node) == "device" and sorts.is_tensor(code, owner)
        case cst.Name(value=name) if depth:
            told = annotation(code.scope(node), name)
            if told is not None and libraries.library_name(code, told) == "torch.device":
                return True
            values = given(code, node)
            known = (v is not None and _is_device(code, v, depth - 1) for v in values)
            return bool(values) and all(known)
    return False


def _there(code: Code, call: cst.Call, device: str) -> tuple[Edit, ...] | None:
    """Tell a factory the device; None where it does not make the values by its arguments alone."""
    # What requires a gradient is a leaf only where it was made.
    handed, told = positional(call), keywords(call)
    if told.keys() & {"device", "out", "pin_memory", "requires_grad", ""} or not handed:
        return None
    _, _, end_line, end = code.span(call)
    before = code.source(call)
    if not before.endswith(")") or before[:-1].rstrip().endswith(",") or "#" in before:
        return None
    insert = Edit(end_line, end - 1, end_line, end - 1, f", device={device}")
    if code.meaning(call.func) in _FACTORIES:
        return (insert,)
    shape, number = _shape(handed[0])
    if code.meaning(call.func) not in _MAKERS or len(handed) != 1:
        return None
    if not is_number(code, number) or not isinstance(call.func, cst.Attribute):
        return None
    if exceeds(code, number, told.get("dtype")):
        return None
    text = f"{shape}, {code.source(number)}"
    return (_rename(code, call.func, "full"), code.replace(handed[0], text), insert)


def _destination(code: Code, call: cst.Call) -> str | None:
    """Return the device that `.to(device)`, `.to(x.device)` or `.type_as(x)` names."""
    argument = only(call) or keyword(call, "device")
    if argument is None or len(call.args) != 1:
        return None
    is_named = is_name(argument) or isinstance(argument, cst.Attribute)
    text = code.source(argument)
    if method(call) == "type_as" and is_named:
        return f"{text}.device"
    if method(call) != "to":
        return None
    if is_named:
        return text if text.rpartition(".")[2].rpartition("_")[2] == "device" else None
    return text if str(constant(argument)).startswith("cuda") else None


def _without_move(code: Code, call: cst.Call, function: cst.Attribute) -> tuple[Edit, ...] | None:
    """Delete `.to(d)`; `.type_as(x)` stays for the type. None if a parenthesis is in the way."""
    name = attribute(function)
    if name == "type_as":
        return ()
    _, _, line, column = code.span(function.value)
    _, _, end_line, end = code.span(function)
    if line != end_line or code.lines[line - 1][column:end].strip() != f".{name}":
        return None
    _, _, end_line, end = code.span(call)
    return (Edit(line, column, end_line, end, ""),)
