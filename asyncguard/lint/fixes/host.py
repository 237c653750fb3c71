"""What is plainly on the host, or plainly a tensor, by the text of a function.

Numbers of Python, and lists of anything, are on the host whatever their names; a name counts for
what all its assignments are. A parameter is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    attribute,
    function,
    is_constant,
    is_name,
    method,
    name_of,
    only,
)
from asyncguard.lint.syntax.tree import dotted

_DEPTH = 5
_LIMITS = words("factory.limits")
_SIZES = words("host.sizes")
_LISTS = words("host.lists")
_TENSORS = words("factory.any")
_METHODS = words("method.tensor")
_COUNTING = frozenset({"range", "enumerate"})


@kept(OF_STATEMENTS)
def is_number(code: Code, node: Expression, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a number of Python."""
    if is_constant(node):
        return depth > 0 and nodes.is_number(node)
    rule = _NUMBERS.get(type(node))
    return depth > 0 and rule is not None and rule(code, node, depth)


def _is_signed(code: Code, node: cst.UnaryOperation, depth: int) -> bool:
    is_sign = isinstance(node.operator, (cst.Minus, cst.Plus))
    return is_sign and is_number(code, node.expression, depth)


def _is_computed(code: Code, node: cst.BinaryOperation, depth: int) -> bool:
    return is_number(code, node.left, depth) and is_number(code, node.right, depth)


def _is_number_by_name(code: Code, node: cst.Name, depth: int) -> bool:
    if is_counter(code, node) or _is_number_by_signature(code, node):
        return True
    return _all(is_number, code, node, depth) or _is_constant_of_file(code, node, depth)


def _is_number_by_signature(code: Code, node: cst.Name) -> bool:
    """Whether it is a parameter that says so, by its type or its default, and stays as it is."""
    scope = code.scope(node)
    if not isinstance(scope, cst.FunctionDef) or flow.assignments(scope, node.value):
        return False
    for parameter in nodes.parameters(scope):
        if parameter.name.value == node.value and not parameter.star:
            annotation = parameter.annotation
            told = dotted(annotation.annotation) if annotation is not None else ""
            by_default = nodes.is_number(parameter.default)
            return told in {"int", "float"} or (not told and by_default)
    return False


def _is_constant_of_file(code: Code, node: cst.Name, depth: int) -> bool:
    """Whether a function uses a name that the module alone gives values, all of them numbers."""
    scope, name = code.scope(node), node.value
    if scope is code.tree or name in flow.parameters(scope) or flow.assignments(scope, name):
        return False
    values = flow.assignments(code.tree, name)
    return bool(values) and all(
        value is not None and is_number(code, value, depth - 1) for value in values
    )


def is_counter(code: Code, node: cst.Name) -> bool:
    """Whether loops over `range` or `enumerate` are all that binds a name."""
    scope, name = code.scope(node), node.value
    bindings = flow.assignments(scope, name)
    if name in flow.parameters(scope) or not bindings or any(v is not None for v in bindings):
        return False
    loops = [
        loop for loop in flow.walk_own(scope)
        if nodes.is_for(loop) and name in flow.named_in(loop.target)
    ]  # fmt: skip
    return len(loops) == len(bindings) and all(counts(loop, name) for loop in loops)


def counts(loop: cst.For, name: str) -> bool:
    """Whether a loop gives a name the numbers of a range, or those that `enumerate` counts."""
    target: Expression = loop.target
    if function(loop.iter) == "enumerate" and isinstance(target, cst.Tuple):
        target = nodes.elements(target)[0]
    return function(loop.iter) in _COUNTING and name_of(target) == name


def _is_limit(code: Code, node: cst.Attribute, depth: int) -> bool:
    """Whether it is `torch.finfo(x.dtype).min` or `x.ndim`."""
    if attribute(node) == "ndim":
        return True
    if not isinstance(node.value, cst.Call):
        return False
    return code.meaning(node.value.func) in _LIMITS and attribute(node) in {"min", "max", "eps"}


def _is_size(code: Code, node: cst.Subscript, depth: int) -> bool:
    """Whether it is `x.shape[0]`."""
    return attribute(node.value) == "shape" and not nodes.is_slice(node)


def _is_counted(code: Code, node: cst.Call, depth: int) -> bool:
    """Whether it is `len(x)`, `float("inf")`, `x.size(0)` or `x.numel()`."""
    if name := method(node):
        bare = not nodes.keywords(node) and not nodes.has_star(node)
        return name in _SIZES and bare and (name != "size" or bool(node.args))
    argument = only(node)
    if argument is None:
        return False
    match function(node):
        case "len":
            return True
        case "float" | "int":
            return is_constant(argument) or is_number(code, argument, depth)
        case "sum" if isinstance(argument, (cst.GeneratorExp, cst.ListComp)):
            return is_number(code, argument.elt, depth)
    return False


def is_list(code: Code, node: Expression, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a list or tuple of Python, of whatever."""
    match node:
        case cst.List() | cst.Tuple() | cst.ListComp():
            return True
        case cst.BinaryOperation(operator=cst.Multiply(), left=left, right=right):
            return any(is_list(code, side, depth) for side in (left, right))
        case cst.BinaryOperation(operator=cst.Add(), left=left, right=right):
            return all(is_list(code, side, depth) for side in (left, right))
        case cst.Call():
            made = function(node) in {"list", "tuple", "sorted", "range"}
            return made or method(node) in _LISTS
    return is_name(node) and depth > 0 and _all(is_list, code, node, depth)


def is_tensor(code: Code, node: Expression, depth: int = _DEPTH) -> bool:
    """Whether an expression is plainly a tensor of torch."""
    if isinstance(node, cst.Call):
        return code.meaning(node.func) in _TENSORS or method(node) in _METHODS
    return is_name(node) and depth > 0 and _all(is_tensor, code, node, depth)


_Rule = Callable[[Code, Any, int], bool]


def _all(rule: _Rule, code: Code, node: Expression, depth: int) -> bool:
    """Whether a rule holds of all that a name may stand for at its place."""
    values = given(code, node)
    return bool(values) and all(v is not None and rule(code, v, depth - 1) for v in values)


_NUMBERS: dict[type[Any], _Rule] = {
    cst.UnaryOperation: _is_signed,
    cst.BinaryOperation: _is_computed,
    cst.Name: _is_number_by_name,
    cst.Attribute: _is_limit,
    cst.Subscript: _is_size,
    cst.Call: _is_counted,
}
