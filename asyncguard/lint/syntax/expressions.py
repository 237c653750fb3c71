"""How expressions are built."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from asyncguard.lint.source import parsed
from asyncguard.lint.syntax import makers as make
from asyncguard.lint.syntax.builder import Builder, word
from asyncguard.lint.syntax.signatures import parameters

_OPERATORS: dict[type[ast.AST], cst.CSTNode] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.Div: cst.Divide(),
    ast.FloorDiv: cst.FloorDivide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(),
    ast.MatMult: cst.MatrixMultiply(), ast.LShift: cst.LeftShift(), ast.RShift: cst.RightShift(),
    ast.BitOr: cst.BitOr(), ast.BitAnd: cst.BitAnd(), ast.BitXor: cst.BitXor(),
    ast.And: cst.And(), ast.Or: cst.Or(),
    ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert(),
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(), ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(), ast.IsNot: cst.IsNot(), ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}  # fmt: skip


def _constant(builder: Builder, node: ast.Constant) -> Any:
    value = node.value
    if value is None or value is True or value is False:
        return make.name(repr(value))
    if isinstance(value, (str, bytes)):
        return make.string(repr(value))
    if isinstance(value, int):
        return make.integer(str(value) if value.bit_length() < 64 else hex(value))
    if isinstance(value, float):
        return make.float_(repr(value).replace("inf", "1e999"))
    return make.ellipsis() if value is Ellipsis else make.imaginary(f"{value.imag}j")


def f_string(builder: Builder, node: ast.JoinedStr) -> Any:
    return make.formatted([_part(builder, part) for part in node.values])


def _part(builder: Builder, node: Any) -> Any:
    if isinstance(node, ast.Constant):
        return make.formatted_text(node.value)
    spec = node.format_spec
    parts = None if spec is None else [_part(builder, part) for part in spec.values]
    conversion = chr(node.conversion) if node.conversion > 0 else None
    return make.formatted_value(builder.expression(node.value), conversion, parts)


def _attribute_of(builder: Builder, node: ast.Attribute) -> Any:
    return make.attribute(builder.expression(node.value), word(node.attr))


def _call_of(builder: Builder, node: ast.Call) -> Any:
    given = arguments(builder, node.args, node.keywords)
    return builder.use(make.call(builder.expression(node.func), given))


def arguments(
    builder: Builder, values: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> list[Any]:
    """Build arguments, in the order of the source."""
    made = []
    for value in values:
        if type(value) is ast.Starred:
            argument = make.arg(builder.expression(value.value), None, "*")
        else:
            argument = make.arg(builder.expression(value), None, "")
        builder.origins[id(argument)] = value
        made.append(argument)
    for keyword in keywords:
        name = None if keyword.arg is None else word(keyword.arg)
        argument = make.arg(builder.expression(keyword.value), name, "**" if name is None else "")
        builder.origins[id(argument)] = keyword
        made.append(argument)
    if keywords and values and _begins(values[-1]) > _begins(keywords[0]):  # f(a=1, *b)
        parts: list[Any] = [*values, *keywords]
        order = sorted(range(len(parts)), key=lambda index: _begins(parts[index]))
        made = [made[index] for index in order]
    return made


def _begins(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _subscript_of(builder: Builder, node: ast.Subscript) -> Any:
    inner = node.slice
    keys = inner.elts if isinstance(inner, ast.Tuple) and inner.elts else [inner]
    slices = [make.subscript_element(_key(builder, key)) for key in keys]
    return make.subscript(builder.expression(node.value), slices)


def _key(builder: Builder, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        parts = (builder.optional(part) for part in (node.lower, node.upper, node.step))
        return make.slice_(*parts)
    if isinstance(node, ast.Starred):
        return make.index(builder.expression(node.value), "*")
    return make.index(builder.expression(node), None)


def elements(builder: Builder, nodes: Sequence[ast.expr]) -> list[Any]:
    return [
        make.starred_element(builder.expression(node.value))
        if isinstance(node, ast.Starred)
        else make.element(builder.expression(node))
        for node in nodes
    ]


def _dict_of(builder: Builder, node: ast.Dict) -> Any:
    return make.dict_(
        [
            make.starred_dict_element(builder.expression(value))
            if key is None
            else make.dict_element(builder.expression(key), builder.expression(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    )


def _binary_of(builder: Builder, node: ast.BinOp) -> Any:
    operator = _OPERATORS[type(node.op)]
    return make.binary(builder.expression(node.left), operator, builder.expression(node.right))


def _boolean_of(builder: Builder, node: ast.BoolOp) -> Any:
    """`a and b and c` is `(a and b) and c`."""
    operator = _OPERATORS[type(node.op)]
    first, *others = node.values
    made = builder.expression(first)
    for other in others:
        made = make.boolean(made, operator, builder.expression(other))
        if other is not others[-1]:
            builder.origins[id(made)] = first, other
    return made


def _unary_of(builder: Builder, node: ast.UnaryOp) -> Any:
    return make.unary(_OPERATORS[type(node.op)], builder.expression(node.operand))


def _comparison_of(builder: Builder, node: ast.Compare) -> Any:
    targets = [
        make.comparison_target(_OPERATORS[type(operator)], builder.expression(other))
        for operator, other in zip(node.ops, node.comparators, strict=True)
    ]
    return make.comparison(builder.expression(node.left), targets)


def _comprehension(builder: Builder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    comprehend = make.comprehensions[type(node)]
    return builder.within(
        _targets(node.generators),
        lambda: comprehend(builder.expression(node.elt), _clauses(builder, node.generators)),
    )


def _dict_comprehension_of(builder: Builder, node: ast.DictComp) -> Any:
    return builder.within(
        _targets(node.generators),
        lambda: make.dict_comprehension(
            builder.expression(node.key),
            builder.expression(node.value),
            _clauses(builder, node.generators),
        ),
    )


def _targets(generators: Sequence[ast.comprehension]) -> frozenset[str]:
    parts = (part for clause in generators for part in parsed.walk(clause.target))
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


def _clauses(builder: Builder, generators: Sequence[ast.comprehension]) -> Any:
    made = None
    for clause in reversed(generators):
        conditions = [make.condition(builder.expression(test)) for test in clause.ifs]
        target, iterable = builder.expression(clause.target), builder.expression(clause.iter)
        made = make.for_in(
            target, iterable, conditions, made, make.ASYNC if clause.is_async else None
        )
    return made


def parameters_of(builder: Builder, node: ast.arguments) -> Any:
    if not (node.args or node.posonlyargs or node.kwonlyargs or node.vararg or node.kwarg):
        return make.NO_PARAMETERS
    positional = [*node.posonlyargs, *node.args]
    missing = [None] * (len(positional) - len(node.defaults))
    made = [
        _parameter_of(builder, argument, default)
        for argument, default in zip(positional, [*missing, *node.defaults], strict=True)
    ]
    keyword_only = [
        _parameter_of(builder, argument, default)
        for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
    ]
    if node.vararg is not None:
        star: Any = _parameter_of(builder, node.vararg, None, "*")
    else:
        star = cst.ParamStar() if keyword_only else cst.MaybeSentinel.DEFAULT
    double = None if node.kwarg is None else _parameter_of(builder, node.kwarg, None, "**")
    split = len(node.posonlyargs)
    return make.parameters(made[split:], star, keyword_only, double, made[:split])


def _parameter_of(builder: Builder, node: ast.arg, default: ast.expr | None, star: str = "") -> Any:
    annotation = (
        None if node.annotation is None else make.annotation(builder.expression(node.annotation))
    )
    return make.parameter(word(node.arg), annotation, builder.optional(default), star)


def _lambda_of(builder: Builder, node: ast.Lambda) -> Any:
    made, uses = builder.apart(
        lambda: make.lambda_(parameters_of(builder, node.args), builder.expression(node.body))
    )
    builder.uses[id(made)] = uses
    builder.take(uses, frozenset(parameter.arg for parameter in parameters(node.args)))
    return made


EXPRESSIONS: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.Constant: _constant,
    ast.Attribute: _attribute_of,
    ast.Call: _call_of,
    ast.Subscript: _subscript_of,
    ast.Tuple: lambda builder, node: make.tuple_(elements(builder, node.elts)),
    ast.List: lambda builder, node: make.list_(elements(builder, node.elts)),
    ast.Set: lambda builder, node: make.set_(elements(builder, node.elts)),
    ast.Dict: _dict_of,
    ast.BinOp: _binary_of,
    ast.BoolOp: _boolean_of,
    ast.UnaryOp: _unary_of,
    ast.Compare: _comparison_of,
    ast.IfExp: lambda builder, node: make.if_expression(
        builder.expression(node.test),
        builder.expression(node.body),
        builder.expression(node.orelse),
    ),
    ast.JoinedStr: f_string,
    ast.Lambda: _lambda_of,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension_of,
    ast.NamedExpr: lambda builder, node: make.named_expression(
        builder.expression(node.target), builder.expression(node.value)
    ),
    ast.Await: lambda builder, node: make.await_(builder.expression(node.value)),
    ast.Yield: lambda builder, node: make.yield_(builder.optional(node.value)),
    ast.YieldFrom: lambda builder, node: make.yield_(make.from_(builder.expression(node.value))),
}
if sys.version_info >= (3, 14):
    EXPRESSIONS[ast.TemplateStr] = f_string
