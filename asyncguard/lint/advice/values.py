"""Where a value that was read goes, within a function.

Purely syntactic: names and attributes of `self` are followed through plain assignments, a few of
them deep.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.advice.making import is_named, paired
from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.syntax.nodes import (
    STATEMENTS,
    Scope,
    attribute,
    bound_by,
    indices,
    name_of,
    same,
    targets,
    unpacked,
    walk,
)

DEPTH = 4  # assignments followed from a value to its uses
MOST_USES = 16  # of a name that are followed from one assignment


class Use(NamedTuple):
    """One place that a value comes to: `parent` does something with `child`, which holds it.

    An argument that has a keyword, or is unpacked, is a place of its own: an `Arg`.
    """

    child: cst.CSTNode
    parent: Any

    @property
    def called(self) -> str:
        """The last name of the function or method that is given the value, or called on it."""
        call = self.parent
        if not isinstance(call, cst.Call):
            return attribute(call)
        return "" if call.func is self.child else last_name(call.func)


def last_name(node: cst.CSTNode) -> str:
    """Return `f` of `a.b().f`."""
    return attribute(node) or name_of(node)


# What hands a value on as it is, or as a part of something: the place that counts is further out.
_HOLDS = (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.List, cst.Tuple,
          cst.Set, cst.StarredElement, cst.Arg, cst.IfExp, cst.ListComp, cst.GeneratorExp,
          cst.NamedExpr)  # fmt: skip
_LOOPS = (cst.For, cst.CompFor)
_BINDS = (cst.Assign, cst.AnnAssign, cst.AugAssign, *_LOOPS)
_CONVERTS = family("advice.converts")


Ends = Callable[[Use], object]


def uses(spot: Spot, ends: Ends = lambda use: False) -> Iterator[Use]:
    """Yield the places that what a finding reads comes to, the nearest first.

    What comes of it at a place that `ends` it is followed no further.
    """
    yield from _uses(spot.code, spot.scope, spot.node, DEPTH, set(), ends)


def indexes(use: Use) -> bool:
    """Whether something is indexed by it there, alone or beside other indices."""
    return isinstance(use.parent, cst.Subscript) and use.child in indices(use.parent)


def hands_on(use: Use) -> bool:
    """Whether this place passes the value on, to the expression around it or to a name."""
    return isinstance(use.parent, _BINDS) or _hands_on(use.parent, use.child)


def places(code: Code, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what is around a node, innermost first, as a `Use` sees it."""
    for parent in code.outers(node):
        argument = code.parent(node)
        if isinstance(argument, cst.Arg) and (argument.star or is_named(argument)):
            yield argument
        yield parent
        node = parent


