"""How each framework writes what repairs need. A framework that lacks a form has none of it."""

from __future__ import annotations

from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.places import is_without_graph
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import Dialect


def module_name(code: Code, dialect: Dialect) -> str | None:
    """Return how the file names the framework; None if it does not import it as a whole."""
    for module in dialect.modules:
        if (name := code.name_for(module)) is not None:
            return name
        parent, _, last = module.partition(".")
        if last and (name := code.name_for(parent)) is not None:
            return f"{name}.{last}"
    return None


def call(form: str, value: str, module: str | None) -> str:
    """Fill in a form of one value."""
    return form.replace("{module}", module or "").replace("{value}", value).replace("{}", value)


def graphless(spot: Spot, form: str) -> str:
    """Leave `.detach()` out of a form where there is no graph to detach from."""
    is_needless = ".detach()" in form and is_without_graph(spot.code, spot.node)
    return form.replace(".detach()", "") if is_needless else form
