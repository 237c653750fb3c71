"""Constants that the host uploads: tensors of a list of numbers, and what is done with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, flat
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words

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


def maker_of(node: ast.expr) -> ast.Call:
    """Return the call that makes the tensor, of a move too."""
    assert isinstance(node, ast.Call)
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return inner if isinstance(inner, ast.Call) else node


def holder_of(spot: Spot) -> str:
    """Return the variable that the waiting expression is assigned to; "" if there is none."""
    statement = spot.statement
    if not isinstance(statement, ast.Assign) or statement.value is not spot.node:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def constant_of(code: Code, node: ast.expr) -> Constant | None:
    """Read `torch.tensor([...], device=d)`, `torch.tensor([...]).to(d)` and `.cuda()`."""
    if not isinstance(node, ast.Call):
        return None
    call = maker_of(node)
    if code.meaning(call.func) not in _MAKERS or len(call.args) != 1:
        return None
    told = {keyword.arg: keyword.value for keyword in call.keywords}
    if not told.keys() <= {"dtype", "device"}:
        return None
    device = _device(code, node, call, told.get("device"))
    if not device or not _is_list_of_numbers(call.args[0]) or "cpu" in device:
        return None
    dtype = told.get("dtype")
    if dtype is not None and not code.meaning(dtype).startswith("torch."):
        return None  # a type that the call decides
    kind = "" if dtype is None else f", dtype={code.source(dtype)}"
    return Constant(flat(code.source(call.args[0])), kind, flat(device))


def _device(code: Code, node: ast.Call, call: ast.Call, at: ast.expr | None) -> str:
    """Return where the tensor comes to be; "" where nothing says so, or the call and its move."""
    if call is node:
        return code.source(at) if at is not None else ""
    return _destination(code, node) if at is None else ""


def _destination(code: Code, move: ast.Call) -> str:
    """Return `d` of `.to(d)`, or "cuda" of `.cuda()`; "" for a move that says more."""
    assert isinstance(move.func, ast.Attribute)
    given = [*move.args, *(k.value for k in move.keywords if k.arg == "device")]
    if move.func.attr not in _MOVES or len(given) != len(move.args) + len(move.keywords):
        return ""
    if move.func.attr == "cuda":
        return "" if given else '"cuda"'
    is_device = len(given) == 1 and code.source(given[0]).rstrip("\"'").endswith(("device", "cuda"))
    return code.source(given[0]) if is_device else ""


def _is_list_of_numbers(node: ast.expr) -> bool:
    """Whether it is a list with two numbers at least, all of which are in the text."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return False
    leaves = [*_leaves(node)]
    return len(leaves) > 1 and all(type(leaf) in (bool, int, float) for leaf in leaves)


def _leaves(node: ast.expr) -> Iterator[object]:
    if isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _leaves(element)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _leaves(node.operand)
    else:
        yield node.value if isinstance(node, ast.Constant) else None


def is_computed_with(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a value, and each view of it, is only an operand or an argument of the library."""
    parent = code.parent(node)
    if not depth:
        return False
    if isinstance(parent, (ast.BinOp, ast.Compare, ast.UnaryOp)):
        return True
    if isinstance(parent, ast.AugAssign):
        return parent.value is node
    if isinstance(parent, ast.Subscript):
        looked = parent.value is node and isinstance(parent.ctx, ast.Load)
        return looked and is_computed_with(code, parent, depth - 1)
    if isinstance(parent, ast.Assign):
        return _is_name_computed_with(code, parent, depth)
    if isinstance(parent, ast.Attribute):
        return _is_method_harmless(code, parent, depth)
    call = code.parent(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or (isinstance(parent, ast.keyword) and parent.arg == "out"):
        return False
    return _only_looks(code, call) and (
        not _shares(code, call) or is_computed_with(code, call, depth - 1)
    )


def _is_method_harmless(code: Code, attribute: ast.Attribute, depth: int) -> bool:
    """Whether it is a size or a type, a computation, or a view that is only computed with."""
    call = code.parent(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute:
        return attribute.attr in {"shape", "dtype", "device", "ndim"}
    if attribute.attr in _VIEWS:
        return is_computed_with(code, call, depth - 1)
    return attribute.attr in _PURE


def _only_looks(code: Code, call: ast.Call) -> bool:
    """Whether a call is one of torch's functions, none of which but `..._` changes an argument."""
    meaning = code.meaning(call.func)
    return meaning.startswith("torch.") and not meaning.endswith("_")


def _shares(code: Code, call: ast.Call) -> bool:
    """Whether what a function of torch returns may be its argument's memory."""
    return code.meaning(call.func).rpartition(".")[2] in _VIEWS | {"as_tensor", "asarray"}


def _is_name_computed_with(code: Code, statement: ast.Assign, depth: int) -> bool:
    """Whether all that a variable is used for is to compute with it."""
    target, scope = statement.targets[0], code.scope(statement)
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return False
    if not flow.is_private(code, scope, target.id):
        return False
    if len(flow.assignments(scope, target.id)) != 1:
        return False
    uses = [n for n in flow.walk_own(scope) if isinstance(n, ast.Name) and n.id == target.id]
    return all(use is target or is_computed_with(code, use, depth - 1) for use in uses)
