"""What a value is made of, as far as its expression tells: floats or integers, one or many.

A read keeps its meaning only if that is known: a count must stay an integer, and what is stacked
must have one shape. Where the code does not tell, the answer is "not known".
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, Scope, dotted, same
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import pattern, table, words
from asyncguard.lint.source import parsed


class Kind(NamedTuple):
    """The type of a tensor's elements ("" if not known), and whether its shape is `()`."""

    number: str = ""
    scalar: bool = False


UNKNOWN = Kind()
_DEPTH = 6
_REDUCING = table("kind.reducing")
_KEEPING = words("kind.keeping")
_CASTS = table("kind.casts")
_TYPES = table("kind.types")
_COMPARING = words("kind.comparing")
_FLOATING = words("kind.floating")
_SAME_SHAPE = _FLOATING | _COMPARING | words("kind.same")
_UNLIKE = words("kind.unlike")
_LOSS = pattern("loss.result")
_CRITERION = pattern("loss.criterion")
_NOT_REDUCED = words("loss.not_reduced")
_LIBRARIES = tuple(words("kind.libraries"))


def infer(code: Code, node: ast.expr, depth: int = _DEPTH) -> Kind:
    """Return what is known of a device value by its expression."""
    rule = _RULES.get(type(node))
    return rule(code, node, depth) if rule is not None and depth else UNKNOWN


def is_mask(code: Code, node: ast.expr) -> bool:
    """Whether the code shows a tensor of booleans."""
    return infer(code, node).number == "bool"


