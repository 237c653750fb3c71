"""libcst's trees, walked: their code, without the whitespace, the commas and the brackets.

`children` walks one, `dotted` names a chain of attributes, `text_of` says what a string literal
holds. Where a node stands is for `syntax.unit` to say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import libcst as cst

LONGEST_TYPE = 400  # characters of a type in a string; libcst is slow where brackets nest


@lru_cache(maxsize=1024)
def parse_type(text: str) -> cst.BaseExpression | None:
    """Parse a type that a string names; None if it holds anything else."""
    if len(text) > LONGEST_TYPE:
        return None
    try:
        return cst.parse_expression(text.strip())
    except Exception:  # noqa: BLE001 - any text may stand in an annotation or a docstring
        return None


# Fields that hold no expression or statement, or only names that types are generic in.
_DULL = ("whitespace", "leading", "lines_after", "header", "footer", "indent", "newline",
         "lpar", "rpar", "comma", "semicolon", "dot", "equal", "trailing", "lbracket", "rbracket",
         "lbrace", "rbrace", "asynchronous", "star", "operator_whitespace", "separator",
         "encoding", "default_indent", "default_newline", "has_trailing", "posonly_ind",
         "type_parameters")  # fmt: skip


@cache
def _parts(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields that may hold code, from nodes of a kind."""
    names = [f.name for f in dataclasses.fields(kind) if not f.name.startswith(_DULL)]
    return _getter(names)


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields of these names, as a tuple."""
    if not names:
        return lambda node: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda node: (get(node),)


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


_NODES = frozenset(_kinds(cst.CSTNode))  # `isinstance` is slow for classes with an ABC as base
_LEAVES = frozenset({cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.FormattedStringText})


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the direct children that are code, in source order."""
    return [] if type(node) in _LEAVES else _nodes_in(_parts(type(node))(node))


def _nodes_in(fields: Iterable[Any]) -> list[Any]:
    """Return the nodes that fields hold, by themselves or in lists."""
    found: list[Any] = []
    for value in fields:
        kind = type(value)
        if kind is list or kind is tuple:
            found += value
        elif kind in _NODES:
            found.append(value)
    return found


# Fields of names that are no expressions: `f(keyword=value)`, `import a.b as c`.
_WORDS: dict[type[Any], frozenset[str]] = {
    cst.Attribute: frozenset({"attr"}),
    cst.Arg: frozenset({"keyword"}),
    cst.Param: frozenset({"name"}),
    cst.FunctionDef: frozenset({"name"}),
    cst.ClassDef: frozenset({"name"}),
    cst.ExceptHandler: frozenset({"name"}),
    cst.ExceptStarHandler: frozenset({"name"}),
    cst.NameItem: frozenset({"name"}),
    cst.Import: frozenset({"names"}),
    cst.ImportFrom: frozenset({"module", "names"}),
    cst.MatchAs: frozenset({"name"}),
    cst.MatchStar: frozenset({"name"}),
    cst.MatchMapping: frozenset({"rest"}),
    cst.MatchKeywordElement: frozenset({"key"}),
    cst.MatchSingleton: frozenset({"value"}),
}


@cache
def _inner(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields of a node that may hold expressions or statements."""
    words = _WORDS.get(kind, frozenset())
    fields = (f.name for f in dataclasses.fields(kind) if f.name not in words)
    names = [name for name in fields if name.startswith(_STARRED) or not name.startswith(_DULL)]
    return _getter(names)


_STARRED = ("star_arg", "star_kwarg")  # parameters


def expressions(node: cst.CSTNode) -> list[Any]:
    """Return the direct children, but for names that are no expressions."""
    return [] if type(node) in _LEAVES else _nodes_in(_inner(type(node))(node))


def walk_expressions(node: cst.CSTNode) -> list[Any]:
    """Return `node` and all below it, the outer before the inner, without such names."""
    found: list[Any] = [node]
    for part in found:
        found += expressions(part)
    return found


def suite(node: Any) -> Sequence[Any]:
    """Return the statements in a block, those of a line each by itself."""
    found: list[Any] = []
    for statement in node.body:
        if type(statement) is cst.SimpleStatementLine:
            found += statement.body
        else:
            found.append(statement)
    return found


def stored(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names that a simple statement or an expression binds."""
    for part in walk_expressions(node):
        kind = type(part)
        if kind is cst.Assign:
            for target in part.targets:
                yield from named_in(target.target)
        elif kind in _BINDING:
            yield from named_in(part.target)
        elif kind is cst.AsName:
            yield from named_in(part.name)


_BINDING = frozenset({cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.CompFor})


def named_in(target: Any) -> Iterator[str]:
    """Yield the names in a target, which may be a tuple of some."""
    if type(target) is cst.Name:
        yield target.value
    elif type(target) is cst.Tuple or type(target) is cst.List:
        for element in target.elements:
            yield from named_in(element.value)


def argument_paths(call: cst.Call) -> frozenset[str]:
    """Return the plain names and the paths in the arguments of a call."""
    paths = (dotted(argument.value) for argument in call.args)
    return frozenset(paths).union(*(names_in(argument.value) for argument in call.args))


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Return the plain names in a piece of code."""
    return frozenset(n.value for n in walk(node) if type(n) is cst.Name)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and all code below it, in no particular order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


def dotted(node: cst.CSTNode) -> str:
    """Return `a.b.c` of a chain of names, or "" of anything else."""
    if type(node) is cst.Name:
        return node.value
    if type(node) is not cst.Attribute:  # asked often, like `_NODES`
        return ""
    owner = node.value
    if type(owner) is cst.Name:
        return f"{owner.value}.{node.attr.value}"
    path = dotted(owner)
    return f"{path}.{node.attr.value}" if path else ""


def item_path(node: cst.CSTNode) -> str:
    """Name `d["key"]` as a path, so that hints and assignments find it; "" of anything else."""
    if type(node) is not cst.Subscript or len(node.slice) != 1:
        return ""
    index = node.slice[0].slice
    if type(index) is not cst.Index or type(index.value) is not cst.SimpleString:
        return ""
    base = dotted(node.value)
    return f"{base}.{index.value.raw_value}" if base else ""


def key_of(node: cst.Subscript) -> str:
    """Return the text by which this takes an entry: `options["debug"]`; "" of other indices."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return text_of(index.value) or "" if type(index) is cst.Index else ""


def docstring(node: cst.CSTNode) -> str:
    """Return what a function's docstring says, as it is written; "" if it has none."""
    first: Any = node.body.body[0] if type(node) is cst.FunctionDef else None
    if type(first) is cst.SimpleStatementLine:
        first = first.body[0]
    return text_of(first.value) or "" if type(first) is cst.Expr else ""


def text_of(node: cst.CSTNode | None) -> str | None:
    """Return what a string literal holds, one in several pieces too; None of anything else."""
    if type(node) is cst.SimpleString:
        quoted = node.value
        if quoted[0] in "'\"" and "\\" not in quoted:
            ends = 3 if quoted[:3] in ('"""', "'''") else 1
            return quoted[ends:-ends]
    elif type(node) is not cst.ConcatenatedString:
        return None
    try:
        text = node.evaluated_value
    except (ValueError, SyntaxError):
        return None
    return text if isinstance(text, str) else None


def word_of(node: cst.CSTNode | None) -> str | int | None:
    """Return a text or an integer that is written out; None of anything else."""
    return node.evaluated_value if type(node) is cst.Integer else text_of(node)
