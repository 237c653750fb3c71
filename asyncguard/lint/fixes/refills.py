"""Host memory that an upload is made from, and that is filled anew before a copy of it is over.

A copy that does not wait reads its source later, so it must not be offered where somebody writes to
that: in the rest of the loop, in the next round, or behind it. Only writes in sight count, of the
function, and for an attribute those of its class.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.fixes import flow, libraries
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    Scope,
    attribute,
    is_constant,
    is_text,
    method,
    positional,
    targets,
)
from asyncguard.lint.syntax.tree import dotted

_VIEWS = words("copy.shares") | words("memory.views")
_SHARING = words("memory.sharing")
_FILLING, _FILLS = words("memory.fills"), words("memory.filling")
Writing = cst.Subscript | cst.AugAssign | cst.Call
Group = frozenset[str]  # variables and attributes (`x`, `self.x`) that may hold one piece of memory


def is_refilled(spot: Spot, value: Expression) -> bool:
    """Whether the memory of what is uploaded is written to while a copy may still read it."""
    code, scope = spot.code, spot.scope
    held = {held for path in _held(code, value) for held in _group(code, scope, path)}
    loops = flow.loops_around(code, spot.node)
    first = code.line(loops[-1] if loops else spot.statement)
    writes = [w for w in _writes(code, scope) if code.line(w[1]) >= first and w[0] & held]
    if any(not _is_of_another(spot, held, node) for _, node in writes):
        return True
    around = code.around(spot.node, cst.ClassDef)
    attributes = frozenset(path for path in held if "." in path)
    if around is None or not attributes:
        return False
    return any(
        paths & attributes and node not in flow.parts(scope) and not _is_made(code, node)
        for paths, node in _writes(code, around)
    )


def _is_made(code: Code, node: cst.CSTNode) -> bool:
    """Whether that is done while its object is made."""
    function = code.around(node, cst.FunctionDef)
    return function is not None and function.name.value == "__init__"


def has_other_names(spot: Spot, value: Expression) -> bool:
    """Whether variables or attributes in view may hold the same memory as a value."""
    held = {*_held(spot.code, value)}
    return any(len(_group(spot.code, spot.scope, path)) > 1 for path in held)


def _is_of_another(spot: Spot, held: set[str], node: Writing) -> bool:
    """Whether a write is to another object that goes by the same name: of a round's own batch."""
    if len(held) != 1:
        return False
    (name,), code = held, spot.code
    own = targets(spot.statement) if isinstance(spot.statement, cst.Assign) else []
    if node in own or name in flow.bound(spot.statement):
        return True  # a list of what is moved; or before it this round's own, behind it the copy
    loop, line = next(iter(flow.loops_around(code, spot.node)), None), code.line(node)
    if loop is None or line >= code.line(spot.statement):
        return False
    makers: list[cst.CSTNode] = [p for p in nodes.body(loop) if name in flow.bound(p)]
    if isinstance(loop, cst.For) and name in flow.named_in(loop.target):
        makers.append(loop.target)
    return any(code.line(maker) < line for maker in makers)


@kept(OF_SCOPES)
def _writes(code: Code, scope: Scope) -> tuple[tuple[Group, Writing], ...]:
    """Return what a scope writes to the memory of: the paths, and the expression that does."""
    parts = nodes.walk(scope) if isinstance(scope, cst.ClassDef) else flow.walk_own(scope)
    rows = _rows(code, scope)
    found: list[tuple[Group, Writing]] = []
    for node in parts:
        if not isinstance(node, _WRITING):
            continue
        for written in _written(code, node):
            paths = frozenset(_held(code, written))
            of_rows = (rows.get(path, frozenset()) for path in paths)
            found.append((paths.union(*of_rows), node))
    return tuple(found)


@kept(OF_SCOPES)
def _rows(code: Code, scope: Scope) -> dict[str, Group]:
    """Return the variables of loops, with what they may hold rows of."""
    found: dict[str, Group] = {}
    for node in flow.walk_own(scope):
        if isinstance(node, cst.For) and isinstance(node.target, cst.Name):
            name = node.target.value
            found[name] = found.get(name, frozenset()).union(_held(code, node.iter))
    return found


_WRITING = (cst.Subscript, cst.AugAssign, cst.Call)


def _written(code: Code, node: Writing) -> Iterator[Expression]:
    """Yield the arrays whose elements a single node writes."""
    if isinstance(node, cst.Subscript):
        if code.is_assigned(node) and not is_text(
            nodes.index(node)
        ):  # which is a key of a dictionary
            yield node.value
    elif isinstance(node, cst.AugAssign):
        yield node.target
    else:
        out = nodes.keyword(node, "out")
        yield from [out] if out is not None else []
        if not isinstance(node.func, cst.Attribute):
            return
        if libraries.library_name(code, node.func) in _FILLS:
            yield from positional(node)[:1]
        elif is_in_place(method(node)) or method(node) in _FILLING:
            yield node.func.value


def _held(code: Code, value: Expression) -> Iterator[str]:
    """Yield the variables and attributes whose memory a value is a part of, by views alone."""
    while True:
        if not is_constant(value) and (path := dotted(value)):
            yield path
            return
        if isinstance(value, cst.IfExp):
            yield from _held(code, value.body)
            value = value.orelse
        elif (inner := _viewed(code, value)) is not None:
            value = inner
        else:
            return


def _viewed(code: Code, value: Expression) -> Expression | None:
    """Return what a value is a view of; None where it is none that is known."""
    if isinstance(value, (cst.Subscript, cst.StarredElement)):
        return value.value
    if isinstance(value, cst.Attribute):
        return value.value if attribute(value) in _VIEWS else None
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
        return None
    if libraries.library_name(code, value.func) in _SHARING:
        return next(iter(positional(value)), None)
    name = method(value)
    return value.func.value if name in _VIEWS or is_in_place(name) else None


def _group(code: Code, scope: Scope, path: str) -> Group:
    """Return all that may hold the same memory as a variable or an attribute, itself included."""
    return next((group for group in _groups(code, scope) if path in group), frozenset({path}))


@kept(OF_SCOPES)
def _groups(code: Code, scope: Scope) -> tuple[Group, ...]:
    found: list[set[str]] = []
    for node in flow.walk_own(scope):
        for target, value in _bindings(node):
            united = {target, *_held(code, value)}
            apart = [group for group in found if not group & united]
            found = [*apart, united.union(*(group for group in found if group & united))]
    return tuple(frozenset(group) for group in found if len(group) > 1)


def _bindings(node: cst.CSTNode) -> Iterator[tuple[str, Expression]]:
    """Yield each variable or attribute that a node binds, with the value."""
    for target in targets(node):
        if path := dotted(target):
            yield path, node.value  # type: ignore[attr-defined]
