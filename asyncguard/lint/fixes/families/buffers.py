"""A list of numbers that a module uploads in each call: keep it in a buffer of the module.

`mean = torch.tensor([0.485, 0.456, 0.406], device=x.device)` in `forward` copies from the host and
waits every time. A buffer is uploaded once, when the module moves to its device. It must only be
computed with: what is changed in place, returned or kept elsewhere stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, dotted
from asyncguard.lint.fixes.constant import (
    Constant,
    constant_of,
    holder_of,
    is_computed_with,
    maker_of,
)
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Fix

ORDER = 54  # behind what the device can make for itself, before uploads that do not wait
_LAYERS = words("module.layers")
_RESERVED = words("module.attributes")


class Place(NamedTuple):
    """Where a buffer would be made: the class, the name of `self`, and what is made before it."""

    owner: ast.ClassDef
    self_name: str
    begun: ast.Expr
    self_at_begin: str
    has_layers: bool


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each constant."""
    taken: dict[ast.ClassDef, set[str]] = {}
    for spot in spots:
        if spot.finding.code != "ASG106" or spot.finding.framework != "torch":
            continue
        constant, place = constant_of(spot.code, spot.node), _place(spot)
        if constant is None or place is None or not is_computed_with(spot.code, spot.node):
            continue
        names = taken.setdefault(place.owner, _attributes(spot.code.tree))
        yield Repair(_fix(spot, constant, place, names), (spot,))


def _fix(spot: Spot, constant: Constant, place: Place, taken: set[str]) -> Fix:
    code = spot.code
    name = _free(holder_of(spot) or "constant", taken)
    taken.add(name)
    maker = code.source(maker_of(spot.node).func)
    value = f"{maker}({constant.numbers}{constant.dtype})"
    line = f'{place.self_at_begin}.register_buffer("{name}", {value}, persistent=False)'
    use = f"{place.self_name}.{name}"
    if not place.has_layers:  # nothing else says that the module is where its input is
        use += f".to({constant.device})"
    edits = (code.insert_after(place.begun, line), code.replace(spot.node, use))
    message = (
        f"keep the constant in a buffer, `{name}`, which moves with the module; a cast of the "
        "module, such as `.half()`, casts floats in it, too, and a module that was pickled before "
        "has none"
    )
    return Fix(message, edits, Applicability.UNSAFE)


# ---- The module


def _place(spot: Spot) -> Place | None:
    """Return where the module of a method can make a buffer."""
    code, method = spot.code, spot.scope
    owner = code.parent(method)
    if not isinstance(method, FUNCTIONS) or not isinstance(owner, ast.ClassDef):
        return None
    if method.name == "__init__" or method.decorator_list:
        return None
    if [code.meaning(base) for base in owner.bases] != ["torch.nn.Module"]:
        return None
    begins = [s for s in owner.body if isinstance(s, FUNCTIONS) and s.name == "__init__"]
    if len(begins) != 1:
        return None
    (begin,) = begins
    begun = [s for s in begin.body if _begins_module(s)]
    me, at_begin = _own_name(method), _own_name(begin)
    if len(begun) != 1 or not code.is_alone(begun[0]) or not (me and at_begin):
        return None
    if _is_begun_otherwise(code, owner):
        return None
    assert isinstance(begun[0], ast.Expr)
    return Place(owner, me, begun[0], at_begin, _makes_layers(code, begin))


def _is_begun_otherwise(code: Code, owner: ast.ClassDef) -> bool:
    """Whether a subclass in the file has an `__init__` that leaves out its parent's."""
    for part in parsed.walk(code.tree):
        if isinstance(part, ast.ClassDef) and owner.name in {dotted(base) for base in part.bases}:
            begins = (s for s in part.body if isinstance(s, FUNCTIONS) and s.name == "__init__")
            if any(not any(map(_begins_module, begin.body)) for begin in begins):
                return True
    return False


def _own_name(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the name of a method's instance; "" where it has none, or assigns it."""
    name = method.args.args[0].arg if method.args.args else ""
    return "" if name in flow.bound(ast.Module(method.body, [])) else name


def _begins_module(statement: ast.stmt) -> bool:
    """Whether it is `super().__init__()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "__init__"
        and isinstance(call.func.value, ast.Call)
        and getattr(call.func.value.func, "id", "") == "super"
    )


def _makes_layers(code: Code, begin: ast.AST) -> bool:
    """Whether the module has parameters, as layers of torch have."""
    return any(
        isinstance(part, ast.Call)
        and code.meaning(part.func).startswith("torch.nn.")
        and code.meaning(part.func).rpartition(".")[2] in _LAYERS
        for part in parsed.walk(begin)
    )


def _attributes(tree: ast.Module) -> set[str]:
    """Return the names of attributes and texts in the file: a subclass may use them for its own."""
    found = set(_RESERVED)
    for part in parsed.walk(tree):
        if isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            found.add(part.name)
            found |= (
                flow.bound(ast.Module(part.body, [])) if isinstance(part, ast.ClassDef) else set()
            )
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found


def _free(name: str, taken: set[str]) -> str:
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name}_{number}"
    return tried