def place(code: Code, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return what is right around a node."""
    return next(places(code, node), None)


def _uses(
    code: Code, scope: Scope, node: cst.CSTNode, depth: int, seen: set[cst.CSTNode], ends: Ends
) -> Iterator[Use]:
    child = node
    for parent in places(code, node):
        use = Use(child, parent)
        yield use
        if ends(use):
            return
        if isinstance(parent, _BINDS):
            names = _bound(parent, child, node) if depth and parent not in seen else set()
            seen.add(parent)
            for name in sorted(names):
                for load in _near(code, scope, parent, name):
                    if _comes_to(code, parent, load):
                        yield from _uses(code, scope, load, depth - 1, seen, ends)
            return
        if not _hands_on(parent, child):
            return
        child = parent


def _comes_to(code: Code, binding: cst.CSTNode, load: cst.CSTNode) -> bool:
    """Whether a name may hold there what was bound: after it, or in the next round of a loop."""
    if isinstance(binding, _LOOPS):
        return True
    if code.line(load) < code.line(binding):
        return bool(flow.loops_around(code, binding))
    return load not in flow.parts(binding) and not _is_replaced(code, binding, load)


def _near(code: Code, scope: Scope, binding: cst.CSTNode, name: str) -> list[cst.CSTNode]:
    """Return the uses of a name after a binding, the nearest, and in loops those before it."""
    found = _in_order(code, scope).get(name, [])
    is_clause = isinstance(binding, cst.CompFor)
    first = 0 if is_clause else bisect_left(found, code.line(binding), key=code.line)
    again = found[:first][:MOST_USES] if first and flow.loops_around(code, binding) else []
    return found[first : first + MOST_USES] + again


@kept(OF_SCOPES)
def _in_order(code: Code, scope: Scope) -> dict[str, list[cst.CSTNode]]:
    """Return the uses of each name by line."""
    return {name: sorted(found, key=code.line) for name, found in loads(scope).items()}


def _is_replaced(code: Code, binding: cst.CSTNode, load: cst.CSTNode) -> bool:
    """Whether a later assignment of the block gives the name another value before it is used."""
    block, _ = code.block(binding)
    later = _replacing(code, code.scope(binding)).get((id(block), _path(load)), [])
    at = bisect_right(later, code.line(binding), key=code.line)
    return at < len(later) and code.line(load) > code.last_line(later[at])


@kept(OF_SCOPES)
def _replacing(code: Code, scope: Scope) -> dict[tuple[int, str], list[cst.Assign]]:
    """Return what assigns names as a whole, by block and name, in its order."""
    found: dict[tuple[int, str], list[cst.Assign]] = {}
    for node in flow.walk_own(scope):
        for target in targets(node) if isinstance(node, cst.Assign) else ():
            if name := _path(target):
                found.setdefault((id(code.block(node)[0]), name), []).append(node)
    return {key: sorted(statements, key=code.line) for key, statements in found.items()}


@kept(OF_SCOPES)
def loads(scope: Scope) -> dict[str, list[cst.CSTNode]]:
    """Return where the value of each name is used, nested functions included."""
    found: dict[str, list[cst.CSTNode]] = {}
    parts = walk(scope)
    stored = {target for part in parts for target in bound_by(part)}
    for node in parts:
        if (name := _path(node)) and node not in stored:
            found.setdefault(name, []).append(node)
    return found


def _path(node: cst.CSTNode) -> str:
    """Return a name, or an attribute of `self` with its dot; "" of anything else."""
    if isinstance(node, cst.Attribute):
        return f"self.{node.attr.value}" if name_of(node.value) == "self" else ""
    return name_of(node)


def _bound(parent: Any, child: cst.CSTNode, value: cst.CSTNode) -> set[str]:
    """Return the names that an assignment of a value binds, or a loop over it.

    Of `for x, y in zip(a, b)`, `x` for a value within `a`.
    """
    if isinstance(parent, _LOOPS):
        pairs = paired(parent.target, parent.iter) if parent.iter is child else ()
        found = [target for target, source in pairs if value in flow.parts(source)]
    else:
        found = targets(parent) if isinstance(parent, cst.Assign) else [parent.target]
    return {name for target in found for part in unpacked(target) if (name := _path(part))}


def _hands_on(parent: Any, child: cst.CSTNode) -> bool:
    """Whether what stands around an expression still holds its value."""
    if isinstance(parent, cst.Attribute):
        return _CONVERTS(attribute(parent))
    if isinstance(parent, cst.Call):
        return _CONVERTS(last_name(parent.func))
    if isinstance(parent, cst.Subscript):
        return parent.value is child
    return isinstance(parent, _HOLDS)


def condition_of(spot: Spot) -> cst.If | cst.Assert | cst.While | None:
    """Return the statement whose condition holds the read."""
    part: cst.CSTNode = spot.node
    for around in spot.code.outers(part):
        if around is spot.statement and isinstance(around, (cst.If, cst.While, cst.Assert)):
            return around if around.test is part else None
        if isinstance(around, STATEMENTS):
            return None
        part = around
    return None


def is_repeated(spot: Spot, other: Spot) -> bool:
    """Whether another read could be made together with this one: nothing it needs changes."""
    if spot.body is not other.body or same(spot.node, other.node) or spot.at > other.at:
        return False
    between = spot.body[spot.at : other.at]
    return not effects.changes_in_view(spot.code, between, other.node)
