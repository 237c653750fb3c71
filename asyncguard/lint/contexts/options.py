"""What a condition asks for: options, by their names, and in which shape it is written."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from asyncguard.lint.names import family
from asyncguard.lint.source.switches import NOT
from asyncguard.lint.syntax.tree import dotted


class Asked(NamedTuple):
    """What holds where some conditions came out as they did.

    `switches` are the names of options that are on, or `NOT` on; `shapes` say how the conditions
    are written, as items of evidence: `if.option`, `else.none`.
    """

    switches: frozenset[str] = frozenset()
    shapes: frozenset[str] = frozenset()

    def __or__(self, other: Asked) -> Asked:
        return Asked(self.switches | other.switches, self.shapes | other.shapes)


NOTHING = Asked()


def asked_by(test: cst.BaseExpression, holds: bool) -> Asked:
    """Return what a test has asked where it comes out so."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return asked_by(test.expression, not holds)
    if type(test) is cst.BooleanOperation:
        both = asked_by(test.left, holds) | asked_by(test.right, holds)
        return both if (type(test.operator) is cst.And) == holds else Asked(shapes=both.shapes)
    shape = frozenset({f"{'if' if holds else 'else'}.{_shape(test)}"})
    return Asked(_switches(test, holds), shape)


def _switches(test: cst.BaseExpression, holds: bool) -> frozenset[str]:
    asked = test
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        bound = test.comparisons[0]
        number = bound.comparator
        if isinstance(bound.operator, cst.IsNot if holds else cst.Is) and "." in dotted(test.left):
            return _named(test.left) if dotted(number) == "None" else frozenset()
        zero = isinstance(number, (cst.Integer, cst.Float)) and not number.evaluated_value
        if not zero or not isinstance(bound.operator, _ABOVE if holds else _AT):
            return frozenset()
        asked = test.left
    elif not holds:
        return frozenset(f"{NOT}{name}" for name in _named(asked))
    return _named(asked)


def _named(option: cst.BaseExpression) -> frozenset[str]:
    name = dotted(option).rpartition(".")[2]
    return frozenset({name}) if name and not _TRAINING(name) else frozenset()


_ABOVE, _AT = (cst.GreaterThan, cst.NotEqual), (cst.Equal, cst.LessThanEqual)
_TRAINING = family("state.training")
_OPTIONS = family("value.options")
_TYPES = frozenset({"isinstance", "issubclass", "hasattr", "callable", "type"})


def _shape(test: cst.BaseExpression) -> str:
    """Return in which shape a condition is written."""
    if type(test) is cst.Comparison:
        return _of_comparison(test)
    if type(test) is cst.Call:
        return "type" if dotted(test.func) in _TYPES else "call"
    owner, _, name = dotted(test).rpartition(".")
    if not name:
        return "other"
    if _TRAINING(name):
        return "training"
    if not owner:
        return "name"
    return "option" if _OPTIONS(owner) else "self" if owner == "self" else "attribute"


def _of_comparison(test: cst.Comparison) -> str:
    bounds = [target.comparator for target in test.comparisons]
    if any(dotted(bound) == "None" for bound in bounds):
        return "none"
    if any(type(bound) is cst.SimpleString for bound in (test.left, *bounds)):
        return "word"
    if any(isinstance(bound, (cst.List, cst.Tuple, cst.Set)) for bound in bounds):
        return "word"
    return "number" if any(isinstance(b, (cst.Integer, cst.Float)) for b in bounds) else "compared"
