"""libcst's nodes as code that rewrites programs asks about them: arguments, operands, targets.

Statements are what Python calls so: `x = 1` and `if x: ...`, but not the line around `x = 1`.
Wrappers (`Arg`, `Element`, `Index`) are seen through.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import libcst as cst
from libcst import MaybeSentinel

from asyncguard.lint.syntax.tree import suite, text_of, walk_expressions

Expression: TypeAlias = cst.BaseExpression
Statement: TypeAlias = cst.BaseSmallStatement | cst.BaseCompoundStatement
Loop: TypeAlias = cst.For | cst.While
Scope: TypeAlias = cst.Module | cst.FunctionDef | cst.ClassDef | cst.Lambda
STATEMENTS = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
LOOPS = (cst.For, cst.While)
SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
LISTS = (cst.Tuple, cst.List)
TRIES = (cst.Try, cst.TryStar)
_WORDS = frozenset({"None", "True", "False"})
_CONSTANTS = {"None": None, "True": True, "False": False}


class _NoConstant:
    """Stands for the value of what is no constant."""

    def __repr__(self) -> str:
        return "no constant"


NO_CONSTANT: Any = _NoConstant()
_CONSTANT = frozenset({cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString,
                       cst.ConcatenatedString, cst.Ellipsis})  # fmt: skip


def constant(node: cst.CSTNode | None) -> Any:
    """Return the number, text, truth value, None or `...` that a node is; else NO_CONSTANT."""
    if type(node) not in _CONSTANT:  # `isinstance` is slow for libcst's classes
        return NO_CONSTANT
    match node:
        case cst.Name(value="None" | "True" | "False" as word):
            return _CONSTANTS[word]
        case cst.Integer() | cst.Float() | cst.Imaginary():
            return node.evaluated_value
        case cst.SimpleString() | cst.ConcatenatedString():
            return _text(node)
        case cst.Ellipsis():
            return ...
    return NO_CONSTANT


def _text(node: cst.SimpleString | cst.ConcatenatedString) -> Any:
    text = text_of(node)
    if text is not None:
        return text
    try:
        value = node.evaluated_value
    except (ValueError, SyntaxError):
        return NO_CONSTANT
    return NO_CONSTANT if value is None else value  # bytes


def is_constant(node: cst.CSTNode | None) -> bool:
    """Whether a node is a number, a text, a truth value, None or `...`."""
    return constant(node) is not NO_CONSTANT


def is_text(node: cst.CSTNode | None) -> bool:
    """Whether a node is a text, not one that is filled in."""
    return isinstance(constant(node), str)


def is_number(node: cst.CSTNode | None) -> bool:
    """Whether a node is a number or a truth value."""
    return type(constant(node)) in (bool, int, float)


def integer(node: cst.CSTNode | None) -> int | None:
    """Return the integer that a node is; no truth value counts as one."""
    value = constant(node)
    return value if type(value) is int else None


def is_name(node: cst.CSTNode | None) -> bool:
    """Whether a node is a variable: not `None`, `True` or `False`."""
    return type(node) is cst.Name and node.value not in _WORDS


def name_of(node: cst.CSTNode | None) -> str:
    """Return the name of a variable; "" of anything else."""
    return node.value if type(node) is cst.Name and node.value not in _WORDS else ""


def attribute(node: cst.CSTNode | None) -> str:
    """Return `f` of `x.f`; "" of anything else."""
    return node.attr.value if type(node) is cst.Attribute else ""


def method(node: cst.CSTNode | None) -> str:
    """Return `f` of a call `x.f(...)`; "" of anything else."""
    return attribute(node.func) if type(node) is cst.Call else ""


def function(node: cst.CSTNode | None) -> str:
    """Return `f` of a call `f(...)` of a plain name; "" of anything else."""
    return name_of(node.func) if type(node) is cst.Call else ""


def called(node: cst.CSTNode | None) -> str:
    """Return the last name of what is called: `f` of `f(...)` and of `x.f(...)`, or ""."""
    return method(node) or function(node)


# ---- arguments


def positional(call: cst.Call) -> list[Any]:
    """Return the arguments by position; `*rest` as its `Arg`, which is no expression."""
    return [_argument(a) for a in call.args if a.keyword is None and a.star != "**"]


def _argument(argument: cst.Arg) -> Any:
    return argument if argument.star == "*" else argument.value


def has_star(call: cst.Call) -> bool:
    """Whether a call unpacks arguments by position: `f(*rest)`."""
    return any(argument.star == "*" for argument in call.args)


def keywords(call: cst.Call) -> dict[str, Expression]:
    """Return the arguments by keyword; that of "" is unpacked: `f(**rest)`."""
    return {
        a.keyword.value if a.keyword is not None else "": a.value
        for a in call.args
        if a.keyword is not None or a.star == "**"
    }


def keyword(call: cst.Call, name: str) -> Expression | None:
    """Return the argument of a keyword."""
    return keywords(call).get(name)


def given(call: cst.Call) -> list[Any]:
    """Return all arguments, by position and by keyword; `*rest` as its `Arg`."""
    return [*map(_argument, call.args)]


def only(call: cst.Call) -> Expression | None:
    """Return the argument of a call that has just one, by position."""
    if len(call.args) != 1 or call.args[0].keyword is not None or call.args[0].star:
        return None
    return call.args[0].value


# ---- parts of expressions


def elements(node: cst.CSTNode | None) -> list[Expression]:
    """Return what a tuple, list or set holds; `*rest` as its `StarredElement`."""
    if not isinstance(node, (cst.Tuple, cst.List, cst.Set)):
        return []
    return [e if isinstance(e, cst.StarredElement) else e.value for e in node.elements]


def indices(node: cst.Subscript) -> list[Any]:
    """Return the indices and slices in the brackets, one a dimension; `*rest` as its `Index`.

    A tuple that is written with its parentheses counts as one.
    """
    parts: list[Any] = [element.slice for element in node.slice]
    return [p.value if isinstance(p, cst.Index) and not p.star else p for p in parts]


def index(node: cst.Subscript) -> Expression | None:
    """Return what is in the brackets if that is one index."""
    found = _only_one(node)
    return found.value if isinstance(found, cst.Index) and not found.star else None


def is_slice(node: cst.Subscript) -> bool:
    """Whether it takes one stretch: `x[1:3]`."""
    return isinstance(_only_one(node), cst.Slice)


def _only_one(node: cst.Subscript) -> cst.BaseSlice | None:
    """Return the only thing in the brackets, with no comma behind it."""
    first = node.slice[0]
    return first.slice if len(node.slice) == 1 and first.comma is MaybeSentinel.DEFAULT else None


def operands(node: cst.BooleanOperation) -> list[Expression]:
    """Return a, b and c of `a and b and c`."""
    left, kind = node.left, type(node.operator)
    if type(left) is cst.BooleanOperation and not left.lpar and type(left.operator) is kind:
        return [*operands(left), node.right]
    return [left, node.right]


def is_and(node: cst.CSTNode | None) -> bool:
    """Whether it is `a and b`."""
    return isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And)


def is_not(node: cst.CSTNode | None) -> bool:
    """Whether it is `not a`."""
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)


def compared(node: cst.Comparison) -> list[Expression]:
    """Return all that a comparison compares, from left to right."""
    return [node.left, *(target.comparator for target in node.comparisons)]


def operator(node: cst.Comparison) -> type[cst.BaseCompOp]:
    """Return the kind of the first operator of a comparison."""
    return type(node.comparisons[0].operator)


def clauses(node: cst.BaseComp) -> list[cst.CompFor]:
    """Return the `for` clauses of a comprehension, from left to right."""
    found = [node.for_in]
    while (inner := found[-1].inner_for_in) is not None:
        found.append(inner)
    return found


def parameters(scope: cst.CSTNode) -> list[cst.Param]:
    """Return what a function or lambda takes, `*rest` and `**rest` behind the others."""
    if not isinstance(scope, (cst.FunctionDef, cst.Lambda)):
        return []
    taken = scope.params
    starred = (taken.star_arg, taken.star_kwarg)
    rest = [part for part in starred if isinstance(part, cst.Param)]
    return [*taken.posonly_params, *taken.params, *taken.kwonly_params, *rest]


def root(node: cst.CSTNode) -> str:
    """Return `x` of `x.a[0].b()`, or ""."""
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call, cst.StarredElement)):
        node = node.func if isinstance(node, cst.Call) else node.value
    return name_of(node)


# ---- statements


def is_for(node: object) -> TypeGuard[cst.For]:
    """Whether it is a loop over what is there, not `async for`."""
    return isinstance(node, cst.For) and node.asynchronous is None


def body(node: Any) -> Sequence[Any]:
    """Return the statements in a module, or in the block of a compound statement or clause."""
    return suite(node) if isinstance(node, cst.Module) else suite(node.body)


def otherwise(node: Any) -> Sequence[Any]:
    """Return the statements of `else`; an `elif` is an `if` in there."""
    clause = getattr(node, "orelse", None)
    if clause is None or isinstance(clause, Expression):
        return []
    return [clause] if isinstance(clause, cst.If) else body(clause)


def blocks(node: cst.CSTNode) -> Iterator[Sequence[Any]]:
    """Yield the lists of statements right in a statement or a module."""
    if isinstance(node, cst.Module | cst.BaseCompoundStatement) and not isinstance(node, cst.Match):
        yield body(node)
    yield otherwise(node)
    for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield body(clause)
    if isinstance(node, TRIES) and node.finalbody is not None:
        yield body(node.finalbody)


def targets(node: cst.CSTNode) -> list[Expression]:
    """Return what a plain assignment assigns to: of `a = b = c`, both."""
    if type(node) is cst.Assign:
        return [each.target for each in node.targets]
    if type(node) is cst.AnnAssign or type(node) is cst.NamedExpr:
        return [node.target] if node.value is not None else []
    return []


_BINDING = frozenset({cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For,
                      cst.CompFor, cst.Del, cst.WithItem})  # fmt: skip


def bound_by(node: cst.CSTNode) -> Iterator[Expression]:
    """Yield the names, attributes and items that a single node binds or deletes."""
    if type(node) not in _BINDING:
        return
    match node:
        case cst.Assign(targets=found):
            for each in found:
                yield from unpacked(each.target)
        case (
            cst.AnnAssign(target=target)
            | cst.AugAssign(target=target)
            | cst.NamedExpr(target=target)
            | cst.For(target=target)
            | cst.CompFor(target=target)
            | cst.Del(target=target)
        ):
            yield from unpacked(target)
        case cst.WithItem(asname=cst.AsName(name=name)):
            yield from unpacked(name)


def unpacked(target: cst.CSTNode) -> Iterator[Any]:
    """Yield the names, attributes and items in a target."""
    if isinstance(target, LISTS):
        for each in target.elements:
            yield from unpacked(each.value)
    elif isinstance(target, (cst.StarredElement, cst.Element)):
        yield from unpacked(target.value)
    else:
        yield target


def declared(node: cst.CSTNode) -> list[str]:
    """Return the names that a `global` or `nonlocal` statement declares."""
    if type(node) is cst.Global or type(node) is cst.Nonlocal:
        return [item.name.value for item in node.names]
    return []


_NAMING = frozenset({cst.Import, cst.ImportFrom, cst.ExceptHandler, cst.ExceptStarHandler,
                     cst.MatchAs, cst.MatchStar, cst.MatchMapping})  # fmt: skip


def named_otherwise(node: cst.CSTNode) -> list[str]:
    """Return the names that `import`, `except ... as` or a pattern binds by itself."""
    if type(node) not in _NAMING:
        return []
    match node:
        case cst.Import(names=found) | cst.ImportFrom(names=[*found]):
            return [alias.evaluated_alias or alias.evaluated_name.partition(".")[0]
                    for alias in found]  # fmt: skip
        case (
            cst.ExceptHandler(name=cst.AsName(name=cst.Name(value=name)))
            | cst.ExceptStarHandler(name=cst.AsName(name=cst.Name(value=name)))
            | cst.MatchAs(name=cst.Name(value=name))
            | cst.MatchStar(name=cst.Name(value=name))
            | cst.MatchMapping(rest=cst.Name(value=name))
        ):
            return [name]
    return []


# A node and all below it, the outer before the inner. Names that are no expressions are left out:
# attributes, keywords, parameters, imported names.
walk = walk_expressions


# ---- how code reads


def written(node: Any) -> str:
    """Return a text that two pieces of code share if they read the same, spaces aside."""
    if isinstance(node, (list, tuple)):
        return f"[{','.join(map(written, node))}]"
    if not isinstance(node, cst.CSTNode):
        return node if isinstance(node, str) else ""
    value = constant(node)
    if value is not NO_CONSTANT:
        return f"={value!r}"
    if isinstance(node, cst.Name):
        return node.value
    parts = (written(getattr(node, name)) for name in _telling(type(node)))
    return f"{type(node).__name__}({','.join(parts)})"


_SILENT = ("whitespace", "leading", "lines_after", "header", "footer", "lpar", "rpar", "comma",
           "semicolon", "dot", "equal", "trailing", "lbracket", "rbracket", "lbrace", "rbrace",
           "separator", "colon", "first_colon", "second_colon", "start", "end")  # fmt: skip


@cache
def _telling(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a kind of node that are more than spaces and marks."""
    return tuple(f.name for f in dataclasses.fields(kind) if not f.name.startswith(_SILENT))


def same(left: cst.CSTNode, right: cst.CSTNode) -> bool:
    """Whether two pieces of code read the same."""
    return type(left) is type(right) and written(left) == written(right)
