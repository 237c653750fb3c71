"""The words of the variables that a value is read from, and of the calls that make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from asyncguard.lint.evidence.words import of_name
from asyncguard.lint.syntax.tree import dotted

_SHORTEST = 2  # letters of a word that is looked at


def of_value(node: cst.CSTNode | None, imported: Callable[[str], bool]) -> Iterator[str]:
    """Yield the words of the variables that an expression reads, and the calls that make it.

    imported: whether a name stands for a module, or for what one holds.
    """
    if node is None or imported(dotted(node).partition(".")[0]):
        return
    match node:
        case cst.Name(value) if value != "self":
            yield from of_name("name", value, _SHORTEST)
        case cst.Attribute(attr=cst.Name(value)):
            yield from of_name("name", value, _SHORTEST)
        case cst.Subscript(value, parts):
            yield from of_value(value, imported)
            for part in parts:
                if isinstance(part.slice, cst.Index):
                    yield from _of_key(part.slice.value)
        case cst.Call():
            yield from _of_call(node, imported)
        case _:
            for operand in _operands(node):
                yield from of_value(operand, imported)


def _operands(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    match node:
        case cst.Comparison(left, comparisons):
            return (left, *(each.comparator for each in comparisons))
        case (
            cst.BinaryOperation(left=left, right=right)
            | cst.BooleanOperation(left=left, right=right)
        ):
            return (left, right)
        case cst.UnaryOperation(expression=expression):
            return (expression,)
    return ()


def _of_key(node: cst.CSTNode) -> Iterator[str]:
    """Yield the words of a key that is a text."""
    if isinstance(node, cst.SimpleString):
        yield from of_name("name", node.raw_value, _SHORTEST)


def _of_call(call: cst.Call, imported: Callable[[str], bool]) -> Iterator[str]:
    """Yield what is called, and the words of what it is called on, or handed first."""
    match call.func:
        case cst.Attribute(value, cst.Name(name)):
            yield f"made.{name}"
            yield from of_value(value, imported)
        case cst.Name(name):
            yield f"made.{name}"
    for arg in call.args[:1]:
        yield from of_value(arg.value, imported)
