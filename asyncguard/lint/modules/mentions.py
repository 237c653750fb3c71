"""Which names each definition of a file uses, and what the file imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.source.mentions import Bound, Mentions
from asyncguard.lint.source.switches import sums_of
from asyncguard.lint.syntax.tree import dotted, expressions

_CONSTANTS = frozenset({"None", "True", "False"})
_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)


def mentions(tree: cst.Module) -> Mentions:
    """Return what the definitions of a file mention."""
    words: dict[str, set[str]] = {"": set()}
    decorated: set[str] = set()
    imports: set[Bound] = set()
    for node, owner in _owned(tree):
        kind = type(node)
        own = words.setdefault(owner, set())
        if kind in _WORDS:
            own.update(_WORDS[kind](node))
            if kind is cst.SimpleString and (named := _by_text(node)) is not None:
                own.add(named.bound)
                imports.add(named)
        elif kind in _IMPORTS:
            imports.update(_IMPORTS[kind](node))
        if kind in _DEFINITIONS and node.name.value == owner and node.decorators:
            decorated.add(owner)
    sums = {owner: sums_of(own) for owner, own in words.items()}
    return Mentions(sums, frozenset(decorated), tuple(sorted(imports)))


def _owned(tree: cst.Module) -> Iterator[tuple[Any, str]]:
    """Yield each node with the outermost definition that it is in, `""` for none."""
    pending: list[tuple[Any, str]] = [(tree, "")]
    while pending:
        node, owner = pending.pop()
        yield node, owner
        for child in expressions(node):
            inner = not owner and type(child) in _DEFINITIONS
            pending.append((child, child.name.value if inner else owner))


def _identifier(node: cst.SimpleString) -> tuple[str, ...]:
    text = node.value[1:-1]
    return (text,) if text.isidentifier() else ()


_WORDS: dict[type[Any], Any] = {
    cst.Name: lambda node: () if node.value in _CONSTANTS else (node.value,),
    cst.Attribute: lambda node: (node.attr.value,),
    cst.SimpleString: _identifier,
    cst.FormattedStringText: lambda node: (node.value,) if node.value.isidentifier() else (),
}


def _by_text(node: cst.SimpleString) -> Bound | None:
    """Return what a text imports that names something in a module: `"training.loss.Loss"`."""
    text = node.value[1:-1]
    module, dot, name = text.rpartition(".")
    known = dot and name.isidentifier() and all(map(str.isidentifier, module.split(".")))
    return Bound(text, 0, module, name) if known else None


def _modules(node: cst.Import) -> Iterator[Bound]:
    for alias in node.names:
        name = alias.evaluated_name
        yield Bound(alias.evaluated_alias or name.partition(".")[0], 0, name)


def _names(node: cst.ImportFrom) -> Iterator[Bound]:
    level, module = len(node.relative), dotted(node.module) if node.module is not None else ""
    if isinstance(node.names, cst.ImportStar):
        yield Bound("*", level, module)
        return
    for alias in node.names:
        name = alias.evaluated_name
        yield Bound(alias.evaluated_alias or name, level, module, name)


_IMPORTS: dict[type[Any], Any] = {cst.Import: _modules, cst.ImportFrom: _names}
