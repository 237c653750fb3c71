"""Whether a module can be imported, by the names that its definitions need when it is.

A decorator or a base that nothing binds raises NameError there: no function of the module ever
runs. Refactoring leaves such files in packages, where nobody imports them.
"""

from __future__ import annotations

import builtins
from collections.abc import Container, Iterator

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.syntax.tree import walk_expressions

# What may bind names unseen: `from x import *`, `globals()[name] = value`.
_UNSEEN = frozenset({"globals", "vars", "exec", "locals", "setattr", "builtins", "__builtins__"})
_INNER = (cst.Lambda, cst.BaseComp, cst.NamedExpr)


def unbound(tree: cst.Module, binds: Container[str]) -> cst.Name | None:
    """Return the first name that a definition of a module needs and nothing binds.

    `binds` are the names that the module's own statements bind. Only what stands at its top counts:
    a branch may not be taken.
    """
    injected = load().language.injected_names
    for name in _needed(tree):
        known = name.value in binds or hasattr(builtins, name.value) or name.value in injected
        if not known and not _may_bind_unseen(tree, name.value):
            return name
    return None


def _needed(tree: cst.Module) -> Iterator[cst.Name]:
    """Yield the names in the decorators and bases of a module's definitions."""
    for node in tree.body:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            bases = node.bases if isinstance(node, cst.ClassDef) else ()
            types = node.type_parameters
            own = {each.param.name.value for each in types.params} if types is not None else set()
            needed = (
                *(each.decorator for each in node.decorators),
                *(base.value for base in bases),
            )
            parts = (part for each in needed for part in _own(each))
            yield from (part for part in parts if type(part) is cst.Name and part.value not in own)


def _own(expression: cst.BaseExpression) -> list[cst.CSTNode]:
    """Return the parts of an expression, unless it binds names itself."""
    parts = walk_expressions(expression)
    return [] if any(isinstance(part, _INNER) for part in parts) else parts


def _may_bind_unseen(tree: cst.Module, name: str) -> bool:
    for part in walk_expressions(tree):
        if type(part) is cst.Global and any(item.name.value == name for item in part.names):
            return True
        if type(part) is cst.Name and part.value in _UNSEEN:
            return True
        if type(part) is cst.ImportFrom and isinstance(part.names, cst.ImportStar):
            return True
    return False
