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
from asyncguard.lint.fixes.code import FUNCTIONS, Code, flat
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed
from asyncguard.model import Applicability, Fix

ORDER = 54  # behind what the device can make for itself, before uploads that do not wait
_MAKERS = words("factory.tensor")
_MOVES = words("upload.moves")
_VIEWS = words("method.view") - words("method.container")
_PURE = words("method.pure")
_LAYERS = words("module.layers")
_RESERVED = words("module.attributes")
_DEPTH = 6


class Constant(NamedTuple):
    """A tensor that is made of numbers in the text, its type, and the device that it goes to."""

    numbers: str
    dtype: str
    device: str


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
        constant, place = _constant(spot.code, spot.node), _place(spot)
        if constant is None or place is None or not _is_computed_with(spot.code, spot.node, _DEPTH):
            continue
        names = taken.setdefault(place.owner, _attributes(place.owner))
        yield Repair(_fix(spot, constant, place, names), (spot,))


def _fix(spot: Spot, constant: Constant, place: Place, taken: set[str]) -> Fix:
    code = spot.code
    name = _free(_wanted(spot), taken)
    taken.add(name)
    maker = code.source(_maker(spot.node).func)
    value = f"{maker}({constant.numbers}{constant.dtype})"
    line = f'{place.self_at_begin}.register_buffer("{name}", {value}, persistent=False)'
    use = f"{place.self_name}.{name}"
    if not place.has_layers:  # nothing else says that the module is where its input is
        use += f".to({constant.device})"
    edits = (code.insert_after(place.begun, line), code.replace(spot.node, use))
    message = (
        f"keep the constant in a buffer, `{name}`, which moves with the module; a cast of the "
        "module, such as `.half()`, casts floats in it, too"
    )
    return Fix(message, edits, Applicability.UNSAFE)


# ---- The constant


def _maker(node: ast.expr) -> ast.Call:
    """Return the call that makes the tensor, of a move too."""
    assert isinstance(node, ast.Call)
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return inner if isinstance(inner, ast.Call) else node


def _constant(code: Code, node: ast.expr) -> Constant | None:
    """Read `torch.tensor([...], device=d)`, `torch.tensor([...]).to(d)` and `.cuda()`."""
    if not isinstance(node, ast.Call):
        return None
    call, device = _maker(node), ""
    if call is not node:
        device = _destination(code, node)
        if not device:
            return None
    if code.meaning(call.func) not in _MAKERS or len(call.args) != 1:
        return None
    told = {keyword.arg: code.source(keyword.value) for keyword in call.keywords}
    if not told.keys() <= {"dtype", "device"} or (device and "device" in told):
        return None
    device = device or told.get("device", "")
    if not device or not _is_list_of_numbers(call.args[0]) or "cpu" in device:
        return None
    dtype = told.get("dtype", "")
    if dtype and not code.meaning(_keyword(call, "dtype")).startswith("torch."):
        return None  # a type that the call decides
    text = flat(code.source(call.args[0]))
    return Constant(text, f", dtype={dtype}" if dtype else "", flat(device))


def _keyword(call: ast.Call, name: str) -> ast.expr:
    return next(keyword.value for keyword in call.keywords if keyword.arg == name)


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


# ---- The module


def _place(spot: Spot) -> Place | None:
    """Return where the module of a method can make a buffer."""
    code, method = spot.code, spot.scope
    owner = code.parent(method)
    if not isinstance(method, FUNCTIONS) or not isinstance(owner, ast.ClassDef):
        return None
    if method.name == "__init__" or method.decorator_list or not method.args.args:
        return None
    if [code.meaning(base) for base in owner.bases] != ["torch.nn.Module"]:
        return None
    begin = [s for s in owner.body if isinstance(s, FUNCTIONS) and s.name == "__init__"]
    begun = [s for s in begin[0].body if _begins_module(s)] if len(begin) == 1 else []
    if len(begun) != 1 or not code.is_alone(begun[0]) or not begin[0].args.args:
        return None
    assert isinstance(begun[0], ast.Expr)
    me, at_begin = method.args.args[0].arg, begin[0].args.args[0].arg
    if me in flow.bound(ast.Module(method.body, [])) or at_begin in flow.bound(
        ast.Module(begin[0].body, [])
    ):
        return None
    return Place(owner, me, begun[0], at_begin, _makes_layers(code, begin[0]))


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


def _attributes(owner: ast.ClassDef) -> set[str]:
    """Return the names that the class uses for attributes, methods and texts."""
    found = set(_RESERVED)
    for part in parsed.walk(owner):
        if isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            found.add(part.name)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found | flow.bound(ast.Module(owner.body, []))


def _wanted(spot: Spot) -> str:
    """Return the name of the variable that holds the constant, if one does."""
    statement = spot.statement
    if isinstance(statement, ast.Assign) and statement.value is spot.node:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return target.id
    return "constant"


def _free(name: str, taken: set[str]) -> str:
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = f"{name}_{number}"
    return tried


# ---- Its use


def _is_computed_with(code: Code, node: ast.expr, depth: int) -> bool:
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
        return looked and _is_computed_with(code, parent, depth - 1)
    if isinstance(parent, ast.Assign):
        return _is_name_computed_with(code, parent, depth)
    if isinstance(parent, ast.Attribute):
        return _is_method_harmless(code, parent, depth)
    call = code.parent(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or (isinstance(parent, ast.keyword) and parent.arg == "out"):
        return False
    return _only_looks(code, call) and (
        not _shares(code, call) or _is_computed_with(code, call, depth - 1)
    )


def _is_method_harmless(code: Code, attribute: ast.Attribute, depth: int) -> bool:
    """Whether it is a size or a type, a computation, or a view that is only computed with."""
    call = code.parent(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute:
        return attribute.attr in {"shape", "dtype", "device", "ndim"}
    if attribute.attr in _VIEWS:
        return _is_computed_with(code, call, depth - 1)
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
    return all(use is target or _is_computed_with(code, use, depth - 1) for use in uses)
