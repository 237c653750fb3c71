"""Which operations run code that is not known: calls, iteration, and special methods of classes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from asyncguard.lint.fixes import aliases, flow, libraries, sorts
from asyncguard.lint.fixes.code import FUNCTIONS, Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.source import parsed

_UNKNOWN = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.Match,
            ast.Import, ast.ImportFrom, ast.ClassDef)  # fmt: skip
# The special methods that an operation on an object may run.
_OPERATORS: dict[type[ast.AST], frozenset[str]] = {
    ast.Subscript: frozenset({"__getitem__", "__setitem__", "__delitem__", "__class_getitem__"}),
    ast.FormattedValue: frozenset({"__str__", "__repr__", "__format__"}),
    ast.BoolOp: frozenset({"__bool__", "__len__"}),
}  # fmt: skip
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


def runs_unknown(code: Code, node: ast.AST) -> bool:
    """Whether a single node runs code that is not known."""
    if isinstance(node, _UNKNOWN):
        return True
    if isinstance(node, ast.Call):
        return not aliases.is_known(code, node) or _calls_back(code, node)
    if isinstance(node, (ast.For, ast.comprehension)):
        return not iterates_known(code, node.iter)
    if isinstance(node, ast.withitem):
        context = node.context_expr
        made = context.func if isinstance(context, ast.Call) else context
        return libraries.library_name(code, made) not in libraries.CONTEXTS
    if isinstance(node, ast.Attribute):
        return node.attr in _computed(code.tree) and _is_other(code, node.value)
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return _is_special(code, _OPERATORS[ast.BoolOp], [node.test])
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return bool(node.decorator_list)
    return _operates_on_unknown(code, node)


def _calls_back(code: Code, call: ast.Call) -> bool:
    """Whether a known call runs code of the program: hooks, or what makes an object a number."""
    if isinstance(call.func, ast.Attribute):
        if aliases.runs_graph(code, call):
            return True
        is_text = sorts.is_plain(code, call.func.value) and not libraries.library_name(
            code, call.func
        )
        return is_text and _is_special(code, _CONVERTING, call.args)
    name = libraries.builtin_name(code, call.func)
    if name in _ITERATING:
        return not all(iterates_known(code, part) for part in call.args)
    return _is_special(code, _CONVERTING, call.args)


def iterates_known(code: Code, source: ast.expr) -> bool:
    """Whether going over a value runs no code of the program: not that of a generator or loader."""
    if isinstance(source, ast.Call) and libraries.builtin_name(code, source.func) in _ITERATING:
        return all(iterates_known(code, part) for part in source.args)
    if isinstance(source, ast.GeneratorExp):
        return True  # its parts stand there themselves
    sort = sorts.sort_of(code, source)
    return bool(sort.depth) or not sort.element & sorts.OTHER


def _operates_on_unknown(code: Code, node: ast.AST) -> bool:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Compare)):
        return _is_special(code, _ARITHMETIC, [*_operands(node)])
    if isinstance(node, ast.Subscript):
        return _is_special(code, _OPERATORS[ast.Subscript], [node.value])
    if isinstance(node, ast.FormattedValue):
        return _is_special(code, _OPERATORS[ast.FormattedValue], [node.value])
    if isinstance(node, ast.BoolOp):
        return _is_special(code, _OPERATORS[ast.BoolOp], node.values)
    if isinstance(node, ast.Starred):
        return not iterates_known(code, node.value)
    return False


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    return (part for part in parsed.children(node) if isinstance(part, ast.expr))


def _is_special(code: Code, methods: frozenset[str], values: Iterable[ast.expr]) -> bool:
    """Whether an operation on values may run a special method that a class of the file defines."""
    return not methods.isdisjoint(_special(code.tree)) and any(_is_other(code, v) for v in values)


def _is_other(code: Code, node: ast.expr) -> bool:
    return bool(sorts.sort_of(code, node).element & sorts.OTHER)


@kept(OF_SCOPES)
def _special(tree: ast.Module) -> frozenset[str]:
    """Return the special methods that classes of the file define."""
    return frozenset(name for name in _members(tree) if name.startswith("__"))


@kept(OF_SCOPES)
def _computed(tree: ast.Module) -> frozenset[str]:
    """Return the attributes that classes of the file may compute: properties, by whatever name."""
    found = set()
    for owner in parsed.walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        for part in owner.body:
            if isinstance(part, FUNCTIONS) and part.decorator_list:
                found.add(part.name)
            elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
                found |= flow.bound(part)
    if {"__getattr__", "__getattribute__", "__setattr__"} & _members(tree):
        found |= {n.attr for n in parsed.walk(tree) if isinstance(n, ast.Attribute)}
    return frozenset(found)


@kept(OF_SCOPES)
def _members(tree: ast.Module) -> frozenset[str]:
    owners = (node for node in parsed.walk(tree) if isinstance(node, ast.ClassDef))
    return frozenset(name for owner in owners for part in owner.body for name in flow.bound(
        ast.Module([part], [])))  # fmt: skip
