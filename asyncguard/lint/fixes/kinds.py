"""What a value is made of, as far as its expression tells: floats or integers, one or many.

A read keeps its meaning only if that is known: a count must stay an integer, and what is stacked
must have one shape. Where the code does not tell, the answer is "not known".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import pattern, table, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    Scope,
    attribute,
    constant,
    is_constant,
    is_name,
    keywords,
    method,
    name_of,
    same,
    walk,
)
from asyncguard.lint.syntax.tree import dotted


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


def infer(code: Code, node: Expression, depth: int = _DEPTH) -> Kind:
    """Return what is known of a device value by its expression."""
    rule = _constant if is_constant(node) else _RULES.get(type(node))
    return rule(code, node, depth) if rule is not None and depth else UNKNOWN


def is_mask(code: Code, node: Expression) -> bool:
    """Whether the code shows a tensor of booleans."""
    return infer(code, node).number == "bool"


def is_long(code: Code, node: Expression, depth: int = _DEPTH) -> bool:
    """Whether integers of a value have 64 bits: what was counted, summed, found or cast so."""
    if name := name_of(node):
        values = flow.assignments(code.scope(node), name)
        sure = bool(values) and name not in flow.parameters(code.scope(node)) and depth > 0
        return sure and all(v is not None and is_long(code, v, depth - 1) for v in values)
    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not is_constant(side)]
        return bool(sides) and all(is_long(code, side, depth) for side in sides)
    return isinstance(node, cst.Call) and _returns_long(code, node, depth)


def _returns_long(code: Code, node: cst.Call, depth: int) -> bool:
    if not isinstance(node.func, cst.Attribute) or "dtype" in keywords(node):
        return False
    name = method(node)
    if name in _KEEPING and not code.meaning(node.func).startswith(_LIBRARIES):
        return is_long(code, node.func.value, depth)
    return _REDUCING.get(name) in {"sum", "int"} or name == "long"


def _element(code: Code, node: cst.Subscript, depth: int) -> Kind:
    return Kind(scalar=is_number(code, node))


def _constant(code: Code, node: Expression, depth: int) -> Kind:
    value = constant(node)
    return Kind(type(value).__name__, scalar=True) if nodes.is_number(node) else UNKNOWN


def _compare(code: Code, node: cst.Comparison, depth: int) -> Kind:
    sides = [infer(code, side, depth - 1) for side in nodes.compared(node)]
    if len(sides) > 2 or issubclass(nodes.operator(node), _PLAIN):
        return UNKNOWN
    return Kind("bool", all(side.scalar for side in sides))


_PLAIN = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
_BITS = (cst.BitAnd, cst.BitOr, cst.BitXor)


def _binary(code: Code, node: cst.BinaryOperation, depth: int) -> Kind:
    left, right = infer(code, node.left, depth - 1), infer(code, node.right, depth - 1)
    scalar = left.scalar and right.scalar
    known = {left.number, right.number}
    if isinstance(node.operator, cst.Divide) or "float" in known:
        return Kind("float", scalar)
    if "" in known:
        return Kind("", scalar)
    if isinstance(node.operator, _BITS):
        return Kind("bool" if known == {"bool"} else "int", scalar)
    return Kind("int", scalar)


def _unary(code: Code, node: cst.UnaryOperation, depth: int) -> Kind:
    return UNKNOWN if nodes.is_not(node) else infer(code, node.expression, depth - 1)


def _name(code: Code, node: cst.Name, depth: int) -> Kind:
    """What all assignments of a variable agree on; a loss is what `backward` starts from."""
    return _variable(code, code.scope(node), node.value, depth)


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


def _runs_backward(scope: Scope, name: str) -> bool:
    return name in flow.losses(scope)


def _is_criterion(node: cst.Call) -> bool:
    """Whether a call computes a loss, by the name of what is called."""
    return _CRITERION.search(dotted(node.func).rpartition(".")[2]) is not None


def _is_told_otherwise(node: cst.Call) -> bool:
    """Whether a loss may be told to have a result for each sample."""
    return bool(keywords(node).keys() & {*_NOT_REDUCED, ""})


def _is_reduced(code: Code, function: Expression, depth: int) -> bool:
    """Whether what is called gives one value: a loss of torch with its own reduction, or a function
    of the file whose results are scalars.
    """
    if isinstance(function, cst.Call):
        name = code.meaning(function.func)
        is_loss = name.startswith("torch.nn.") and name.endswith("Loss")
        return is_loss and not _is_told_otherwise(function)
    if not depth:
        return False
    if not is_name(function):
        made = _of_class(code, function)
    elif (known := _defined(code, function)) is not None:
        values = [n.value for n in flow.walk_own(known) if isinstance(n, cst.Return)]
        return bool(values) and all(
            value is not None and infer(code, value, depth - 1).scalar for value in values
        )
    else:
        made = given(code, function) or _of_file(code, function)
    return bool(made) and all(
        value is not None and _is_reduced(code, value, depth - 1) for value in made
    )


def _defined(code: Code, node: Expression) -> cst.FunctionDef | None:
    """Return the one function of the file that a name stands for."""
    name = name_of(node)
    found = [s for s in code.tree.body if isinstance(s, cst.FunctionDef) and s.name.value == name]
    found = [each for each in found if each.asynchronous is None]
    is_only = len(found) == 1 and not flow.assignments(code.scope(node), name)
    return found[0] if is_only and not found[0].decorators else None


def _of_file(code: Code, node: Expression) -> Sequence[Expression | None]:
    """Return what the module assigns to a name that a function does not bind."""
    scope, name = code.scope(node), name_of(node)
    is_own = name in flow.parameters(scope) or flow.assignments(scope, name)
    return () if is_own else flow.assignments(code.tree, name)


def _of_class(code: Code, node: Expression) -> Sequence[Expression | None]:
    """Return what a class assigns to an attribute of its own."""
    owner = code.around(node, cst.ClassDef)
    if owner is None or not isinstance(node, cst.Attribute) or dotted(node.value) != "self":
        return ()
    return [
        part.value
        for part in walk(owner)
        if isinstance(part, cst.Assign) and any(same(t, node) for t in nodes.targets(part))
    ]


def _attribute(code: Code, node: cst.Attribute, depth: int) -> Kind:
    return Kind("float") if _LOSS.search(attribute(node)) else UNKNOWN


def _call(code: Code, node: cst.Call, depth: int) -> Kind:
    function = node.func
    if _is_criterion(node) and not code.meaning(function).startswith(_LIBRARIES):
        is_one = not _is_told_otherwise(node) and _is_reduced(code, function, depth - 1)
        return Kind("float", is_one)
    if is_number(code, node):
        return Kind(scalar=True)
    meaning = code.meaning(function)
    if not isinstance(function, cst.Attribute) or meaning.startswith(_LIBRARIES):
        return _function(code, meaning, node, depth)
    return _method(code, method(node), function.value, node.args, depth)


def _function(code: Code, meaning: str, node: cst.Call, depth: int) -> Kind:
    """What `torch.mean(x)` and its like return: as the method, with the value first."""
    if not meaning.startswith(_LIBRARIES):
        return UNKNOWN
    name, given = meaning.rpartition(".")[2], nodes.positional(node)
    if _LOSS.search(name) and "functional" in meaning:
        return Kind("float", not _is_told_otherwise(node))
    if not given or node.args[0].keyword is not None or node.args[0].star or name in _UNLIKE:
        return UNKNOWN
    if name == "cast" and len(given) == 2:
        return Kind(_type(given[1]), infer(code, given[0], depth - 1).scalar)
    return _method(code, name, given[0], node.args[1:], depth)


def _method(code: Code, name: str, owner: Expression, given: Sequence[cst.Arg], depth: int) -> Kind:
    inner = infer(code, owner, depth - 1)
    if name in _REDUCING:
        return Kind(_reduced(_REDUCING[name], inner.number), not given)
    number = _cast_to(name, given)
    if number:
        return Kind(number, inner.scalar)
    if name in _KEEPING or name == "to":
        return inner
    if name in _COMPARING:
        handed = (argument.value for argument in given if argument.keyword is None)
        sides = [inner, *(infer(code, value, depth - 1) for value in handed)]
        return Kind("bool", all(side.scalar for side in sides))
    if name in _FLOATING:
        return Kind("float", inner.scalar and not given)
    return Kind(inner.number, inner.scalar and not given) if name in _SAME_SHAPE else UNKNOWN


def _cast_to(name: str, given: Sequence[cst.Arg]) -> str:
    """Return what type a method casts to; "" for one that does not."""
    if name in {"to", "type", "astype"}:
        return next((number for each in given if (number := _type(each.value))), "")
    return "" if given else _CASTS.get(name, "")


def _reduced(how: str, number: str) -> str:
    if how == "sum":
        return "int" if number == "bool" else number
    return number if how == "same" else how


def _type(node: Expression) -> str:
    """Return the type that an expression names, or ""."""
    text = constant(node) if is_constant(node) else dotted(node).rpartition(".")[2]
    if not isinstance(text, str):
        return ""
    for start, number in _TYPES.items():
        if text.startswith(start):
            return number
    return ""


_RULES: dict[type[Any], Callable[..., Kind]] = {
    cst.Comparison: _compare,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Name: _name,
    cst.Attribute: _attribute,
    cst.Subscript: _element,
    cst.Call: _call,
}
