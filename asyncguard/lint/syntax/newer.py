"""Syntax that is younger than the oldest Python under which asyncguard runs."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.syntax.tree import children, walk

_KINDS = (cst.TryStar, cst.TypeAlias, cst.TemplatedString)


def is_newer(tree: cst.Module) -> bool:
    """Whether a tree holds what some supported Python does not read.

    libcst's parser reads the syntax of every version, and also what none does: `f() = 1`.
    """
    return any(map(_is_newer, walk(tree)))


def _is_newer(node: cst.CSTNode) -> bool:
    match node:
        case cst.FunctionDef() | cst.ClassDef():
            return node.type_parameters is not None  # 3.12
        case cst.Index(star=star):
            return star is not None  # 3.11: `x[*i]`
        case cst.Param(annotation=cst.Annotation(annotation=cst.StarredElement())):
            return True  # 3.11: `*args: *Ts`
        case cst.Parameters(star_arg=cst.Param() as starred):
            return _is_newer(starred)
        case cst.ExceptHandler(type=cst.Tuple(lpar=parentheses)):
            return not parentheses  # 3.14: `except A, B:`
        case cst.FormattedString():
            return any(_is_freely_written(part, node) for part in children(node))
    return isinstance(node, _KINDS)


def _is_freely_written(part: cst.CSTNode, string: cst.FormattedString) -> bool:
    """Whether a part of an f-string holds what only 3.12 allows there, such as its own quotes."""
    if not isinstance(part, cst.FormattedStringExpression):
        return False
    text = cst.Module([]).code_for_node(part)
    return any(mark in text for mark in (string.end, "\\", "#", "\n"))
