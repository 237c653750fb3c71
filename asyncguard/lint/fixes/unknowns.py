"""Which operations run code that is not known: calls, iteration, and special methods of classes."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from asyncguard.lint.fixes import aliases, flow, lattice, libraries, sorts
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import Expression, attribute, positional, walk

_UNKNOWN = (cst.Await, cst.Yield, cst.Match, cst.Import, cst.ImportFrom, cst.ClassDef)
# The special methods that an operation on an object may run.
_ITEMS = frozenset({"__getitem__", "__setitem__", "__delitem__", "__class_getitem__"})
_TEXTS = frozenset({"__str__", "__repr__", "__format__"})
_TRUTHS = frozenset({"__bool__", "__len__"})
_ARITHMETIC = frozenset(
    f"__{prefix}{name}__"
    for prefix in ("", "r", "i")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
                 "xor", "lshift", "rshift")
) | {"__neg__", "__pos__", "__invert__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
     "__contains__", "__array_ufunc__", "__torch_function__", "__bool__", "__len__"}  # fmt: skip
_CONVERTING = frozenset({"__str__", "__repr__", "__format__", "__len__", "__int__", "__float__",
                         "__index__", "__bool__", "__round__", "__abs__", "__hash__",
                         "__torch_function__", "__array__"})  # fmt: skip
_ITERATING = frozenset({"list", "tuple", "sorted", "reversed", "set", "iter", "enumerate", "zip",
                        "sum", "max", "min", "any", "all"})  # fmt: skip


def runs_unknown(code: Code, node: cst.CSTNode) -> bool:
    """Whether a single node runs code that is not known."""
    match node:
        case cst.For() | cst.With() if node.asynchronous is not None:
            return True
        case cst.Call():
            return not aliases.is_known(code, node) or _calls_back(code, node)
        case cst.For(iter=source) | cst.CompFor(iter=source):
            return not iterates_known(code, source)
        case cst.WithItem(item=context):
            made = context.func if isinstance(context, cst.Call) else context
            return libraries.library_name(code, made) not in libraries.CONTEXTS
        case cst.Attribute(value=owner):
            return attribute(node) in _computed(code.tree) and _is_other(code, owner)
        case cst.If(test=test) | cst.While(test=test) | cst.IfExp(test=test):
            return _is_special(code, _TRUTHS, [test])
        case cst.Assert(test=test):
            return _is_special(code, _TRUTHS, [test])
        case cst.FunctionDef(decorators=decorators):
            return bool(decorators)
    return isinstance(node, _UNKNOWN) or _operates_on_unknown(code, node)


def _calls_back(code: Code, call: cst.Call) -> bool:
    """Whether a known call runs code of the program: hooks, or what makes an object a number."""
    given = positional(call)
    if isinstance(call.func, cst.Attribute):
        if aliases.runs_graph(code, call):
            return True
        is_text = sorts.is_plain(code, call.func.value) and not libraries.library_name(
            code, call.func
        )
        return is_text and _is_special(code, _CONVERTING, given)
    name = libraries.builtin_name(code, call.func)
    if name in _ITERATING:
        return not all(iterates_known(code, part) for part in given)
    return _is_special(code, _CONVERTING, given)


def iterates_known(code: Code, source: Expression) -> bool:
    """Whether going over a value runs no code of the program: not that of a generator or loader."""
    if isinstance(source, cst.Call) and libraries.builtin_name(code, source.func) in _ITERATING:
        return all(iterates_known(code, part) for part in positional(source))
    if isinstance(source, cst.GeneratorExp):
        return True  # its parts stand there themselves
    sort = sorts.sort_of(code, source)
    return bool(sort.depth) or not sort.element & lattice.OTHER


def _operates_on_unknown(code: Code, node: cst.CSTNode) -> bool:
    match node:
        case cst.BinaryOperation(left=left, right=right):
            return _is_special(code, _ARITHMETIC, [left, right])
        case cst.AugAssign(target=left, value=right):
            return _is_special(code, _ARITHMETIC, [left, right])
        case cst.UnaryOperation(expression=operand):
            return _is_special(code, _ARITHMETIC, [operand])
        case cst.Comparison():
            return _is_special(code, _ARITHMETIC, nodes.compared(node))
        case cst.Subscript(value=owner):
            return _is_special(code, _ITEMS, [owner])
        case cst.FormattedStringExpression(expression=value):
            return _is_special(code, _TEXTS, [value])
        case cst.BooleanOperation(left=left, right=right):
            return _is_special(code, _TRUTHS, [left, right])
        case cst.StarredElement(value=value) | cst.Arg(star="*", value=value):
            return not iterates_known(code, value)
    return False


def _is_special(code: Code, methods: frozenset[str], values: Iterable[Expression]) -> bool:
    """Whether an operation on values may run a special method that a class of the file defines."""
    return not methods.isdisjoint(_special(code.tree)) and any(_is_other(code, v) for v in values)


def _is_other(code: Code, node: Expression) -> bool:
    return bool(sorts.sort_of(code, node).element & lattice.OTHER)


@kept(OF_SCOPES)
def _special(tree: cst.Module) -> frozenset[str]:
    """Return the special methods that classes of the file define."""
    return frozenset(name for name in _members(tree) if name.startswith("__"))


@kept(OF_SCOPES)
def _computed(tree: cst.Module) -> frozenset[str]:
    """Return the attributes that classes of the file may compute: properties, by whatever name."""
    found = set()
    for owner in walk(tree):
        if not isinstance(owner, cst.ClassDef):
            continue
        for part in nodes.body(owner):
            if isinstance(part, cst.FunctionDef) and part.decorators:
                found.add(part.name.value)
            elif isinstance(part, cst.Assign) and isinstance(part.value, cst.Call):
                found |= flow.bound(part)
    if {"__getattr__", "__getattribute__", "__setattr__"} & _members(tree):
        found |= {attribute(n) for n in walk(tree) if isinstance(n, cst.Attribute)}
    return frozenset(found)


@kept(OF_SCOPES)
def _members(tree: cst.Module) -> frozenset[str]:
    owners = (node for node in walk(tree) if isinstance(node, cst.ClassDef))
    return frozenset(name for owner in owners for name in flow.bound(owner.body))
