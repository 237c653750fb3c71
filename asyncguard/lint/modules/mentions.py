"""Which names each definition of a file uses, and what the file imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.source.mentions import Bound, Mentions, Registered
from asyncguard.lint.source.switches import sums_of
from asyncguard.lint.syntax.tree import dotted, expressions, suite, text_of, walk_expressions

_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)


def mentions(tree: cst.Module) -> Mentions:
    """Return what the definitions of a file mention."""
    words: dict[str, set[str]] = {"": set()}
    decorated: set[str] = set()
    imports: set[Bound] = set()
    registered: list[Registered] = []
    pending: list[Any] = [tree]
    for node in pending:  # outside definitions, of which each is walked as a whole
        _note(node, words[""], imports)
        for child in expressions(node):
            if type(child) not in _DEFINITIONS:
                pending.append(child)
                if type(child) is cst.Assign and type(child.value) is cst.Dict:
                    registered += _tabled(child.value, dotted(child.targets[0].target))
                continue
            own = words.setdefault(child.name.value, set())
            for part in walk_expressions(child):
                _note(part, own, imports)
            if child.decorators:
                decorated.add(child.name.value)
                registered += _registered(child)
    used = Counter(word for owner, own in words.items() if owner for word in own - {owner})
    kept = tuple(each._replace(listed=each.listed and not used[each.name]) for each in registered)
    sums = {owner: sums_of(own) for owner, own in words.items()}
    return Mentions(sums, frozenset(decorated), tuple(sorted(imports)), kept)


def _registered(definition: cst.FunctionDef | cst.ClassDef) -> Iterator[Registered]:
    """Yield the tables that decorators put a definition into, by what they are called."""
    for decorator in (each.decorator for each in definition.decorators):
        call = decorator if type(decorator) is cst.Call else None
        table = dotted(call.func if call is not None else decorator)
        given = [text_of(each.value) for each in call.args] if call is not None else []
        keys = tuple(key for key in given if key is not None)
        if "regist" in table.lower() or (keys and "." not in table):
            yield Registered(definition.name.value, table, keys, tuple(_texts_of(definition)))


def _texts_of(definition: cst.FunctionDef | cst.ClassDef) -> Iterator[str]:
    """Yield the texts in the body of a class, one of which may be its key: `name = "memory"`."""
    for statement in suite(definition.body) if type(definition) is cst.ClassDef else ():
        text = text_of(statement.value) if type(statement) is cst.Assign else None
        if text is not None:
            yield text


def _tabled(node: cst.Dict, table: str) -> Iterator[Registered]:
    """Yield what a dict of classes or functions holds, by their keys: `{"uniform": Uniform}`."""
    for element in node.elements:
        key = text_of(element.key) if type(element) is cst.DictElement else None
        name = dotted(element.value).rpartition(".")[2]
        if key is not None and name:
            yield Registered(name, table, (key,), listed=True)


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
