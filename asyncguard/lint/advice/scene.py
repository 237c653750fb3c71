"""What stands around a finding, and the table of what patterns can ask about it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes.code import dotted
from asyncguard.lint.fixes.spots import Spot


class Scene(NamedTuple):
    """A finding among its code, and all findings of its file."""

    spot: Spot
    spots: Sequence[Spot] = ()

    @property
    def read(self) -> ast.expr:
        """What the site reads: `x` of `x.item()`, `int(x)`, `x[mask]` (the mask) and `f"{x}"`."""
        node = self.spot.node
        if isinstance(node, ast.Subscript):
            return node.slice
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_function = self.spot.code.imports.get(dotted(node.func).partition(".")[0])
            return node.args[0] if is_function and node.args else node.func.value
        if isinstance(node, ast.Call) and node.args:
            return node.args[0]
        return node


Predicate = Callable[[Scene], bool]
PREDICATES: dict[str, Predicate] = {}


def predicate(function: Predicate) -> Predicate:
    """Let patterns name a predicate by the name of its function, with spaces for underscores."""
    PREDICATES[function.__name__.replace("_", " ")] = function
    return function