def is_long(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether integers of a value have 64 bits: what was counted, summed, found or cast so."""
    if isinstance(node, ast.Name):
        values = flow.assignments(code.scope(node), node.id)
        sure = bool(values) and node.id not in flow.parameters(code.scope(node)) and depth > 0
        return sure and all(v is not None and is_long(code, v, depth - 1) for v in values)
    if isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
        return bool(sides) and all(is_long(code, side, depth) for side in sides)
    return isinstance(node, ast.Call) and _returns_long(code, node, depth)


def _returns_long(code: Code, node: ast.Call, depth: int) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    name = node.func.attr
    if any(keyword.arg == "dtype" for keyword in node.keywords):
        return False
    if name in _KEEPING and not code.meaning(node.func).startswith(_LIBRARIES):
        return is_long(code, node.func.value, depth)
    return _REDUCING.get(name) in {"sum", "int"} or name == "long"


def _element(code: Code, node: ast.Subscript, depth: int) -> Kind:
    return Kind(scalar=is_number(code, node))


def _constant(code: Code, node: ast.Constant, depth: int) -> Kind:
    if isinstance(node.value, (bool, int, float)):
        return Kind(type(node.value).__name__, scalar=True)
    return UNKNOWN


def _compare(code: Code, node: ast.Compare, depth: int) -> Kind:
    sides = [infer(code, side, depth - 1) for side in (node.left, *node.comparators)]
    plain = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
    if len(node.ops) > 1 or isinstance(node.ops[0], plain):
        return UNKNOWN
    return Kind("bool", all(side.scalar for side in sides))


def _binary(code: Code, node: ast.BinOp, depth: int) -> Kind:
    left, right = infer(code, node.left, depth - 1), infer(code, node.right, depth - 1)
    scalar = left.scalar and right.scalar
    known = {left.number, right.number}
    if isinstance(node.op, ast.Div) or "float" in known:
        return Kind("float", scalar)
    if "" in known:
        return Kind("", scalar)
    if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        return Kind("bool" if known == {"bool"} else "int", scalar)
    return Kind("int", scalar)


def _unary(code: Code, node: ast.UnaryOp, depth: int) -> Kind:
    inner = infer(code, node.operand, depth - 1)
    return UNKNOWN if isinstance(node.op, ast.Not) else inner


def _name(code: Code, node: ast.Name, depth: int) -> Kind:
    """What all assignments of a variable agree on; a loss is what `backward` starts from."""
    return _variable(code, code.scope(node), node.id, depth)


@kept(OF_STATEMENTS)
def _variable(code: Code, scope: Scope, name: str, depth: int) -> Kind:
    values = flow.assignments(scope, name)
    if not values or None in values or name in flow.parameters(scope):
        return Kind("float") if _runs_backward(scope, name) else Kind(_of_name(name))
    found = [infer(code, value, depth - 1) for value in values if value is not None]
    number = found[0].number if len({kind.number for kind in found}) == 1 else ""
    if _runs_backward(scope, name):
        return Kind("float", all(kind.scalar for kind in found))
    return Kind(number or _of_name(name), all(kind.scalar for kind in found))


def _of_name(name: str) -> str:
    return "float" if _LOSS.search(name) else ""


def _runs_backward(scope: ast.AST, name: str) -> bool:
    return name in flow.losses(scope)


def _is_criterion(code: Code, node: ast.expr) -> bool:
    """Whether a call computes a loss, by the name of what is called."""
    return (
        isinstance(node, ast.Call)
        and _CRITERION.search(dotted(node.func).rpartition(".")[2]) is not None
    )


def _is_reduced(code: Code, function: ast.expr, depth: int) -> bool:
    """Whether what is called gives one value: a loss of torch with its own reduction, or a function
    of the file whose results are scalars.
    """
    if isinstance(function, ast.Call):
        name = code.meaning(function.func)
        told = {keyword.arg for keyword in function.keywords}
        return name.startswith("torch.nn.") and name.endswith("Loss") and not (
            told & {*_NOT_REDUCED, None}
        )  # fmt: skip
    if not depth:
        return False
    if isinstance(function, ast.Name):
        if (known := _defined(code, function)) is not None:
            values = [n.value for n in flow.walk_own(known) if isinstance(n, ast.Return)]
            return bool(values) and all(
                value is not None and infer(code, value, depth - 1).scalar for value in values
            )
        made = given(code, function) or _of_file(code, function)
    else:
        made = _of_class(code, function)
    return bool(made) and all(
        value is not None and _is_reduced(code, value, depth - 1) for value in made
    )


def _defined(code: Code, name: ast.Name) -> ast.FunctionDef | None:
    """Return the one function of the file that a name stands for."""
    found = [s for s in code.tree.body if isinstance(s, ast.FunctionDef) and s.name == name.id]
    is_only = len(found) == 1 and not flow.assignments(code.scope(name), name.id)
    return found[0] if is_only and not found[0].decorator_list else None


def _of_file(code: Code, name: ast.Name) -> Sequence[ast.expr | None]:
    """Return what the module assigns to a name that a function does not bind."""
    scope = code.scope(name)
    is_own = name.id in flow.parameters(scope) or flow.assignments(scope, name.id)
    return () if is_own else flow.assignments(code.tree, name.id)


def _of_class(code: Code, node: ast.expr) -> Sequence[ast.expr | None]:
    """Return what a class assigns to an attribute of its own."""
    owner = code.around(node, ast.ClassDef)
    if owner is None or not isinstance(node, ast.Attribute) or dotted(node.value) != "self":
        return ()
    return [
        part.value
        for part in parsed.walk(owner)
        if isinstance(part, ast.Assign) and any(same(target, node) for target in part.targets)
    ]


def _attribute(code: Code, node: ast.Attribute, depth: int) -> Kind:
    return Kind("float") if _LOSS.search(node.attr) else UNKNOWN


def _call(code: Code, node: ast.Call, depth: int) -> Kind:
    function = node.func
    if _is_criterion(code, node) and not code.meaning(function).startswith(_LIBRARIES):
        told = {keyword.arg for keyword in node.keywords}
        is_one = not told & {*_NOT_REDUCED, None} and _is_reduced(code, function, depth - 1)
        return Kind("float", is_one)
    if is_number(code, node):
        return Kind(scalar=True)
    if not isinstance(function, ast.Attribute):
        return _function(code, code.meaning(function), node, depth)
    meaning = code.meaning(function)
    if meaning.startswith(_LIBRARIES):
        return _function(code, meaning, node, depth)
    return _method(code, function.attr, function.value, node, depth)


def _function(code: Code, meaning: str, node: ast.Call, depth: int) -> Kind:
    """What `torch.mean(x)` and its like return: as the method, with the value first."""
    if not meaning.startswith(_LIBRARIES):
        return UNKNOWN
    name = meaning.rpartition(".")[2]
    if _LOSS.search(name) and "functional" in meaning:
        told = {keyword.arg for keyword in node.keywords}
        return Kind("float", not told & {*_NOT_REDUCED, None})
    if not node.args or isinstance(node.args[0], ast.Starred):
        return UNKNOWN
    if name in _UNLIKE:
        return UNKNOWN
    if name == "cast" and len(node.args) == 2:
        return Kind(_type(node.args[1]), infer(code, node.args[0], depth - 1).scalar)
    rest = ast.Call(node.func, node.args[1:], node.keywords)
    return _method(code, name, node.args[0], rest, depth)


def _method(code: Code, name: str, owner: ast.expr, node: ast.Call, depth: int) -> Kind:
    inner = infer(code, owner, depth - 1)
    bare = not node.args and not node.keywords
    if name in _REDUCING:
        return Kind(_reduced(_REDUCING[name], inner.number), bare)
    number = _cast_to(name, node)
    if number:
        return Kind(number, inner.scalar)
    if name in _KEEPING or name == "to":
        return inner
    if name in _COMPARING:
        sides = [inner, *(infer(code, argument, depth - 1) for argument in node.args)]
        return Kind("bool", all(side.scalar for side in sides))
    if name in _FLOATING:
        return Kind("float", inner.scalar and bare)
    return Kind(inner.number, inner.scalar and bare) if name in _SAME_SHAPE else UNKNOWN


def _cast_to(name: str, node: ast.Call) -> str:
    """Return what type a method casts to; "" for one that does not."""
    if name in {"to", "type", "astype"}:
        return _types(node)
    return "" if node.args or node.keywords else _CASTS.get(name, "")


def _reduced(how: str, number: str) -> str:
    if how == "sum":
        return "int" if number == "bool" else number
    return number if how == "same" else how


def _types(node: ast.Call) -> str:
    """Return what type a call casts to, if one of its arguments names one."""
    found = [_type(value) for value in (*node.args, *(k.value for k in node.keywords))]
    return next((number for number in found if number), "")


def _type(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else dotted(node).rpartition(".")[2]
    if not isinstance(text, str):
        return ""
    for start, number in _TYPES.items():
        if text.startswith(start):
            return number
    return ""


Rule = Callable[[Code, ast.expr, int], Kind]
_RULES: dict[type[ast.expr], Rule] = {
    ast.Constant: _constant,  # type: ignore[dict-item]
    ast.Compare: _compare,  # type: ignore[dict-item]
    ast.BinOp: _binary,  # type: ignore[dict-item]
    ast.UnaryOp: _unary,  # type: ignore[dict-item]
    ast.Name: _name,  # type: ignore[dict-item]
    ast.Attribute: _attribute,  # type: ignore[dict-item]
    ast.Subscript: _element,  # type: ignore[dict-item]
    ast.Call: _call,  # type: ignore[dict-item]
}
