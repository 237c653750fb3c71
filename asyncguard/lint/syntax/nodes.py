"""libcst nodes, built from what Python's own parser says.

libcst's parser keeps each space and comma, for which the analyzer has no use. So the trees that are
interpreted are libcst's nodes with the code of the source and default whitespace: parentheses,
comments, the quotes of strings and type parameters (`def f[T]`) are not kept. Where a node stands
in the file is what `ast` says of the part that it was built from.

Why not libcst's own parser? It was to be taken if a cold check stayed within four times `ruff check
--select ALL --no-cache`. A check takes 3.6 times that (benchmarks/lint_speed.py, six wheels). On
d2l, gluoncv, lightning and timm it spends 28.6 s of CPU, 2.9 s of it on nodes. For the text of the
same functions, each parsed once and without positions, libcst takes 21.4 s
(benchmarks/parsers.py): 1.65 times the check, or 4.7 times ruff. Instead the nodes are held to be
those of libcst's parser: tests/lint/test_nodes.py compares both, benchmarks/same_nodes.py does for
whole wheels, and libcst is held below version 2.
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
