"""libcst nodes, built from what Python's own parser says.

libcst's parser keeps each space and comma, for which the analyzer has no use, and takes some
fifteen times as long as Python's. So the trees that are interpreted are libcst's nodes with the
code of the source and default whitespace: parentheses, comments, the quotes of strings and type
parameters (`def f[T]`) are not kept. Where a node stands in the file is what `ast` says of the part
that it was built from.
"""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard.lint.syntax.builder import Builder, Grammar, Numbers
from asyncguard.lint.syntax.expressions import EXPRESSIONS
from asyncguard.lint.syntax.statements import COMPOUND, SIMPLE

GRAMMAR = Grammar(EXPRESSIONS, SIMPLE, COMPOUND)


def builder(lines: Sequence[str], outlined: Numbers | None = None) -> Builder:
    """Return what builds the nodes of a text."""
    return Builder(GRAMMAR, lines, outlined)
