"""Statements, and the parts that they are made of."""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard.lint.syntax.cst.base import (
    BaseCompoundStatement,
    BaseExpression,
    BaseSmallStatement,
    BaseStatement,
    BaseSuite,
    CSTNode,
)
from asyncguard.lint.syntax.cst.expressions import (
    Annotation,
    Arg,
    Attribute,
    From,
    List,
    Name,
    Parameters,
    Tuple,
)
from asyncguard.lint.syntax.cst.operators import Asynchronous, BaseAugOp, Dot, ImportStar


class Decorator(CSTNode):
    decorator: BaseExpression


class SimpleStatementLine(BaseStatement):
    body: Sequence[BaseSmallStatement]


class SimpleStatementSuite(BaseSuite):
    body: Sequence[BaseSmallStatement]


class IndentedBlock(BaseSuite):
    body: Sequence[BaseStatement]


class Module(CSTNode):
    body: Sequence[SimpleStatementLine | BaseCompoundStatement]


class Expr(BaseSmallStatement):
    value: BaseExpression


class Assign(BaseSmallStatement):
    targets: Sequence[AssignTarget]
    value: BaseExpression


class AssignTarget(CSTNode):
    target: BaseExpression


class AugAssign(BaseSmallStatement):
    target: BaseExpression
    operator: BaseAugOp
    value: BaseExpression


class AnnAssign(BaseSmallStatement):
    target: BaseExpression
    annotation: Annotation
    value: BaseExpression | None


class Return(BaseSmallStatement):
    value: BaseExpression | None


class Del(BaseSmallStatement):
    target: BaseExpression


class Raise(BaseSmallStatement):
    exc: BaseExpression | None
    cause: From | None


class Assert(BaseSmallStatement):
    test: BaseExpression
    msg: BaseExpression | None


class Pass(BaseSmallStatement):
    pass


class Break(BaseSmallStatement):
    pass


class Continue(BaseSmallStatement):
    pass


class Global(BaseSmallStatement):
    names: Sequence[NameItem]


class Nonlocal(BaseSmallStatement):
    names: Sequence[NameItem]


class NameItem(CSTNode):
    name: Name


class Import(BaseSmallStatement):
    names: Sequence[ImportAlias]


class ImportFrom(BaseSmallStatement):
    module: Attribute | Name | None
    names: Sequence[ImportAlias] | ImportStar
    relative: Sequence[Dot]


class ImportAlias(CSTNode):
    name: Attribute | Name
    asname: AsName | None


class AsName(CSTNode):
    name: Name | Tuple | List


class TypeAlias(BaseSmallStatement):
    name: Name
    value: BaseExpression


class If(BaseCompoundStatement):
    test: BaseExpression
    body: BaseSuite
    orelse: If | Else | None


class Else(CSTNode):
    body: BaseSuite


class For(BaseCompoundStatement):
    target: BaseExpression
    iter: BaseExpression
    body: BaseSuite
    orelse: Else | None
    asynchronous: Asynchronous | None


class While(BaseCompoundStatement):
    test: BaseExpression
    body: BaseSuite
    orelse: Else | None


class With(BaseCompoundStatement):
    items: Sequence[WithItem]
    body: BaseSuite
    asynchronous: Asynchronous | None


class WithItem(CSTNode):
    item: BaseExpression
    asname: AsName | None


class Try(BaseCompoundStatement):
    body: BaseSuite
    handlers: Sequence[ExceptHandler]
    orelse: Else | None
    finalbody: Finally | None


class TryStar(BaseCompoundStatement):
    body: BaseSuite
    handlers: Sequence[ExceptStarHandler]
    orelse: Else | None
    finalbody: Finally | None


class ExceptHandler(CSTNode):
    body: BaseSuite
    type: BaseExpression | None
    name: AsName | None


class ExceptStarHandler(CSTNode):
    body: BaseSuite
    type: BaseExpression
    name: AsName | None


class Finally(CSTNode):
    body: BaseSuite


class FunctionDef(BaseCompoundStatement):
    name: Name
    params: Parameters
    body: BaseSuite
    decorators: Sequence[Decorator]
    returns: Annotation | None
    asynchronous: Asynchronous | None


class ClassDef(BaseCompoundStatement):
    name: Name
    body: BaseSuite
    bases: Sequence[Arg]
    keywords: Sequence[Arg]
    decorators: Sequence[Decorator]
