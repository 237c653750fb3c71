"""Functions that TorchScript compiles, which is another language than Python."""

from __future__ import annotations

import ast

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed

_COMPILERS = words("compiler.script")
_IGNORED = words("compiler.ignored")


def is_scripted(code: Code, node: ast.AST) -> bool:
    """Whether TorchScript may compile what a node stands in, which repairs do not know."""
    names = _scripted(code, code.tree)
    around = [p for p in code.parents(node) if isinstance(p, (*FUNCTIONS, ast.ClassDef))]
    return any(part.name in names for part in around)


@kept(OF_SCOPES)
def _scripted(code: Code, tree: ast.Module) -> frozenset[str]:
    """Return the names of what is compiled, with all that those call: by whatever is called so."""
    defined = {
        node.name: node for node in parsed.walk(tree)
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not _is_left_out(code, node)
    }  # fmt: skip
    found = {name for name, node in defined.items() if _is_decorated(code, node)}
    for call in parsed.walk(tree):
        if isinstance(call, ast.Call) and code.meaning(call.func) in _COMPILERS and call.args:
            given = call.args[0]
            found |= {given.id} if isinstance(given, ast.Name) and given.id in defined else {
                *defined}  # fmt: skip
    reached: set[str] = set()
    while new := (found & defined.keys()) - reached:
        reached |= new
        for name in new:
            found |= {n for n in flow.mentions(defined[name]) if n in defined} | {
                part.attr for part in parsed.walk(defined[name]) if isinstance(part, ast.Attribute)
            }  # fmt: skip
    return frozenset(reached)


def _is_decorated(code: Code, node: ast.AST) -> bool:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    made = (d.func if isinstance(d, ast.Call) else d for d in decorators)
    return any(code.meaning(decorator) in _COMPILERS for decorator in made)


def _is_left_out(code: Code, node: ast.AST) -> bool:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return any(code.meaning(decorator) in _IGNORED for decorator in decorators)
