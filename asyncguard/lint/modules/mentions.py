"""Which names each definition of a file uses, and what the file imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.source.mentions import Bound, Mentions
from asyncguard.lint.source.switches import sums_of
from asyncguard.lint.syntax.tree import dotted, expressions, walk_expressions

_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)


def mentions(tree: cst.Module) -> Mentions:
    """Return what the definitions of a file mention."""
    words: dict[str, set[str]] = {"": set()}
    decorated: set[str] = set()
    imports: set[Bound] = set()
    pending: list[Any] = [tree]
    for node in pending:  # outside definitions, of which each is walked as a whole
        _note(node, words[""], imports)
        for child in expressions(node):
            if type(child) not in _DEFINITIONS:
                pending.append(child)
                continue
            own = words.setdefault(child.name.value, set())
            for part in walk_expressions(child):
                _note(part, own, imports)
            if child.decorators:
                decorated.add(child.name.value)
    sums = {owner: sums_of(own) for owner, own in words.items()}
    return Mentions(sums, frozenset(decorated), tuple(sorted(imports)))


def _note(node: Any, words: set[str], imports: set[Bound]) -> None:
    """Add the name that a node is, and what it imports."""
    kind = type(node)
    if kind is cst.Name:
        words.add(node.value)
    elif kind is cst.Attribute:
        words.add(node.attr.value)
    elif kind is cst.SimpleString:
        text = node.value[1:-1]
        if text.isidentifier():
            words.add(text)
        elif (named := _by_text(text)) is not None:
            words.add(text)
            imports.add(named)
    elif kind is cst.FormattedStringText:
        if node.value.isidentifier():
            words.add(node.value)
    elif kind in _IMPORTS:
        imports.update(_IMPORTS[kind](node))


def _by_text(text: str) -> Bound | None:
    """Return what a text imports that names something in a module: `"training.loss.Loss"`."""
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
