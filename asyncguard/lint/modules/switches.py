"""What a file gives its options: defaults, assignments, arguments, entries of dicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from asyncguard.lint.source.switches import Switches, sums_of
from asyncguard.lint.syntax.tree import dotted, text_of, walk_expressions


def switches(tree: cst.Module) -> Switches:
    """Return what a file gives its options."""
    off, true, false, other = set[str](), set[str](), set[str](), set[str]()
    words: set[str] = set()
    for node in walk_expressions(tree):
        kind = type(node)
        if kind in _WORDS:
            words.update(_WORDS[kind](node))
        if kind not in _GIVING:
            continue
        declared = dict(_declared(node)) if kind is cst.Call else {}
        for name, value in (*declared.items(), *_GIVING[kind](node)):
            if _is_off(value):
                false.add(name)
                if name in declared or kind not in _CALLS:
                    off.add(name)
            elif type(value) is cst.Name and value.value == "True":
                true.add(name)
            elif not _hands_on(name, value):
                other.add(name)
    named = frozenset(off), frozenset(true), frozenset(false), frozenset(other)
    return Switches(*named, words=sums_of(words))


_CALLS = (cst.Call, cst.Dict)
_CONSTANTS = frozenset({"None", "True", "False"})


def _imported(node: cst.Import | cst.ImportFrom) -> Iterator[str]:
    if type(node) is cst.ImportFrom and node.module is not None:
        yield dotted(node.module).rpartition(".")[2]
    if isinstance(node.names, cst.ImportStar):
        yield "*"
    else:
        yield from (dotted(alias.name).rpartition(".")[2] for alias in node.names)


def _identifier(node: cst.SimpleString) -> tuple[str, ...]:
    text = node.value[1:-1]
    return (text,) if text.isidentifier() else ()


_WORDS: dict[type[Any], Any] = {
    cst.Name: lambda node: () if node.value in _CONSTANTS else (node.value,),
    cst.Attribute: lambda node: (node.attr.value,),
    cst.Import: _imported,
    cst.ImportFrom: _imported,
    cst.SimpleString: _identifier,
    cst.FormattedStringText: lambda node: (node.value,) if node.value.isidentifier() else (),
}


def _defaults(node: cst.Parameters) -> Iterator[tuple[str, Any]]:
    for given in (*node.posonly_params, *node.params, *node.kwonly_params):
        if given.default is not None and not _is_array(given.annotation):
            yield given.name.value, given.default


def _assigned(node: cst.Assign) -> Iterator[tuple[str, Any]]:
    for target in node.targets:
        if name := _last(target.target):
            yield name, node.value


def _declared_with(node: cst.AnnAssign) -> Iterator[tuple[str, Any]]:
    name = _last(node.target)
    if node.value is not None and name and not _is_array(node.annotation):
        yield name, node.value


def _changed(node: cst.AugAssign) -> Iterator[tuple[str, Any]]:
    if name := _last(node.target):
        yield name, node


def _keywords(node: cst.Call) -> Iterator[tuple[str, Any]]:
    yield from ((a.keyword.value, a.value) for a in node.args if a.keyword is not None)


def _entries(node: cst.Dict) -> Iterator[tuple[str, Any]]:
    for element in node.elements:
        key = text_of(element.key) if type(element) is cst.DictElement else None
        if key is not None:
            yield key, element.value


# The names that a node gives a value.
_GIVING: dict[type[Any], Any] = {
    cst.Parameters: _defaults,
    cst.Assign: _assigned,
    cst.AnnAssign: _declared_with,
    cst.AugAssign: _changed,
    cst.Call: _keywords,
    cst.Dict: _entries,
}


def _declared(call: cst.Call) -> Iterator[tuple[str, Any]]:
    """Yield the option that a call declares to a parser of a command line, with its default.

    `add_argument("--debug", action="store_true")`, `click.option("--rate", default=0)`, and
    `DEFINE_bool("debug", False, ...)`.
    """
    given = [a.value for a in call.args if a.keyword is None and a.star != "**"]
    words = [text for text in map(text_of, given) if text is not None]
    if not words:
        return
    if _last(call.func).startswith("DEFINE_"):
        if len(given) > 1:
            yield words[0], given[1]
        return
    option = next((word for word in words if word.startswith("--")), "")
    if not option:
        return
    keywords = dict(_keywords(call))
    default = keywords.get("default")
    if default is None:
        default = _BY_ACTION.get(text_of(keywords.get("action")) or "")
    if default is not None:
        kept = keywords.get("dest")
        dest = option if kept is None else text_of(kept) or option
        yield dest.lstrip("-").replace("-", "_"), default


_BY_ACTION = {"store_true": cst.Name("False"), "store_false": cst.Name("True")}


def _is_array(annotation: cst.Annotation | None) -> bool:
    """Whether a type is one of arrays, `None` or not: that is data, and no option."""
    names = map(_last, walk_expressions(annotation)) if annotation is not None else ()
    return any(name.lower().endswith(("array", "tensor")) for name in names)


def _last(target: cst.CSTNode) -> str:
    if type(target) is cst.Attribute:
        return target.attr.value
    return target.value if type(target) is cst.Name else ""


_FIELDS = frozenset({"field", "Field", "Option", "Argument", "ib", "attrib"})


def _is_off(value: cst.CSTNode) -> bool:
    match value:
        case cst.Name(value=name):
            return name == "None" or name == "False"
        case cst.Integer() | cst.Float() | cst.Imaginary():
            return not value.evaluated_value
        case cst.Call(func=func, args=args) if _last(func) in _FIELDS:
            default = [a.value for a in args if a.keyword and a.keyword.value == "default"]
            default = default or [a.value for a in args[:1] if not a.keyword and not a.star]
            return any(map(_is_off, default))
    return False


def _hands_on(name: str, value: cst.CSTNode) -> bool:
    """Whether a value is what another place holds under the same name, or that or something off."""
    match value:
        case cst.Name() | cst.Attribute():
            return _last(value) == name
        case cst.BooleanOperation(left=left, right=right):
            return all(_hands_on(name, part) or _is_off(part) for part in (left, right))
        case cst.Call(func=func, args=args) if not any(a.keyword or a.star for a in args):
            return _hands_on_what_it_takes(name, func, [a.value for a in args])
    return False


def _hands_on_what_it_takes(name: str, func: cst.CSTNode, given: list[Any]) -> bool:
    """Likewise for `getattr(args, name, None)`, `options.get(name, 0)` and `bool(name)`."""
    called = _last(func)
    if type(func) is cst.Name and called == "getattr" and len(given) > 1:
        return text_of(given[1]) == name and all(map(_is_off, given[2:]))
    if type(func) is cst.Attribute and called in ("get", "pop") and given:
        return text_of(given[0]) == name and all(map(_is_off, given[1:]))
    if type(func) is cst.Name and called in ("bool", "int", "float") and len(given) == 1:
        return _hands_on(name, given[0])
    return False
