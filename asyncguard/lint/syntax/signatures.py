"""The parameters of a function, from Python's own syntax tree."""

from __future__ import annotations

import ast


def parameters(given: ast.arguments | None) -> list[ast.arg]:
    """Return what a function takes."""
    if given is None:
        return []
    extra = [parameter for parameter in (given.vararg, given.kwarg) if parameter is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]
