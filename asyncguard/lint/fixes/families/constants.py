"""A number that is made on the host and uploaded: make it on the device.

`torch.tensor(0.0, device=d)` copies from the host and waits; `torch.zeros((), device=d)` is one
more operation in the queue, with the same value, type and device. `torch.arange(n).to(d)` makes on
the host what the device can count for itself. Random numbers stay where they are drawn, for the
device would draw others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import libraries, sorts
from asyncguard.lint.fixes.code import Code, dotted, flat
from asyncguard.lint.fixes.holding import annotation, given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.numbers import exceeds, fits, is_moderate, is_size
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
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
    dtype = next((k.value for k in call.keywords if k.arg == "dtype"), None)
    if "device" not in told or not is_number(code, number) or exceeds(code, number, dtype):
        return None
    maker = _maker(number, typed="dtype" in told)
    text = f"{shape}, {code.source(number)}" if maker == "full" else shape
    edits = (_rename(code, call.func, maker), code.replace(call.args[0], text))
    message = f"make the constant on the device with `torch.{maker}`"
    return _fix(message, edits, _doubt(code, number), is_sure=fits(code, number, dtype))


def _fix(message: str, edits: tuple[Edit, ...], doubt: str, *, is_sure: bool) -> Fix:
    """Return a repair that is safe if what it presumes is proven."""
    if is_sure:
        return Fix(message, edits, Applicability.SAFE)
    return Fix(f"{message}, if {doubt}", edits, Applicability.UNSAFE)


def _doubt(code: Code, number: ast.expr) -> str:
    return f"`{flat(code.source(number))}` is a number that fits"


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
    like = ast.Attribute(call.func.value, "dtype", ast.Load())
    if not is_number(code, number) or exceeds(code, number, like):
        return None
    edits = (
        _rename(code, call.func, "new_full"),
        code.replace(call.args[0], f"{shape}, {code.source(number)}"),
    )
    is_sure = sorts.is_tensor(code, call.func.value) and fits(code, number, like)
    message = "make the constant on the device with `new_full`"
    return _fix(message, edits, _doubt(code, number), is_sure=is_sure)


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
    if not is_number(code, number) or made.keywords or exceeds(code, number):
        return None
    text = f"{code.operand(call.args[0])}.new_full({shape}, {code.source(number)})"
    edits = (code.replace(call, flat(text)),)
    is_sure = _is_of_any_type(number) and sorts.is_tensor(code, call.args[0])
    message = "make the constant on the device with `new_full`"
    return _fix(message, edits, _doubt(code, number), is_sure=is_sure)


def _is_of_any_type(node: ast.expr) -> bool:
    """Whether a number is the same in every type, so that it may be cast twice or once."""
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, (bool, int, float)):
        return False
    return 0 <= value <= _MOST_OF_ANY and value == int(value)


def _counted(code: Code, call: ast.Call) -> Fix | None:
    """Count on the device: `torch.tensor(list(range(n)), device=d)`."""
    if code.meaning(call.func) not in _MAKERS or not isinstance(call.func, ast.Attribute):
        return None
    told = {keyword.arg for keyword in call.keywords}
    size = _counted_to(call.args[0]) if len(call.args) == 1 else None
    if size is None or not {"device", "dtype"} <= told <= _KEPT:
        return None
    edits = (_rename(code, call.func, "arange"), code.replace(call.args[0], code.source(size)))
    dtype = next(k.value for k in call.keywords if k.arg == "dtype")
    is_sure = is_size(code, size) and libraries.library_name(code, dtype) in _EXACT
    doubt = _doubt(code, size)
    return _fix("count on the device with `torch.arange`", edits, doubt, is_sure=is_sure)


def _counted_to(node: ast.expr) -> ast.expr | None:
    """Return the length `n` of `range(n)` or `list(range(n))`."""
    for name in ("list", "range"):
        if isinstance(node, ast.Call) and dotted(node.func) == name and len(node.args) == 1:
            node = node.args[0]
        elif name == "range":
            return None
    return node if _is_size(node) else None


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
    is_sure = _is_exact(code, node) and _is_destination(code, call)
    doubt = f"`{device}` is one, and counts as the host does"
    return _fix("make the values on the device", edits, doubt, is_sure=is_sure)


def _is_exact(code: Code, call: ast.Call) -> bool:
    """Whether a factory makes the same values on every device, bit for bit."""
    meaning, told = code.meaning(call.func), {k.arg: k.value for k in call.keywords}
    dtype = told.get("dtype")
    if not told.keys() <= {"dtype", "size"}:
        return False
    if meaning in _MAKERS:
        return fits(code, _shape(call.args[0])[1], dtype)
    if meaning == _COUNTED:
        is_exact = dtype is None or libraries.library_name(code, dtype) in _EXACT
        return is_exact and all(is_moderate(code, n) and not _is_float(n) for n in call.args)
    return meaning != "torch.full" or is_moderate(code, call.args[-1])


def _is_float(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(node))


def _is_destination(code: Code, call: ast.Call) -> bool:
    """Whether what a move is given is proven to be a device, and no tensor or type."""
    argument = call.args[0] if call.args else call.keywords[0].value
    is_cast = isinstance(call.func, ast.Attribute) and call.func.attr == "type_as"
    return sorts.is_tensor(code, argument) if is_cast else _is_device(code, argument)


def _is_device(code: Code, node: ast.expr, depth: int = 4) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.IfExp):
        return _is_device(code, node.body, depth) and _is_device(code, node.orelse, depth)
    if isinstance(node, ast.Call):
        return libraries.library_name(code, node.func) == "torch.device"
    if isinstance(node, ast.Attribute):
        return node.attr == "device" and sorts.is_tensor(code, node.value)
    if not isinstance(node, ast.Name) or not depth:
        return False
    told = annotation(code.scope(node), node.id)
    if told is not None and libraries.library_name(code, told) == "torch.device":
        return True
    values = given(code, node)
    return bool(values) and all(v is not None and _is_device(code, v, depth - 1) for v in values)


def _there(code: Code, call: ast.Call, device: str) -> tuple[Edit, ...] | None:
    """Tell a factory the device; None where it does not make the values by its arguments alone."""
    # What requires a gradient is a leaf only where it was made.
    told = {keyword.arg for keyword in call.keywords}
    if told & {"device", "out", "pin_memory", "requires_grad", None} or not call.args:
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
    if exceeds(code, number, next((k.value for k in call.keywords if k.arg == "dtype"), None)):
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
