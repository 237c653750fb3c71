"""How the patterns of `match` are built."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from asyncguard.lint.syntax import makers as make
from asyncguard.lint.syntax.builder import Builder


def case_of(builder: Builder, node: ast.match_case) -> Any:
    pattern, guard = _pattern(builder, node.pattern), builder.optional(node.guard)
    return make.case(pattern, builder.suite(node.body), guard)


def _pattern(builder: Builder, node: ast.pattern) -> Any:
    return _PATTERNS[type(node)](builder, node)


def _optional_name(name: str | None) -> Any:
    return None if name is None else make.name(name)


def _sequence_pattern(builder: Builder, node: ast.MatchSequence) -> Any:
    return make.match_list(
        [
            make.match_star(_optional_name(part.name))
            if isinstance(part, ast.MatchStar)
            else make.match_element(_pattern(builder, part))
            for part in node.patterns
        ]
    )


def _mapping_pattern(builder: Builder, node: ast.MatchMapping) -> Any:
    elements = [
        make.match_mapping_element(builder.expression(key), _pattern(builder, pattern))
        for key, pattern in zip(node.keys, node.patterns, strict=True)
    ]
    return make.match_mapping(elements, _optional_name(node.rest))


def _class_pattern(builder: Builder, node: ast.MatchClass) -> Any:
    positional = [make.match_element(_pattern(builder, pattern)) for pattern in node.patterns]
    keywords = [
        make.match_keyword(make.name(name), _pattern(builder, pattern))
        for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    ]
    return make.match_class(builder.expression(node.cls), positional, keywords)


def _as_pattern(builder: Builder, node: ast.MatchAs) -> Any:
    inner = None if node.pattern is None else _pattern(builder, node.pattern)
    return make.match_as(inner, _optional_name(node.name))


_PATTERNS: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.MatchValue: lambda builder, node: make.match_value(builder.expression(node.value)),
    ast.MatchSingleton: lambda builder, node: make.match_singleton(make.name(repr(node.value))),
    ast.MatchSequence: _sequence_pattern,
    ast.MatchMapping: _mapping_pattern,
    ast.MatchClass: _class_pattern,
    ast.MatchAs: _as_pattern,
    ast.MatchOr: lambda builder, node: make.match_or(
        [make.match_or_element(_pattern(builder, pattern)) for pattern in node.patterns]
    ),
}
