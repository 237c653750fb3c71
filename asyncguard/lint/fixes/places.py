"""Where a value is, as far as the text tells: on the host in some steps, on which devices."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.fixes.code import Code, decorators
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax.nodes import (
    SCOPES,
    Expression,
    constant,
    is_name,
    keywords,
    method,
    positional,
    walk,
)
from asyncguard.lint.syntax.tree import dotted

_DEPTH = 5
_MAKERS = words("factory.placed")
_HOST = words("host.libraries")
_GRAPHLESS = words("graph.off")
_DEVICE = pattern("device.numbered")


def may_be_on_host(code: Code, node: Expression, depth: int = _DEPTH) -> bool:
    """Whether a value that is read may be a number, or lie in the host's memory, in some steps."""
    if is_number(code, node):
        return True
    if isinstance(node, cst.IfExp):
        return any(may_be_on_host(code, side, depth) for side in (node.body, node.orelse))
    if is_name(node) and depth:
        values = given(code, node)
        return any(v is not None and may_be_on_host(code, v, depth - 1) for v in values)
    return isinstance(node, cst.Call) and _is_made_on_host(code, node)


def _is_made_on_host(code: Code, call: cst.Call) -> bool:
    meaning = code.meaning(call.func)
    if meaning in _MAKERS:
        return "device" not in keywords(call)
    if meaning.partition(".")[0] in _HOST:
        return True
    name, handed = method(call), positional(call)
    return (name == "cpu" and not handed) or (name == "to" and [*map(constant, handed)] == ["cpu"])


@kept(OF_STATEMENTS)
def devices(code: Code, node: Expression, depth: int = _DEPTH) -> frozenset[str]:
    """Return the devices with a number that a value or what it is computed from is put on."""
    found: set[str] = set()
    for part in walk(node):
        text = constant(part)
        if isinstance(text, str):
            if _DEVICE.search(text):
                found.add(text)
        elif is_name(part) and depth:
            values = (value for value in given(code, part) if value is not None)
            found.update(*(devices(code, value, depth - 1) for value in values))
    return frozenset(found)


def is_without_graph(code: Code, node: cst.CSTNode) -> bool:
    """Whether code runs where torch records no graph: `with torch.no_grad():`, or decorated so."""
    if isinstance(code.scope(node), cst.Lambda):
        return False
    for parent in code.enclosing(node):
        marks: list[Expression] = []
        if isinstance(parent, cst.With):
            marks = [item.item for item in parent.items] if parent.asynchronous is None else []
        elif isinstance(parent, cst.FunctionDef):
            marks = [each.decorator for each in decorators(parent)]
        called = [mark.func if isinstance(mark, cst.Call) else mark for mark in marks]
        if any(dotted(mark) and code.meaning(mark) in _GRAPHLESS for mark in called):
            return True
        if isinstance(parent, SCOPES):
            return False
    return False
