"""How each framework reads several values with one transfer, and what is made of each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.dialects import module_name
from asyncguard.lint.fixes.kinds import Kind
from asyncguard.lint.fixes.spots import Spot, converts_to
from asyncguard.lint.fixes.words import dialects, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import STATEMENTS, Expression, function, integer, method, same

MOST = 16  # values that are stacked one by one
_METERS, _NOTING = words("method.meter"), words("method.noting")
_TAKING = words("call.takes_floats")


class Read(NamedTuple):
    """A read, its value, what is known of that, and the variable that it is assigned to alone."""

    spot: Spot
    value: Expression
    kind: Kind
    name: str


class Made(NamedTuple):
    """An expression of several values, and what is made of each of its numbers."""

    head: str
    values: Sequence[str]
    tail: str
    finals: Sequence[str]


def assigned(code: Code, indent: str, names: Sequence[str], made: Made) -> str:
    """Write an assignment of several values, on more lines where one would be too long."""
    one = f"{', '.join(names)} = {made.head}{', '.join(made.values)}{made.tail}"
    if len(indent) + len(one) <= code.width:
        return one
    inner = f"{indent}    "
    left = ", ".join(names)
    if len(indent) + len(left) + len(made.head) + 3 > code.width:
        left = f"(\n{_filled(inner, names, code.width)}\n{indent})"
    return f"{left} = {made.head}\n{_filled(inner, made.values, code.width)}\n{indent}{made.tail}"


def _filled(indent: str, parts: Sequence[str], width: int) -> str:
    """Write parts with commas behind them, as many on a line as there is room for."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f" {part},"
        else:
            lines.append(f"{indent}{part},")
    return "\n".join(lines)


def _torch(group: Sequence[Read]) -> Made | None:
    code, dialect = group[0].spot.code, group[0].spot.dialect
    if (elements := _elements(code, group)) is not None:
        return elements
    module = _module(group[0].spot)
    kinds = {read.kind.number for read in group}
    if module is None or dialect is None or not all(_has_shape(r) or _is_shown(r) for r in group):
        return None
    mixed = len(kinds) > 1 or "" in kinds
    if mixed and dialect.double != ".double()":
        return None  # nothing there holds floats and large integers
    values = [_value(code, read, dialect.double if mixed else "") for read in group]
    finals = [_final(read, mixed=mixed) for read in group]
    return Made(f"{module}.stack([", values, "]).tolist()", finals)


def _value(code: Code, read: Read, cast: str) -> str:
    shape = "" if read.kind.scalar else ".reshape(())"
    if not shape and not cast:
        return flat(code.source(read.value))
    return f"{flat(code.operand(read.value))}{shape}{cast}"


def _has_shape(read: Read) -> bool:
    return bool(read.kind.number) and (read.kind.scalar or read.kind.number == "float")


def _is_shown(read: Read) -> bool:
    """Whether a number may be a float where it was an integer: nothing counts or indexes with it,
    and no function that is not known is given it.
    """
    spot = read.spot
    if not read.name:
        return _is_as_float(spot.code, spot.node)
    private = flow.is_private(spot.code, spot.scope, read.name)
    uses = flow.uses(spot.scope, read.name, [spot.statement])
    return private and all(_is_as_float(spot.code, use) for use in uses)


def _is_as_float(code: Code, node: cst.CSTNode) -> bool:
    for parent in code.outers(node):
        match parent:
            case cst.Subscript(value=value) if value is not node:
                return False
            case cst.BinaryOperation(operator=cst.FloorDivide() | cst.Modulo()):
                return False
            case cst.Call(func=called) if called is not node and not _takes_floats(parent):
                return False
        if isinstance(parent, STATEMENTS):
            return not isinstance(parent, cst.Return)
        node = parent
    return False


def _takes_floats(call: cst.Call) -> bool:
    if not isinstance(call.func, cst.Attribute):
        return function(call) in _TAKING
    return method(call) in _METERS | _NOTING or _notes_beside_a_text(call)


def _notes_beside_a_text(call: cst.Call) -> bool:
    return any(is_text(part) or nodes.is_text(part) for part in nodes.given(call))


def _final(read: Read, *, mixed: bool) -> str:
    """Return what has to be made of a number so that it is what the read returned."""
    known = read.kind.number
    kind = converts_to(read.spot.node) or known
    has = "float" if mixed else known
    return "{}" if kind in {has, ""} else f"{kind}({{}})"


