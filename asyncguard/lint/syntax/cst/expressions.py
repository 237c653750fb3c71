"""Expressions, and the parts that they are made of."""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard.lint.syntax.cst.base import BaseExpression, BaseSlice, CSTNode
from asyncguard.lint.syntax.cst.operators import (
    Asynchronous,
    BaseBinaryOp,
    BaseBooleanOp,
    BaseCompOp,
    BaseUnaryOp,
    ParamStar,
)


class Name(BaseExpression):
    value: str


class Integer(BaseExpression):
    value: str

    @property
    def evaluated_value(self) -> int:
        """The number that it stands for."""
        return int(self.value, 0)


class Float(BaseExpression):
    value: str


class Imaginary(BaseExpression):
    value: str


class SimpleString(BaseExpression):
    value: str

    @property
    def raw_value(self) -> str:
        """What stands between the quotes."""
        return self.value.lstrip("b")[1:-1]


class Ellipsis(BaseExpression):
    pass


class FormattedString(BaseExpression):
    parts: Sequence[CSTNode]


class FormattedStringText(CSTNode):
    value: str


class FormattedStringExpression(CSTNode):
    expression: BaseExpression
    conversion: str | None
    format_spec: Sequence[CSTNode] | None


class Attribute(BaseExpression):
    value: BaseExpression
    attr: Name


class Call(BaseExpression):
    func: BaseExpression
    args: Sequence[Arg]


class Arg(CSTNode):
    value: BaseExpression
    keyword: Name | None
    star: str


class Subscript(BaseExpression):
    value: BaseExpression
    slice: Sequence[SubscriptElement]


class SubscriptElement(CSTNode):
    slice: BaseSlice


class Index(BaseSlice):
    value: BaseExpression
    star: str | None


class Slice(BaseSlice):
    lower: BaseExpression | None
    upper: BaseExpression | None
    step: BaseExpression | None


class Tuple(BaseExpression):
    elements: Sequence[Element | StarredElement]


class List(BaseExpression):
    elements: Sequence[Element | StarredElement]


class Set(BaseExpression):
    elements: Sequence[Element | StarredElement]


class Element(CSTNode):
    value: BaseExpression


class StarredElement(CSTNode):
    value: BaseExpression


class Dict(BaseExpression):
    elements: Sequence[DictElement | StarredDictElement]


class DictElement(CSTNode):
    key: BaseExpression
    value: BaseExpression


class StarredDictElement(CSTNode):
    value: BaseExpression


class BinaryOperation(BaseExpression):
    left: BaseExpression
    operator: BaseBinaryOp
    right: BaseExpression


class BooleanOperation(BaseExpression):
    left: BaseExpression
    operator: BaseBooleanOp
    right: BaseExpression


class UnaryOperation(BaseExpression):
    operator: BaseUnaryOp
    expression: BaseExpression


class Comparison(BaseExpression):
    left: BaseExpression
    comparisons: Sequence[ComparisonTarget]


class ComparisonTarget(CSTNode):
    operator: BaseCompOp
    comparator: BaseExpression


class IfExp(BaseExpression):
    test: BaseExpression
    body: BaseExpression
    orelse: BaseExpression


class NamedExpr(BaseExpression):
    target: BaseExpression
    value: BaseExpression


class Lambda(BaseExpression):
    params: Parameters
    body: BaseExpression


class Await(BaseExpression):
    expression: BaseExpression


class Yield(BaseExpression):
    value: BaseExpression | From | None


class From(CSTNode):
    item: BaseExpression


class ListComp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


class SetComp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


class GeneratorExp(BaseExpression):
    elt: BaseExpression
    for_in: CompFor


class DictComp(BaseExpression):
    key: BaseExpression
    value: BaseExpression
    for_in: CompFor


class CompFor(CSTNode):
    target: BaseExpression
    iter: BaseExpression
    ifs: Sequence[CompIf]
    inner_for_in: CompFor | None
    asynchronous: Asynchronous | None


class CompIf(CSTNode):
    test: BaseExpression


class Parameters(CSTNode):
    params: Sequence[Param]
    star_arg: Param | ParamStar | None
    kwonly_params: Sequence[Param]
    star_kwarg: Param | None
    posonly_params: Sequence[Param]


class Param(CSTNode):
    name: Name
    annotation: Annotation | None
    default: BaseExpression | None
    star: str | None


class Annotation(CSTNode):
    annotation: BaseExpression
