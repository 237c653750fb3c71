"""How the patterns of `match` are built."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from asyncguard.lint.syntax import cst
from asyncguard.lint.syntax.builder import Builder


def case_of(builder: Builder, node: ast.match_case) -> Any:
    pattern, guard = _pattern(builder, node.pattern), builder.optional(node.guard)
    return cst.MatchCase(pattern, builder.suite(node.body), guard)


def _pattern(builder: Builder, node: ast.pattern) -> Any:
    return _PATTERNS[type(node)](builder, node)


def _optional_name(name: str | None) -> Any:
    return None if name is None else cst.Name(name)


def _sequence_pattern(builder: Builder, node: ast.MatchSequence) -> Any:
    return cst.MatchList(
        [
            cst.MatchStar(_optional_name(part.name))
            if isinstance(part, ast.MatchStar)
            else cst.MatchSequenceElement(_pattern(builder, part))
            for part in node.patterns
        ]
    )


def _mapping_pattern(builder: Builder, node: ast.MatchMapping) -> Any:
    elements = [
        cst.MatchMappingElement(builder.expression(key), _pattern(builder, pattern))
        for key, pattern in zip(node.keys, node.patterns, strict=True)
    ]
    return cst.MatchMapping(elements, _optional_name(node.rest))


def _class_pattern(builder: Builder, node: ast.MatchClass) -> Any:
    positional = [cst.MatchSequenceElement(_pattern(builder, pattern)) for pattern in node.patterns]
    keywords = [
        cst.MatchKeywordElement(cst.Name(name), _pattern(builder, pattern))
        for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    ]
    return cst.MatchClass(builder.expression(node.cls), positional, keywords)


def _as_pattern(builder: Builder, node: ast.MatchAs) -> Any:
    inner = None if node.pattern is None else _pattern(builder, node.pattern)
    return cst.MatchAs(inner, _optional_name(node.name))


_PATTERNS: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.MatchValue: lambda builder, node: cst.MatchValue(builder.expression(node.value)),
    ast.MatchSingleton: lambda builder, node: cst.MatchSingleton(cst.Name(repr(node.value))),
    ast.MatchSequence: _sequence_pattern,
    ast.MatchMapping: _mapping_pattern,
    ast.MatchClass: _class_pattern,
    ast.MatchAs: _as_pattern,
    ast.MatchOr: lambda builder, node: cst.MatchOr(
        [cst.MatchOrElement(_pattern(builder, pattern)) for pattern in node.patterns]
    ),
}
