"""How statements are built."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import libcst as cst

from asyncguard.lint.names.words import MAX_NAMES
from asyncguard.lint.syntax import makers as make
from asyncguard.lint.syntax.builder import Builder, word
from asyncguard.lint.syntax.expressions import arguments, elements, parameters_of
from asyncguard.lint.syntax.patterns import case_of

_AUGMENTED: dict[type[ast.AST], cst.CSTNode] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.Div: cst.DivideAssign(), ast.FloorDiv: cst.FloorDivideAssign(),
    ast.Mod: cst.ModuloAssign(), ast.Pow: cst.PowerAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.LShift: cst.LeftShiftAssign(),
    ast.RShift: cst.RightShiftAssign(), ast.BitOr: cst.BitOrAssign(),
    ast.BitAnd: cst.BitAndAssign(), ast.BitXor: cst.BitXorAssign(),
}  # fmt: skip


def _assign_of(builder: Builder, node: ast.Assign) -> Any:
    targets = [
        make.assign_target(builder.use(builder.expression(target))) for target in node.targets
    ]
    return make.assign(targets, builder.expression(node.value))


def _aug_assign_of(builder: Builder, node: ast.AugAssign) -> Any:
    operator = _AUGMENTED[type(node.op)]
    return make.aug_assign(
        builder.expression(node.target), operator, builder.expression(node.value)
    )


def _ann_assign_of(builder: Builder, node: ast.AnnAssign) -> Any:
    annotation = make.annotation(builder.expression(node.annotation))
    target = builder.use(builder.expression(node.target))
    return make.ann_assign(target, annotation, builder.optional(node.value))


def _delete(builder: Builder, node: ast.Delete) -> Any:
    if len(node.targets) == 1:
        return make.del_(builder.expression(node.targets[0]))
    return make.del_(make.tuple_(elements(builder, node.targets)))


def _raise_of(builder: Builder, node: ast.Raise) -> Any:
    cause = None if node.cause is None else make.from_(builder.expression(node.cause))
    return make.raise_(builder.optional(node.exc), cause)


def _names(names: Sequence[str]) -> list[Any]:
    return [make.name_item(make.name(name)) for name in names]


def _import_from_of(builder: Builder, node: ast.ImportFrom) -> Any:
    module = _dotted(node.module) if node.module else None
    names = cst.ImportStar() if node.names[0].name == "*" else _aliases(node.names)
    return make.import_from(module, names, [make.DOT] * node.level)


def _aliases(names: Sequence[ast.alias]) -> list[Any]:
    return [
        make.import_alias(
            _dotted(alias.name), make.as_name(make.name(alias.asname)) if alias.asname else None
        )
        for alias in names
    ]


def _dotted(name: str) -> Any:
    first, *parts = name.split(".")
    made = make.name(first)
    for part in parts:
        made = make.attribute(made, make.name(part))
    return made


@lru_cache(MAX_NAMES)
def _numbered(number: int) -> Any:
    """Build what stands for the body of an outlined function."""
    return make.one_line([make.expr(make.integer(str(number)))])


def _function_of(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    number = builder.outlined.get((node.lineno, node.col_offset))
    if number is None:
        return builder.apart(lambda: _function_apart(builder, node))[0]
    decorators = builder.apart(lambda: _decorators(builder, node.decorator_list))[0]
    asynchronous = make.ASYNC if isinstance(node, ast.AsyncFunctionDef) else None
    body = _numbered(number)
    return make.function(word(node.name), make.NO_PARAMETERS, body, decorators, None, asynchronous)


def _function_apart(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    decorators = _decorators(builder, node.decorator_list)
    name = word(node.name)
    asynchronous = make.ASYNC if isinstance(node, ast.AsyncFunctionDef) else None
    parameters = parameters_of(builder, node.args)
    returns = None if node.returns is None else make.annotation(builder.expression(node.returns))
    body, uses = builder.apart(lambda: builder.suite(node.body))
    made = make.function(name, parameters, body, decorators, returns, asynchronous)
    builder.uses[id(made)] = uses
    return made


def _decorators(builder: Builder, nodes: Sequence[ast.expr]) -> list[Any]:
    return [make.decorator(builder.expression(node)) for node in nodes]


def _class_of(builder: Builder, node: ast.ClassDef) -> Any:
    return builder.apart(lambda: _class_apart(builder, node))[0]


def _class_apart(builder: Builder, node: ast.ClassDef) -> Any:
    decorators = _decorators(builder, node.decorator_list)
    bases = arguments(builder, node.bases, [])
    keywords = arguments(builder, [], node.keywords)
    return make.class_(make.name(node.name), builder.suite(node.body), bases, keywords, decorators)


def _if_of(builder: Builder, node: ast.If) -> Any:
    test, body = builder.expression(node.test), builder.suite(node.body)
    otherwise = node.orelse
    if len(otherwise) == 1 and isinstance(otherwise[0], ast.If):
        inner = otherwise[0]
        if inner.col_offset == node.col_offset:  # `elif`; after `else:` it would stand deeper
            made = _if_of(builder, inner)
            builder.origins[id(made)] = inner
            return make.if_(test, body, made)
    return make.if_(test, body, _else_of(builder, otherwise))


def _else_of(builder: Builder, body: Sequence[ast.stmt]) -> Any:
    return make.else_(builder.suite(body)) if body else None


def _for_of(builder: Builder, node: ast.For | ast.AsyncFor) -> Any:
    target, iterable = builder.expression(node.target), builder.expression(node.iter)
    body, otherwise = builder.suite(node.body), _else_of(builder, node.orelse)
    asynchronous = make.ASYNC if isinstance(node, ast.AsyncFor) else None
    return make.for_(target, iterable, body, otherwise, asynchronous)


def _while_of(builder: Builder, node: ast.While) -> Any:
    test, body = builder.expression(node.test), builder.suite(node.body)
    return make.while_(test, body, _else_of(builder, node.orelse))


def _with_of(builder: Builder, node: ast.With | ast.AsyncWith) -> Any:
    items = [
        make.with_item(
            builder.expression(item.context_expr),
            None
            if item.optional_vars is None
            else make.as_name(builder.expression(item.optional_vars)),
        )
        for item in node.items
    ]
    asynchronous = make.ASYNC if isinstance(node, ast.AsyncWith) else None
    return make.with_(items, builder.suite(node.body), asynchronous)


def _try_of(builder: Builder, node: Any) -> Any:
    starred = not isinstance(node, ast.Try)  # `except*`, from Python 3.11 on
    body = builder.suite(node.body)
    handlers = [
        (make.except_star if starred else make.except_)(
            builder.suite(handler.body),
            builder.optional(handler.type),
            make.as_name(make.name(handler.name)) if handler.name else None,
        )
        for handler in node.handlers
    ]
    otherwise = _else_of(builder, node.orelse)
    finally_ = make.finally_(builder.suite(node.finalbody)) if node.finalbody else None
    return (make.try_star if starred else make.try_)(body, handlers, otherwise, finally_)


SIMPLE: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.Expr: lambda builder, node: make.expr(builder.expression(node.value)),
    ast.Assign: _assign_of,
    ast.AugAssign: _aug_assign_of,
    ast.AnnAssign: _ann_assign_of,
    ast.Return: lambda builder, node: make.return_(builder.optional(node.value)),
    ast.Delete: _delete,
    ast.Raise: _raise_of,
    ast.Assert: lambda builder, node: make.assertion(
        builder.expression(node.test), builder.optional(node.msg)
    ),
    ast.Pass: lambda builder, node: make.pass_(),
    ast.Break: lambda builder, node: make.break_(),
    ast.Continue: lambda builder, node: make.continue_(),
    ast.Global: lambda builder, node: make.global_(_names(node.names)),
    ast.Nonlocal: lambda builder, node: make.nonlocal_(_names(node.names)),
    ast.Import: lambda builder, node: make.import_(_aliases(node.names)),
    ast.ImportFrom: _import_from_of,
}
COMPOUND: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.FunctionDef: _function_of,
    ast.AsyncFunctionDef: _function_of,
    ast.ClassDef: _class_of,
    ast.If: _if_of,
    ast.For: _for_of,
    ast.AsyncFor: _for_of,
    ast.While: _while_of,
    ast.With: _with_of,
    ast.AsyncWith: _with_of,
    ast.Try: _try_of,
    ast.Match: lambda builder, node: make.match(
        builder.expression(node.subject), [case_of(builder, case) for case in node.cases]
    ),
}
if sys.version_info >= (3, 11):
    COMPOUND[ast.TryStar] = _try_of
if sys.version_info >= (3, 12):
    SIMPLE[ast.TypeAlias] = lambda builder, node: make.type_alias(
        builder.expression(node.name), builder.expression(node.value)
    )
