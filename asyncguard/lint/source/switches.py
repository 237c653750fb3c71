"""Options by name: those that a program leaves off, and those that something in it turns on.

A name is off where a parameter or field of that name is `False`, `None` or 0 by default, and stays
off unless an assignment, an argument of a call, a parser's default or a dictionary's entry of that
name gives it anything else. What is merely handed on under its own name turns nothing on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Switches(NamedTuple):
    """Names of a file's options: off by default, and turned on."""

    off: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()


NO_SWITCHES = Switches()


def switches(tree: ast.Module) -> Switches:
    """Return the options that a file leaves off and turns on."""
    off: set[str] = set()
    on: set[str] = set()
    for node in ast.walk(tree):
        for name, value in _given(node):
            if _is_off(value):
                if not isinstance(node, (ast.Call, ast.Dict)):
                    off.add(name)
            elif not _hands_on(name, value):
                on.add(name)
    return Switches(frozenset(off), frozenset(on))


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a node gives a value: defaults, assignments, arguments, entries."""
    match node:
        case ast.arguments():
            positional = [*node.posonlyargs, *node.args]
            defaults = zip(reversed(positional), reversed(node.defaults), strict=False)
            yield from ((argument.arg, value) for argument, value in defaults)
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            yield from ((argument.arg, value) for argument, value in named if value is not None)
        case ast.Assign():
            for target in node.targets:
                if name := _last(target):
                    yield name, node.value
        case ast.AnnAssign(value=ast.expr() as value):
            if name := _last(node.target):
                yield name, value
        case ast.AugAssign():
            if name := _last(node.target):
                yield name, node
        case ast.Call():
            yield from ((k.arg, k.value) for k in node.keywords if k.arg is not None)
            yield from _of_parser(node)
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def _of_parser(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the option that a call declares to a parser, with its default."""
    names = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    option = next((name for name in names if name.startswith("--")), "")
    default = next((k.value for k in call.keywords if k.arg == "default"), None)
    if option and default is not None:
        yield option.lstrip("-").replace("-", "_"), default


def _last(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_off(value: ast.AST) -> bool:
    match value:
        case ast.Constant(value=constant):
            return not constant and not isinstance(constant, (str, bytes))
        case ast.Call(func=ast.Name(id="field"), keywords=keywords):
            return any(k.arg == "default" and _is_off(k.value) for k in keywords)
    return False


def _hands_on(name: str, value: ast.AST) -> bool:
    """Whether a value is what another place holds under the same name, or that or something off."""
    match value:
        case ast.Name(id=other) | ast.Attribute(attr=other):
            return other == name
        case ast.BoolOp(values=parts):
            return all(_hands_on(name, part) or _is_off(part) for part in parts)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=other), *rest]):
            return other == name and all(map(_is_off, rest))
        case ast.Call(
            func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=other), *rest]
        ):
            return other == name and all(map(_is_off, rest))
        case ast.Call(func=ast.Name(id="bool" | "int" | "float"), args=[inner]):
            return _hands_on(name, inner)
    return False
