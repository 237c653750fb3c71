"""Options by name: those that a program leaves as they are by default, and what else it gives them.

A name is off where a parameter, a field or a parser's option of that name is `False`, `None` or 0
by default, and stays off unless an assignment, an argument of a call or a dictionary's entry of
that name gives it anything else; likewise one stays on that is `True` wherever it is given. What is
merely handed on under its own name changes nothing.
"""

from __future__ import annotations

import ast
import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Switches(NamedTuple):
    """Names of a file's options, by what they are given."""

    off: frozenset[str] = frozenset()  # nothing, by default
    true: frozenset[str] = frozenset()  # `True`
    false: frozenset[str] = frozenset()  # nothing, by default or by a call
    other: frozenset[str] = frozenset()  # something else
    words: bytes = b""  # sums of the names that the file uses or writes as texts, four bytes each


def sum_of(name: str) -> int:
    """Return four bytes that stand for a name."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


NO_SWITCHES = Switches()
NOT = "not "  # before the name of an option where a place is run if it is off


def settled(files: Iterable[Switches]) -> frozenset[str]:
    """Return the options that all these files leave off, and `NOT` those that they leave on."""
    names = zip(*(each[:4] for each in files), strict=True)
    off, true, false, other = (frozenset[str]().union(*each) for each in names)
    return (off - true - other) | {f"{NOT}{name}" for name in true - false - other}


def switches(tree: ast.Module) -> Switches:
    """Return what a file gives its options."""
    off, true, false, other = set[str](), set[str](), set[str](), set[str]()
    words: set[str] = set()
    for node in ast.walk(tree):
        words.update(_words(node))
        declared = dict(_declared(node)) if isinstance(node, ast.Call) else {}
        for name, value in (*declared.items(), *_given(node)):
            if _is_off(value):
                false.add(name)
                if name in declared or not isinstance(node, (ast.Call, ast.Dict)):
                    off.add(name)
            elif isinstance(value, ast.Constant) and value.value is True:
                true.add(name)
            elif not _hands_on(name, value):
                other.add(name)
    sums = array("I", sorted(set(map(sum_of, words))))
    named = frozenset(off), frozenset(true), frozenset(false), frozenset(other)
    return Switches(*named, words=sums.tobytes())


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.alias(name=name) | ast.ImportFrom(module=str() as name):
            yield name.rpartition(".")[2]
        case ast.Constant(value=str() as text) if text.isidentifier():
            yield text


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that a node gives a value: defaults, assignments, arguments, entries."""
    match node:
        case ast.arguments():
            positional = [*node.posonlyargs, *node.args]
            defaults = zip(reversed(positional), reversed(node.defaults), strict=False)
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            for argument, value in (*defaults, *named):
                if value is not None and not _is_array(argument.annotation):
                    yield argument.arg, value
        case ast.Assign():
            for target in node.targets:
                if name := _last(target):
                    yield name, node.value
        case ast.AnnAssign(value=ast.expr() as value, annotation=annotation):
            if (name := _last(node.target)) and not _is_array(annotation):
                yield name, value
        case ast.AugAssign():
            if name := _last(node.target):
                yield name, node
        case ast.Call():
            yield from ((k.arg, k.value) for k in node.keywords if k.arg is not None)
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def _declared(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the option that a call declares to a parser of a command line, with its default.

    `add_argument("--debug", action="store_true")`, `click.option("--rate", default=0)`, and
    `DEFINE_bool("debug", False, ...)`.
    """
    name = _last(call.func)
    words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    if name.startswith("DEFINE_"):
        if words and len(call.args) > 1:
            yield words[0], call.args[1]
        return
    option = next((word for word in words if word.startswith("--")), "")
    action = keywords.get("action")
    default = keywords.get("default")
    if default is None and isinstance(action, ast.Constant):
        default = _BY_ACTION.get(str(action.value))
    if option and default is not None:
        kept = keywords.get("dest")
        dest = kept.value if isinstance(kept, ast.Constant) else option
        yield str(dest).lstrip("-").replace("-", "_"), default


_BY_ACTION = {"store_true": ast.Constant(False), "store_false": ast.Constant(True)}


def _is_array(annotation: ast.AST | None) -> bool:
    """Whether a type is one of arrays, `None` or not: that is data, and no option."""
    names = (_last(node) for node in ast.walk(annotation)) if annotation is not None else ()
    return any(name.lower().endswith(("array", "tensor")) for name in names)


def _last(target: ast.AST) -> str:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


_FIELDS = frozenset({"field", "Field", "Option", "Argument", "ib", "attrib"})


def _is_off(value: ast.AST) -> bool:
    match value:
        case ast.Constant(value=constant):
            return not constant and not isinstance(constant, (str, bytes))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _FIELDS:
            default = [k.value for k in value.keywords if k.arg == "default"] or value.args[:1]
            return any(map(_is_off, default))
    return False


def _hands_on(name: str, value: ast.AST) -> bool:
    """Whether a value is what another place holds under the same name, or that or something off."""
    match value:
        case ast.Name(id=other) | ast.Attribute(attr=other):
            return other == name
        case ast.BoolOp(values=parts):
            return all(_hands_on(name, part) or _is_off(part) for part in parts)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=other), *rest]):
            return other == name and all(map(_is_off, rest))
        case ast.Call(
            func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=other), *rest]
        ):
            return other == name and all(map(_is_off, rest))
        case ast.Call(func=ast.Name(id="bool" | "int" | "float"), args=[inner]):
            return _hands_on(name, inner)
    return False
