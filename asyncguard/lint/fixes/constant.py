"""Constants that the host uploads: tensors of a list of numbers, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax.nodes import (
    LISTS,
    Expression,
    attribute,
    elements,
    has_star,
    is_number,
    keywords,
    method,
    name_of,
    positional,
    targets,
)

_MAKERS = words("factory.tensor")
_MOVES = words("upload.moves")
_VIEWS = words("method.view") - words("method.container")
_PURE = words("method.pure")
_DEPTH = 6


class Constant(NamedTuple):
    """A tensor that is made of numbers in the text, its type, and the device that it goes to."""

    numbers: str
    dtype: str
    device: str


def maker_of(node: Expression) -> cst.Call:
    """Return the call that makes the tensor, of a move too."""
    assert isinstance(node, cst.Call)
    inner = node.func.value if isinstance(node.func, cst.Attribute) else None
    return inner if isinstance(inner, cst.Call) else node


def holder_of(spot: Spot) -> str:
    """Return the variable that the waiting expression is assigned to; "" if there is none."""
    statement = spot.statement
    if not isinstance(statement, cst.Assign) or statement.value is not spot.node:
        return ""
    return name_of(targets(statement)[0])


def constant_of(code: Code, node: Expression) -> Constant | None:
    """Read `torch.tensor([...], device=d)`, `torch.tensor([...]).to(d)` and `.cuda()`."""
    if not isinstance(node, cst.Call):
        return None
    call = maker_of(node)
    handed = positional(call)
    if code.meaning(call.func) not in _MAKERS or len(handed) != 1:
        return None
    told = keywords(call)
    if not told.keys() <= {"dtype", "device"}:
        return None
    device = _device(code, node, call, told.get("device"))
    if not device or not _is_list_of_numbers(handed[0]) or "cpu" in device:
        return None
    dtype = told.get("dtype")
    if dtype is not None and not code.meaning(dtype).startswith("torch."):
        return None  # a type that the call decides
    kind = "" if dtype is None else f", dtype={code.source(dtype)}"
    return Constant(flat(code.source(handed[0])), kind, flat(device))


def _device(code: Code, node: cst.Call, call: cst.Call, at: Expression | None) -> str:
    """Return where the tensor comes to be; "" where nothing says so, or the call and its move."""
    if call is node:
        return code.source(at) if at is not None else ""
    return _destination(code, node) if at is None else ""


def _destination(code: Code, move: cst.Call) -> str:
    """Return `d` of `.to(d)`, or "cuda" of `.cuda()`; "" for a move that says more."""
    told = keywords(move)
    given = [*positional(move), *(told[name] for name in ("device",) if name in told)]
    if method(move) not in _MOVES or len(given) != len(move.args):
        return ""
    if method(move) == "cuda":
        return "" if given else '"cuda"'
    is_device = len(given) == 1 and code.source(given[0]).rstrip("\"'").endswith(("device", "cuda"))
    return code.source(given[0]) if is_device else ""


def _is_list_of_numbers(node: Expression) -> bool:
    """Whether it is a list with two numbers at least, all of which are in the text."""
    if not isinstance(node, LISTS):
        return False
    leaves = [*_leaves(node)]
    return len(leaves) > 1 and all(map(is_number, leaves))


def _leaves(node: Expression) -> Iterator[Expression]:
    if isinstance(node, LISTS):
        for element in elements(node):
            yield from _leaves(element)
    elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        yield from _leaves(node.expression)
    else:
        yield node


def is_computed_with(code: Code, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether a value, and each view of it, is only an operand or an argument of the library."""
    if not depth:
        return False
    match code.outer(node):
        case cst.BinaryOperation() | cst.Comparison() | cst.UnaryOperation():
            return True
        case cst.AugAssign(value=value):
            return value is node
        case cst.Subscript(value=value) as subscript:
            looked = value is node and not code.is_stored(subscript)
            return looked and is_computed_with(code, subscript, depth - 1)
        case cst.Assign() as assignment:
            return _is_name_computed_with(code, assignment, depth)
        case cst.Attribute() as found:
            return _is_method_harmless(code, found, depth)
        case cst.Call() as call if keywords(call).get("out") is not node:
            return _only_looks(code, call) and (
                not _shares(code, call) or is_computed_with(code, call, depth - 1)
            )
    return False


def _is_method_harmless(code: Code, function: cst.Attribute, depth: int) -> bool:
    """Whether it is a size or a type, a computation, or a view that is only computed with."""
    call, name = code.parent(function), attribute(function)
    if not isinstance(call, cst.Call) or call.func is not function:
        return name in {"shape", "dtype", "device", "ndim"}
    if name in _VIEWS:
        return is_computed_with(code, call, depth - 1)
    return name in _PURE


def _only_looks(code: Code, call: cst.Call) -> bool:
    """Whether a call is one of torch's functions, none of which but `..._` changes an argument."""
    meaning = code.meaning(call.func)
    return meaning.startswith("torch.") and not meaning.endswith("_") and not has_star(call)


def _shares(code: Code, call: cst.Call) -> bool:
    """Whether what a function of torch returns may be its argument's memory."""
    return code.meaning(call.func).rpartition(".")[2] in _VIEWS | {"as_tensor", "asarray"}


def _is_name_computed_with(code: Code, statement: cst.Assign, depth: int) -> bool:
    """Whether all that a variable is used for is to compute with it."""
    target, *more = targets(statement)
    scope, name = code.scope(statement), name_of(target)
    if more or not name or not flow.is_private(code, scope, name):
        return False
    if len(flow.assignments(scope, name)) != 1:
        return False
    uses = [node for node in flow.walk_own(scope) if name_of(node) == name]
    return all(use is target or is_computed_with(code, use, depth - 1) for use in uses)
