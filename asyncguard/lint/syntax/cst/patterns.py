"""`match`, its cases and their patterns."""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard.lint.syntax.cst.base import (
    BaseCompoundStatement,
    BaseExpression,
    BaseSuite,
    CSTNode,
    MatchPattern,
)
from asyncguard.lint.syntax.cst.expressions import Name


class Match(BaseCompoundStatement):
    subject: BaseExpression
    cases: Sequence[MatchCase]


class MatchCase(CSTNode):
    pattern: MatchPattern
    body: BaseSuite
    guard: BaseExpression | None


class MatchValue(MatchPattern):
    value: BaseExpression


class MatchSingleton(MatchPattern):
    value: Name


class MatchList(MatchPattern):
    patterns: Sequence[MatchSequenceElement | MatchStar]


class MatchSequenceElement(CSTNode):
    value: MatchPattern


class MatchStar(CSTNode):
    name: Name | None


class MatchMapping(MatchPattern):
    elements: Sequence[MatchMappingElement]
    rest: Name | None


class MatchMappingElement(CSTNode):
    key: BaseExpression
    pattern: MatchPattern


class MatchClass(MatchPattern):
    cls: BaseExpression
    patterns: Sequence[MatchSequenceElement]
    kwds: Sequence[MatchKeywordElement]


class MatchKeywordElement(CSTNode):
    key: Name
    pattern: MatchPattern


class MatchAs(MatchPattern):
    pattern: MatchPattern | None
    name: Name | None


class MatchOr(MatchPattern):
    patterns: Sequence[MatchOrElement]


class MatchOrElement(CSTNode):
    pattern: MatchPattern
