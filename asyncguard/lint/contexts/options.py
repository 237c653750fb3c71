"""What a condition asks for: options, by their names, and in which shape it is written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.contexts.environment import is_unset, variables_of
from asyncguard.lint.domain.regions import NO_GRAPHS, Graphs
from asyncguard.lint.names import family
from asyncguard.lint.names.words import MAX_NAMES
from asyncguard.lint.source.switches import IS, NOT
from asyncguard.lint.syntax.tree import dotted, key_of, text_of


class Asked(NamedTuple):
    """What holds where some conditions came out as they did.

    `switches` are the names of options that are on, or `NOT` on, or `IS` a word; `shapes` say how
    the conditions are written, as items of evidence: `if.option`, `else.none`. `graphs`: which
    this is part of.
    """

    switches: frozenset[str] = frozenset()
    shapes: frozenset[str] = frozenset()
    graphs: Graphs = NO_GRAPHS

    def __or__(self, other: Asked) -> Asked:
        graphs = self.graphs if other.graphs is NO_GRAPHS else self.graphs | other.graphs
        return Asked(self.switches | other.switches, self.shapes | other.shapes, graphs)


NOTHING = Asked()
Held = Mapping[str, cst.BaseExpression]


def asked_by(test: cst.BaseExpression, holds: bool, held: Held = MappingProxyType({})) -> Asked:
    """Return what a test has asked where it comes out so.

    held: the conditions that variables hold, of which it may name some.
    """
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return asked_by(test.expression, not holds, held)
    if type(test) is cst.BooleanOperation:
        both = asked_by(test.left, holds, held) | asked_by(test.right, holds, held)
        return both if (type(test.operator) is cst.And) == holds else Asked(shapes=both.shapes)
    shape = frozenset({f"{'if' if holds else 'else'}.{_shape(test)}"})
    kept = _kept(test, holds, held) if held else NOTHING
    switches = _switches(test, holds) | kept.switches
    return Asked(switches, shape, kept.graphs | _outside(test, holds))


def _kept(test: cst.BaseExpression, holds: bool, held: Held) -> Asked:
    """Return what the condition that a variable holds has asked, or that it is something by."""
    if type(test) is cst.Comparison and dotted(test.comparisons[0].comparator) == "None":
        made = held.get(dotted(test.left))
        there = type(test.comparisons[0].operator) is cst.IsNot
        if type(made) is not cst.IfExp or there != holds:
            return NOTHING
        missing = [dotted(way) == "None" for way in (made.body, made.orelse)]
        return asked_by(made.test, missing[1]) if missing[0] != missing[1] else NOTHING
    condition = held.get(dotted(test))
    return asked_by(condition, holds) if condition is not None else NOTHING


def _outside(test: cst.BaseExpression, holds: bool) -> Graphs:
    """Return what a place is no part of where a question for that is denied.

    Or is no part of, as a rule: what is done for arrays of one size alone, as whatever makes a
    graph asks for the sizes once, and follows one branch.
    """
    if type(test) is cst.Comparison and _is_of_one_size(test, holds):
        return Graphs(outside=frozenset(_GRAPHS))
    if holds:
        return NO_GRAPHS
    name = dotted(test.func if type(test) is cst.Call else test)
    return _denied(name.rpartition(".")[2]) if name else NO_GRAPHS


def _is_of_one_size(test: cst.Comparison, holds: bool) -> bool:
    """Whether a size is this one: `x.size(0) == 1`, or not another: `x.shape[0] != 1`."""
    bound = test.comparisons[0]
    same = cst.Equal if holds else cst.NotEqual
    return type(bound.operator) is same and (_is_size(test.left) or _is_size(bound.comparator))


def _is_size(node: cst.BaseExpression) -> bool:
    if type(node) is cst.Subscript:
        return dotted(node.value).endswith(".shape")
    return type(node) is cst.Call and dotted(node.func).rpartition(".")[2] in _SIZES


_SIZES = frozenset({"size", "numel", "nelement"})


@lru_cache(MAX_NAMES)
def _denied(name: str) -> Graphs:
    denied = frozenset(asked for asked, holds in _GRAPHS.items() if holds(name))
    return Graphs(outside=denied) if denied else NO_GRAPHS


_GRAPHS = {
    "capture": family("function.asks_capture"),
    "compiler": family("function.asks_compiler"),
}


def _switches(test: cst.BaseExpression, holds: bool) -> frozenset[str]:
    if holds and is_unset(test):
        return variables_of(test)
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        return _compared(test.left, test.comparisons[0], holds)
    names = _named(test)
    return names if holds else frozenset(f"{NOT}{name}" for name in names)


def _compared(left: cst.BaseExpression, bound: cst.ComparisonTarget, holds: bool) -> frozenset[str]:
    """Return the options of a comparison: with a word, with None, with zero."""
    number, operator = bound.comparator, bound.operator
    word = text_of(number)
    if word and isinstance(operator, cst.Equal if holds else cst.NotEqual):
        return frozenset(f"{name}{IS}{word}" for name in _named(left))
    if isinstance(operator, cst.IsNot if holds else cst.Is) and "." in dotted(left):
        return _named(left) if dotted(number) == "None" else frozenset()
    zero = isinstance(number, (cst.Integer, cst.Float)) and not number.evaluated_value
    switched = zero and isinstance(operator, _ABOVE if holds else _AT)
    return _named(left) if switched else frozenset()


def _named(option: cst.BaseExpression) -> frozenset[str]:
    name = dotted(option).rpartition(".")[2] or _looked_up(option)
    by_python = name[:2] == "__"  # `__name__`, `__debug__`
    return frozenset() if not name or by_python or _TRAINING(name) else frozenset({name})


def _looked_up(node: cst.BaseExpression) -> str:
    """Return the name that this looks up: `options["debug"]`, `options.get("debug", False)`."""
    if type(node) is cst.Subscript:
        return key_of(node)
    if type(node) is not cst.Call or any(given.keyword or given.star for given in node.args):
        return ""
    given = [argument.value for argument in node.args]
    asks = type(node.func) is cst.Name and node.func.value == "getattr"
    looks = type(node.func) is cst.Attribute and node.func.attr.value == "get"
    asked = given[asks:] if asks or looks else []
    off = all(dotted(default) in ("None", "False") for default in asked[1:])
    return text_of(asked[0]) or "" if asked and off else ""


_ABOVE, _AT = (cst.GreaterThan, cst.NotEqual), (cst.Equal, cst.LessThanEqual)
_TRAINING = family("state.training")
_OPTIONS = family("value.options")


def is_option(node: cst.CSTNode) -> bool:
    """Whether this is one of several options: `args.steps`."""
    return type(node) is cst.Attribute and bool(_OPTIONS(dotted(node.value)))


def is_of_options(node: cst.CSTNode) -> bool:
    """Whether this is one of several options, by name or by key: `args.debug`, `cfg["debug"]`."""
    if type(node) is cst.Subscript:
        owner = node.value
        named = dotted(owner).rpartition(".")[2] if type(owner) is not cst.Subscript else ""
        return bool(key_of(node)) and (bool(_OPTIONS(named)) or is_of_options(owner))
    return is_option(node) or (type(node) is cst.Attribute and is_of_options(node.value))


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