def _elements(code: Code, group: Sequence[Read]) -> Made | None:
    """Read elements of one tensor, `x[0].item()` and `x[1].item()`: they are of one kind."""
    indices = [_element(read.value) for read in group]
    if any(index is None for index in indices) or len(group) > MOST:
        return None
    owners = [read.value.value for read in group if isinstance(read.value, cst.Subscript)]
    if any(not same(owner, owners[0]) for owner in owners):
        return None
    text = flat(code.operand(owners[0]))
    finals = _conversions(group)
    if indices == list(range(len(group))):
        return Made(f"{text}[:", [str(len(group))], "].flatten().tolist()", finals)
    module = _module(group[0].spot)
    values = [flat(code.source(read.value)) for read in group]
    return Made(f"{module}.stack([", values, "]).flatten().tolist()", finals) if module else None


def _conversions(group: Sequence[Read]) -> list[str]:
    """Return how the numbers that `tolist` gives become what each read gave."""
    kinds = [converts_to(read.spot.node) or "" for read in group]
    if "float" in kinds:
        return [f"{kind}({{}})" for kind in kinds]
    return ["int({})" if kind == "int" else "{}" for kind in kinds]


def _element(node: Expression) -> int | None:
    """Return i of `x[i]`, if it is a number in the text."""
    index = nodes.index(node) if isinstance(node, cst.Subscript) else None
    if isinstance(index, cst.UnaryOperation) and isinstance(index.operator, cst.Minus):
        number = integer(index.expression)
        return -number if number is not None else None
    return integer(index)


def _jax(group: Sequence[Read]) -> Made | None:
    """Read a tuple of any shapes and types; each number is made of its array as before."""
    module, code = _module(group[0].spot), group[0].spot.code
    if module is None:
        return None
    values = [flat(code.source(read.value)) for read in group]
    finals = [f"{converts_to(read.spot.node)}({{}})" if converts_to(read.spot.node) else "{}.item()"
              for read in group]  # fmt: skip
    return Made(f"{module}.device_get((", values, "))", finals)


def _in_double(group: Sequence[Read], cast: str, tail: str) -> Made | None:
    module, code = _module(group[0].spot), group[0].spot.code
    known = all(read.kind.number and read.kind.scalar for read in group)
    if module is None or not known:
        return None
    values = [
        cast.format(module=module, value=flat(code.source(read.value)),
                    operand=flat(code.operand(read.value)))
        for read in group
    ]  # fmt: skip
    finals = [_final(read, mixed=True) for read in group]
    return Made(f"{module}.stack([", values, tail, finals)


def _tensorflow(group: Sequence[Read]) -> Made | None:
    return _in_double(
        group,
        "{module}.cast({value}, {module}.float64)",
        "]).numpy().tolist()",
    )


def _cupy(group: Sequence[Read]) -> Made | None:
    return _in_double(group, "{operand}.astype('float64')", "]).tolist()")


def _mxnet(group: Sequence[Read]) -> Made | None:
    if any(read.spot.finding.api.startswith("mxnet.NDArray") for read in group):
        return _legacy(group)
    return _in_double(group, "{operand}.astype('float64')", "]).tolist()")


def _legacy(group: Sequence[Read]) -> Made | None:
    """Read arrays of the old interface, which has no scalars: of one type, or it fails loudly."""
    code = group[0].spot.code
    module = module_name(code, dialects()["mxnet.nd"])
    if module is None or any(converts_to(read.spot.node) for read in group):
        return None
    values = [f"{flat(code.operand(read.value))}.reshape(-1)" for read in group]
    return Made(f"{module}.concat(", [*values, "dim=0"], ").asnumpy()", ["{}"] * len(group))


WAYS = {"torch": _torch, "jax": _jax, "tensorflow": _tensorflow, "cupy": _cupy, "mxnet": _mxnet}


def _module(spot: Spot) -> str | None:
    return module_name(spot.code, spot.dialect) if spot.dialect is not None else None


def is_text(node: Expression) -> bool:
    """Whether it is a text that is filled in, and nobody notices."""
    is_filled = isinstance(node, (cst.FormattedString, cst.ConcatenatedString))
    return is_filled and not nodes.is_constant(node) and flow.is_pure(node)
