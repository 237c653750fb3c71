"""Functions that TorchScript compiles, which is another language than Python."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.fixes import flow
from asyncguard.lint.fixes.code import Code, decorators
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.syntax.nodes import attribute, name_of, positional, walk

_COMPILERS = words("compiler.script")
_IGNORED = words("compiler.ignored")


_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)


def is_scripted(code: Code, node: cst.CSTNode) -> bool:
    """Whether TorchScript may compile what a node stands in, which repairs do not know."""
    names = _scripted(code, code.tree)
    around = (scope for scope in code.scopes(node) if isinstance(scope, _DEFINITIONS))
    return any(part.name.value in names for part in around)


@kept(OF_SCOPES)
def _scripted(code: Code, tree: cst.Module) -> frozenset[str]:
    """Return the names of what is compiled, with all that those call: by whatever is called so."""
    defined = {
        node.name.value: node for node in walk(tree)
        if isinstance(node, _DEFINITIONS) and not _is_decorated(code, node, _IGNORED)
    }  # fmt: skip
    found = {name for name, node in defined.items() if _is_decorated(code, node, _COMPILERS)}
    for call in walk(tree):
        if isinstance(call, cst.Call) and code.meaning(call.func) in _COMPILERS:
            for given in positional(call)[:1]:
                name = name_of(given)
                found |= {name} if name in defined else {*defined}
    reached: set[str] = set()
    while new := (found & defined.keys()) - reached:
        reached |= new
        for name in new:
            found |= {n for n in flow.mentions(defined[name]) if n in defined}
            found |= {attribute(part) for part in walk(defined[name])}
    return frozenset(reached)


def _is_decorated(code: Code, node: cst.CSTNode, names: frozenset[str]) -> bool:
    marks = (each.decorator for each in decorators(node))
    made = (mark.func if isinstance(mark, cst.Call) else mark for mark in marks)
    return any(code.meaning(each) in names for each in made)
