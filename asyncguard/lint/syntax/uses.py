"""The calls and the targets in the body of a function, for questions about the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.syntax.tree import children, walk

Use = tuple[Any, frozenset[str]]  # a node, and the names that comprehensions around it bind
NO_NAMES = frozenset[str]()
_COMPREHENSIONS = frozenset({cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp})
_EMPTY = frozenset({cst.Name, cst.Integer, cst.Float, cst.SimpleString})


def uses_of(scope: cst.CSTNode) -> list[Use]:
    """Return the calls and the assigned targets in a function's, a lambda's or a module's body.

    What is called in an argument comes before the call. Functions and classes within are left out,
    lambdas are not.
    """
    found: list[Use] = []
    match scope:
        case cst.FunctionDef(body=body):
            _collect(body, NO_NAMES, found)
        case cst.Lambda(params=params, body=body):
            _collect(params, NO_NAMES, found)
            _collect(body, NO_NAMES, found)
        case cst.Module(body=statements):
            for statement in statements:
                _collect(statement, NO_NAMES, found)
    return found


def _collect(node: Any, bound: frozenset[str], found: list[Use]) -> None:
    kind = type(node)
    if kind in _EMPTY or kind is cst.FunctionDef or kind is cst.ClassDef:
        return
    if kind is cst.Call:
        for argument in node.args:
            _collect(argument.value, bound, found)
        _collect(node.func, bound, found)
        found.append((node, bound))
    elif kind is cst.Attribute:
        _collect(node.value, bound, found)
    elif kind is cst.Assign:
        for target in node.targets:
            _collect(target.target, bound, found)
            found.append((target.target, bound))
        _collect(node.value, bound, found)
    elif kind is cst.AnnAssign:
        _collect(node.annotation, bound, found)
        _collect(node.target, bound, found)
        found.append((node.target, bound))
        if node.value is not None:
            _collect(node.value, bound, found)
    else:
        if kind in _COMPREHENSIONS:
            bound |= frozenset(_targets(node.for_in))
        elif kind is cst.Lambda:
            bound |= frozenset(_taken(node.params))
        for child in children(node):
            _collect(child, bound, found)


def _targets(clause: cst.CompFor | None) -> Iterator[str]:
    """Yield the names in what the clauses of a comprehension bind."""
    while clause is not None:
        yield from (part.value for part in walk(clause.target) if type(part) is cst.Name)
        clause = clause.inner_for_in


def _taken(given: cst.Parameters) -> Iterator[str]:
    """Yield the names that a lambda takes."""
    starred = (given.star_arg, given.star_kwarg)
    named = (*given.posonly_params, *given.params, *given.kwonly_params, *starred)
    yield from (part.name.value for part in named if isinstance(part, cst.Param))
