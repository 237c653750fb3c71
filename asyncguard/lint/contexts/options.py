"""Which options a condition asks for, by their names: `if self.debug`, `if penalty > 0`."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted


def switches_of(test: cst.BaseExpression, holds: bool) -> frozenset[str]:
    """Return the options, by their names, that are on where a test comes out so."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return switches_of(test.expression, not holds)
    if type(test) is cst.BooleanOperation:
        if (type(test.operator) is cst.And) != holds:
            return frozenset()
        return switches_of(test.left, holds) | switches_of(test.right, holds)
    asked = test
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        bound = test.comparisons[0]
        number = bound.comparator
        zero = isinstance(number, (cst.Integer, cst.Float)) and not number.evaluated_value
        if not zero or not isinstance(bound.operator, _ABOVE if holds else _AT):
            return frozenset()
        asked = test.left
    elif not holds:
        return frozenset()
    name = dotted(asked).rpartition(".")[2]
    return frozenset({name}) if name and not _TRAINING(name) else frozenset()


_ABOVE, _AT = (cst.GreaterThan, cst.NotEqual), (cst.Equal, cst.LessThanEqual)
_TRAINING = family("state.training")
