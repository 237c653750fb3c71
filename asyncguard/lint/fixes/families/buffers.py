"""A list of numbers that a module uploads in each call: keep it in a buffer of the module.

`mean = torch.tensor([0.485, 0.456, 0.406], device=x.device)` in `forward` copies from the host and
waits every time. A buffer is uploaded once, when the module moves to its device. It must only be
computed with: what is changed in place, returned or kept elsewhere stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.constant import (
    Constant,
    constant_of,
    holder_of,
    is_computed_with,
    maker_of,
)
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax.nodes import (
    attribute,
    body,
    constant,
    function,
    method,
    walk,
)
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Applicability, Fix

ORDER = 54  # behind what the device can make for itself, before uploads that do not wait
_LAYERS = words("module.layers")
_RESERVED = words("module.attributes")


class Place(NamedTuple):
    """Where a buffer would be made: the class, the name of `self`, and what is made before it."""

    owner: cst.ClassDef
    self_name: str
    begun: cst.Expr
    self_at_begin: str
    has_layers: bool


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each constant."""
    taken: dict[cst.ClassDef, set[str]] = {}
    for spot in spots:
        if spot.finding.code != "ASG106" or spot.finding.framework != "torch":
            continue
        made, place = constant_of(spot.code, spot.node), _place(spot)
        if made is None or place is None or not is_computed_with(spot.code, spot.node):
            continue
        names = taken.setdefault(place.owner, _attributes(spot.code.tree))
        yield Repair(_fix(spot, made, place, names), (spot,))


def _fix(spot: Spot, made: Constant, place: Place, taken: set[str]) -> Fix:
    code = spot.code
    name = _free(holder_of(spot) or "constant", taken)
    taken.add(name)
    maker = code.source(maker_of(spot.node).func)
    value = f"{maker}({made.numbers}{made.dtype})"
    line = f'{place.self_at_begin}.register_buffer("{name}", {value}, persistent=False)'
    use = f"{place.self_name}.{name}"
    if not place.has_layers:  # nothing else says that the module is where its input is
        use += f".to({made.device})"
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
    code, called = spot.code, spot.scope
    owner = code.outer(called)
    if not isinstance(called, cst.FunctionDef) or not isinstance(owner, cst.ClassDef):
        return None
    if called.name.value == "__init__" or called.decorators:
        return None
    if [code.meaning(base.value) for base in owner.bases] != ["torch.nn.Module"]:
        return None
    begins = _beginnings(owner)
    if len(begins) != 1:
        return None
    (begin,) = begins
    begun = [s for s in body(begin) if isinstance(s, cst.Expr) and _begins_module(s)]
    me, at_begin = _own_name(called), _own_name(begin)
    if len(begun) != 1 or not code.is_alone(begun[0]) or not (me and at_begin):
        return None
    if _is_begun_otherwise(code, owner):
        return None
    return Place(owner, me, begun[0], at_begin, _makes_layers(code, begin))


def _beginnings(owner: cst.ClassDef) -> list[cst.FunctionDef]:
    """Return the `__init__` of a class."""
    functions = (part for part in body(owner) if isinstance(part, cst.FunctionDef))
    return [each for each in functions if each.name.value == "__init__"]


def _is_begun_otherwise(code: Code, owner: cst.ClassDef) -> bool:
    """Whether a subclass in the file has an `__init__` that leaves out its parent's."""
    return any(
        not any(map(_begins_module, body(begin)))
        for part in walk(code.tree)
        if isinstance(part, cst.ClassDef)
        and owner.name.value in {dotted(base.value) for base in part.bases}
        for begin in _beginnings(part)
    )


def _own_name(called: cst.FunctionDef) -> str:
    """Return the name of a method's instance; "" where it has none, or assigns it."""
    taken = called.params.params
    name = taken[0].name.value if taken else ""
    return "" if name in flow.bound(called.body) else name


def _begins_module(statement: cst.CSTNode) -> bool:
    """Whether it is `super().__init__()`."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or method(call) != "__init__":
        return False
    return function(call.func.value) == "super"  # type: ignore[attr-defined]


def _makes_layers(code: Code, begin: cst.CSTNode) -> bool:
    """Whether the module has parameters, as layers of torch have."""
    meanings = (code.meaning(part.func) for part in walk(begin) if isinstance(part, cst.Call))
    return any(
        meaning.startswith("torch.nn.") and meaning.rpartition(".")[2] in _LAYERS
        for meaning in meanings
    )


def _attributes(tree: cst.Module) -> set[str]:
    """Return the names of attributes and texts in the file: a subclass may use them for its own."""
    found = set(_RESERVED)
    for part in walk(tree):
        if isinstance(part, cst.Attribute):
            found.add(attribute(part))
        elif isinstance(part, cst.ClassDef):
            found |= {part.name.value, *flow.bound(part.body)}
        elif isinstance(part, cst.FunctionDef):
            found.add(part.name.value)
        elif isinstance(text := constant(part), str):
            found.add(text)
    return found


def _free(name: str, taken: set[str]) -> str:
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name}_{number}"
    return tried
