"""Whether a module can be imported, by the names that its definitions need when it is.

A decorator or a base that nothing binds raises NameError there: no function of the module ever
runs. Refactoring leaves such files in packages, where nobody imports them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container, Iterator

from asyncguard.catalogue import load
from asyncguard.lint.source import parsed

# What may bind names unseen: `from x import *`, `globals()[name] = value`.
_UNSEEN = frozenset({"globals", "vars", "exec", "locals", "setattr", "builtins", "__builtins__"})
_INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


def unbound(tree: ast.Module, binds: Container[str]) -> ast.Name | None:
    """Return the first name that a definition of a module needs and nothing binds.

    `binds` are the names that the module's own statements bind. Only what stands at its top counts:
    a branch may not be taken.
    """
    injected = load().language.injected_names
    for name in _needed(tree):
        known = name.id in binds or hasattr(builtins, name.id) or name.id in injected
        if not known and not _may_bind_unseen(tree, name.id):
            return name
    return None


def _needed(tree: ast.Module) -> Iterator[ast.Name]:
    """Yield the names in the decorators and bases of a module's definitions."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bases = node.bases if isinstance(node, ast.ClassDef) else []
            own = {parameter.name for parameter in getattr(node, "type_params", ())}
            parts = (part for needed in (*node.decorator_list, *bases) for part in _own(needed))
            yield from (part for part in parts if isinstance(part, ast.Name) and part.id not in own)


def _own(expression: ast.expr) -> list[ast.AST]:
    """Return the parts of an expression, unless it binds names itself."""
    parts = parsed.walk(expression)
    return [] if any(isinstance(part, _INNER) for part in parts) else parts


def _may_bind_unseen(tree: ast.Module, name: str) -> bool:
    for part in parsed.walk(tree):
        if isinstance(part, ast.Global) and name in part.names:
            return True
        if isinstance(part, ast.Name) and part.id in _UNSEEN:
            return True
        if isinstance(part, ast.ImportFrom) and any(alias.name == "*" for alias in part.names):
            return True
    return False
