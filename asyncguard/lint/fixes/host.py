"""What is plainly on the host, or plainly a tensor, by the text of a function.

Numbers of Python, and lists of anything, are on the host whatever their names; a name counts for
what all its assignments are. A parameter is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, dotted
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import words

_DEPTH = 5
_LIMITS = words("factory.limits")
_SIZES = words("host.sizes")
_LISTS = words("host.lists")
_TENSORS = words("factory.any")
_METHODS = words("method.tensor")
_COUNTING = frozenset({"range", "enumerate"})


@kept(OF_STATEMENTS)
def is_number(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a number of Python."""
    rule = _NUMBERS.get(type(node))
    return depth > 0 and rule is not None and rule(code, node, depth)


def _is_signed(code: Code, node: ast.UnaryOp, depth: int) -> bool:
    return isinstance(node.op, (ast.USub, ast.UAdd)) and is_number(code, node.operand, depth)


def _is_computed(code: Code, node: ast.BinOp, depth: int) -> bool:
    return is_number(code, node.left, depth) and is_number(code, node.right, depth)


def _is_number_by_name(code: Code, node: ast.Name, depth: int) -> bool:
    if is_counter(code, node) or _is_number_by_signature(code, node):
        return True
    return _all(is_number, code, node, depth) or _is_constant_of_file(code, node, depth)


def _is_number_by_signature(code: Code, node: ast.Name) -> bool:
    """Whether it is a parameter that says so, by its type or its default, and stays as it is."""
    scope = code.scope(node)
    if not isinstance(scope, FUNCTIONS) or flow.assignments(scope, node.id):
        return False
    given = [*scope.args.posonlyargs, *scope.args.args]
    defaults = [None] * (len(given) - len(scope.args.defaults)) + scope.args.defaults
    pairs = [*zip(given, defaults, strict=True),
             *zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)]  # fmt: skip
    for parameter, default in pairs:
        if parameter.arg == node.id:
            told = dotted(parameter.annotation) if parameter.annotation is not None else ""
            by_default = isinstance(default, ast.Constant) and _is_constant(code, default, 1)
            return told in {"int", "float"} or (not told and by_default)
    return False


def _is_constant_of_file(code: Code, node: ast.Name, depth: int) -> bool:
    """Whether a function uses a name that the module alone gives values, all of them numbers."""
    scope = code.scope(node)
    if scope is code.tree or node.id in flow.parameters(scope) or flow.assignments(scope, node.id):
        return False
    values = flow.assignments(code.tree, node.id)
    return bool(values) and all(
        value is not None and is_number(code, value, depth - 1) for value in values
    )


def is_counter(code: Code, node: ast.Name) -> bool:
    """Whether loops over `range` or `enumerate` are all that binds a name."""
    scope = code.scope(node)
    bindings = flow.assignments(scope, node.id)
    if node.id in flow.parameters(scope) or not bindings or any(v is not None for v in bindings):
        return False
    loops = [
        loop for loop in flow.walk_own(scope)
        if isinstance(loop, ast.For) and node.id in flow.bound(loop.target)
    ]  # fmt: skip
    return len(loops) == len(bindings) and all(counts(loop, node.id) for loop in loops)


def counts(loop: ast.For, name: str) -> bool:
    """Whether a loop gives a name the numbers of a range, or those that `enumerate` counts."""
    source, target = loop.iter, loop.target
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name):
        return False
    if source.func.id == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    known = source.func.id in _COUNTING
    return known and isinstance(target, ast.Name) and target.id == name


def _is_limit(code: Code, node: ast.Attribute, depth: int) -> bool:
    """Whether it is `torch.finfo(x.dtype).min` or `x.ndim`."""
    if node.attr == "ndim":
        return True
    if not isinstance(node.value, ast.Call):
        return False
    return code.meaning(node.value.func) in _LIMITS and node.attr in {"min", "max", "eps"}


def _is_size(code: Code, node: ast.Subscript, depth: int) -> bool:
    """Whether it is `x.shape[0]`."""
    is_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return is_shape and not isinstance(node.slice, ast.Slice)


def _is_counted(code: Code, node: ast.Call, depth: int) -> bool:
    """Whether it is `len(x)`, `float("inf")`, `x.size(0)` or `x.numel()`."""
    if isinstance(node.func, ast.Attribute):
        bare = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        return node.func.attr in _SIZES and bare and (node.func.attr != "size" or bool(node.args))
    if not isinstance(node.func, ast.Name) or len(node.args) != 1 or node.keywords:
        return False
    argument = node.args[0]
    if node.func.id == "len":
        return True
    if node.func.id in {"float", "int"}:
        return isinstance(argument, ast.Constant) or is_number(code, argument, depth)
    summed = node.func.id == "sum" and isinstance(argument, (ast.GeneratorExp, ast.ListComp))
    return summed and is_number(code, argument.elt, depth)  # type: ignore[attr-defined]


def _is_constant(code: Code, node: ast.Constant, depth: int) -> bool:
    return type(node.value) in (bool, int, float)


def is_list(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a list or tuple of Python, of whatever."""
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
        return True
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        if isinstance(node.op, ast.Mult):
            return any(is_list(code, side, depth) for side in sides)
        return isinstance(node.op, ast.Add) and all(is_list(code, side, depth) for side in sides)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in {"list", "tuple", "sorted", "range"}
        return isinstance(node.func, ast.Attribute) and node.func.attr in _LISTS
    if not isinstance(node, ast.Name) or not depth:
        return False
    return _all(is_list, code, node, depth)


def is_tensor(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a tensor of torch."""
    if isinstance(node, ast.Call):
        if code.meaning(node.func) in _TENSORS:
            return True
        return isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
    if not isinstance(node, ast.Name) or not depth:
        return False
    return _all(is_tensor, code, node, depth)


def _all(
    rule: Callable[[Code, ast.expr, int], bool], code: Code, node: ast.Name, depth: int
) -> bool:
    """Whether a rule holds of all that a name may stand for at its place."""
    values = given(code, node)
    return bool(values) and all(v is not None and rule(code, v, depth - 1) for v in values)


_Rule = Callable[[Code, ast.expr, int], bool]
_NUMBERS: dict[type[ast.expr], _Rule] = {
    ast.Constant: _is_constant,  # type: ignore[dict-item]
    ast.UnaryOp: _is_signed,  # type: ignore[dict-item]
    ast.BinOp: _is_computed,  # type: ignore[dict-item]
    ast.Name: _is_number_by_name,  # type: ignore[dict-item]
    ast.Attribute: _is_limit,  # type: ignore[dict-item]
    ast.Subscript: _is_size,  # type: ignore[dict-item]
    ast.Call: _is_counted,  # type: ignore[dict-item]
}
