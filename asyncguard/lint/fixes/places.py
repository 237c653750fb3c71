"""Where a value is, as far as the text tells: on the host in some steps, on which devices."""

from __future__ import annotations

import ast

from asyncguard.lint.fixes.code import FUNCTIONS, SCOPES, Code, dotted
from asyncguard.lint.fixes.holding import given
from asyncguard.lint.fixes.host import is_number
from asyncguard.lint.fixes.kept import OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.source import parsed

_DEPTH = 5
_MAKERS = words("factory.placed")
_HOST = words("host.libraries")
_GRAPHLESS = words("graph.off")
_DEVICE = pattern("device.numbered")


def may_be_on_host(code: Code, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a value that is read may be a number, or lie in the host's memory, in some steps."""
    if is_number(code, node):
        return True
    if isinstance(node, ast.IfExp):
        return any(may_be_on_host(code, side, depth) for side in (node.body, node.orelse))
    if isinstance(node, ast.Name) and depth:
        values = given(code, node)
        return any(v is not None and may_be_on_host(code, v, depth - 1) for v in values)
    return isinstance(node, ast.Call) and _is_made_on_host(code, node)


def _is_made_on_host(code: Code, call: ast.Call) -> bool:
    meaning = code.meaning(call.func)
    told = {keyword.arg for keyword in call.keywords}
    if meaning in _MAKERS:
        return "device" not in told
    if meaning.partition(".")[0] in _HOST:
        return True
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    to = [a.value for a in call.args if isinstance(a, ast.Constant)]
    return (name == "cpu" and not call.args) or (name == "to" and to == ["cpu"])


@kept(OF_STATEMENTS)
def devices(code: Code, node: ast.expr, depth: int = _DEPTH) -> frozenset[str]:
    """Return the devices with a number that a value or what it is computed from is put on."""
    found: set[str] = set()
    for part in parsed.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if _DEVICE.search(part.value):
                found.add(part.value)
        elif isinstance(part, ast.Name) and depth:
            values = (value for value in given(code, part) if value is not None)
            found.update(*(devices(code, value, depth - 1) for value in values))
    return frozenset(found)


def is_without_graph(code: Code, node: ast.AST) -> bool:
    """Whether code runs where torch records no graph: `with torch.no_grad():`, or decorated so."""
    for parent in code.parents(node):
        marks: list[ast.expr] = []
        if isinstance(parent, ast.With):
            marks = [item.context_expr for item in parent.items]
        elif isinstance(parent, FUNCTIONS):
            marks = parent.decorator_list
        called = [mark.func if isinstance(mark, ast.Call) else mark for mark in marks]
        if any(dotted(mark) and code.meaning(mark) in _GRAPHLESS for mark in called):
            return True
        if isinstance(parent, SCOPES):
            return False
    return False
