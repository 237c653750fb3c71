"""Where a value that was read goes, within a function.

Purely syntactic: names and attributes of `self` are followed through plain assignments, a few of
them deep.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from asyncguard.lint.advice.making import paired
from asyncguard.lint.fixes import effects, flow
from asyncguard.lint.fixes.code import Code, Scope, same
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.names import family
from asyncguard.lint.source import parsed

DEPTH = 4  # assignments followed from a value to its uses
MOST_USES = 16  # of a name that are followed from one assignment


class Use(NamedTuple):
    """One place that a value comes to: `parent` does something with `child`, which holds it."""

    child: ast.AST
    parent: ast.AST

    @property
    def called(self) -> str:
        """The last name of the function or method that is given the value, or called on it."""
        if isinstance(self.parent, ast.Attribute):
            return self.parent.attr
        call = self.parent
        if not isinstance(call, ast.Call) or call.func is self.child:
            return ""
        return last_name(call.func)


def last_name(node: ast.expr) -> str:
    """Return `f` of `a.b().f`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# What hands a value on as it is, or as a part of something: the place that counts is further out.
_HOLDS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.List, ast.Tuple, ast.Set, ast.Starred, ast.IfExp,
          ast.keyword, ast.ListComp, ast.GeneratorExp, ast.NamedExpr)  # fmt: skip
_LOOPS = (ast.For, ast.comprehension)
Path = ast.Name | ast.Attribute
Binds = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.comprehension
_CONVERTS = family("advice.converts")


Ends = Callable[[Use], object]


def uses(spot: Spot, ends: Ends = lambda use: False) -> Iterator[Use]:
    """Yield the places that what a finding reads comes to, the nearest first.

    What comes of it at a place that `ends` it is followed no further.
    """
    yield from _uses(spot.code, spot.scope, spot.node, DEPTH, set(), ends)


def hands_on(use: Use) -> bool:
    """Whether this place passes the value on, to the expression around it or to a name."""
    return isinstance(use.parent, Binds) or _hands_on(use.parent, use.child)


def _uses(
    code: Code, scope: Scope, node: ast.AST, depth: int, seen: set[ast.AST], ends: Ends
) -> Iterator[Use]:
    child = node
    for parent in code.parents(node):
        use = Use(child, parent)
        yield use
        if ends(use):
            return
        if isinstance(parent, Binds):
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


def _comes_to(code: Code, binding: Binds, load: Path) -> bool:
    """Whether a name may hold there what was bound: after it, or in the next round of a loop."""
    if isinstance(binding, _LOOPS):
        return True
    if load.lineno < binding.lineno:
        return bool(flow.loops_around(code, binding))
    return load not in flow.parts(binding) and not _is_replaced(code, binding, load)


def _near(code: Code, scope: Scope, binding: Binds, name: str) -> list[Path]:
    """Return the uses of a name after a binding, the nearest, and in loops those before it."""
    found = _in_order(scope).get(name, [])
    line = getattr(binding, "lineno", 0) or getattr(binding.target, "lineno", 0)  # type: ignore[union-attr]
    first = 0 if isinstance(binding, ast.comprehension) else bisect_left(found, line, key=_line)
    again = found[:first][:MOST_USES] if first and flow.loops_around(code, binding) else []
    return found[first : first + MOST_USES] + again


@kept(OF_SCOPES)
def _in_order(scope: Scope) -> dict[str, list[Path]]:
    """Return the uses of each name by line."""
    return {name: sorted(found, key=_line) for name, found in loads(scope).items()}


def _line(node: ast.expr | ast.stmt) -> int:
    return node.lineno


def _is_replaced(code: Code, binding: Binds, load: Path) -> bool:
    """Whether a later assignment of the block gives the name another value before it is used."""
    if not isinstance(binding, ast.stmt):
        return False
    block, _ = code.block(binding)
    later = _replacing(code, code.scope(binding)).get((id(block), _path(load)), [])
    at = bisect_right(later, binding.lineno, key=_line)
    return at < len(later) and load.lineno > (later[at].end_lineno or later[at].lineno)


@kept(OF_SCOPES)
def _replacing(code: Code, scope: Scope) -> dict[tuple[int, str], list[ast.Assign]]:
    """Return what assigns names as a whole, by block and name, in its order."""
    found: dict[tuple[int, str], list[ast.Assign]] = {}
    for node in flow.walk_own(scope):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if name := _path(target):
                key = id(code.block(node)[0]), name  # type: ignore[arg-type]
                found.setdefault(key, []).append(node)  # type: ignore[arg-type]
    return {key: sorted(statements, key=_line) for key, statements in found.items()}


@kept(OF_SCOPES)
def loads(scope: Scope) -> dict[str, list[Path]]:
    """Return where the value of each name is used, nested functions included."""
    found: dict[str, list[Path]] = {}
    for node in parsed.walk(scope):
        if isinstance(node, Path) and isinstance(node.ctx, ast.Load) and (name := _path(node)):
            found.setdefault(name, []).append(node)
    return found


def _path(node: ast.AST) -> str:
    """Return a name, or an attribute of `self` with its dot; "" of anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"self.{node.attr}" if node.value.id == "self" else ""
    return node.id if isinstance(node, ast.Name) else ""


def _bound(parent: Binds, child: ast.AST, value: ast.AST) -> set[str]:
    """Return the names that an assignment of a value binds, or a loop over it.

    Of `for x, y in zip(a, b)`, `x` for a value within `a`.
    """
    if isinstance(parent, _LOOPS) and parent.iter is not child:
        return set()
    targets: list[ast.expr] = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
    if isinstance(parent, _LOOPS):
        pairs = paired(parent.target, parent.iter)
        targets = [target for target, source in pairs if value in flow.parts(source)]
    parts = (part for target in targets for part in parsed.walk(target))
    stores = (p for p in parts if isinstance(p, Path) and isinstance(p.ctx, ast.Store))
    return {name for part in stores if (name := _path(part))}


def _hands_on(parent: ast.AST, child: ast.AST) -> bool:
    """Whether what stands around an expression still holds its value."""
    if isinstance(parent, ast.Attribute):
        return _CONVERTS(parent.attr)
    if isinstance(parent, ast.Call):
        return _CONVERTS(last_name(parent.func))
    if isinstance(parent, ast.Subscript):
        return parent.value is child
    return isinstance(parent, _HOLDS)


def condition_of(spot: Spot) -> ast.If | ast.Assert | ast.While | None:
    """Return the statement whose condition holds the read."""
    part: ast.AST | None = spot.node
    while part is not None and not isinstance(part, ast.stmt):
        around = spot.code.parent(part)
        if around is spot.statement and isinstance(around, ast.If | ast.While | ast.Assert):
            return around if around.test is part else None
        part = around
    return None


def is_repeated(spot: Spot, other: Spot) -> bool:
    """Whether another read could be made together with this one: nothing it needs changes."""
    if spot.body is not other.body or same(spot.node, other.node) or spot.at > other.at:
        return False
    between = spot.body[spot.at : other.at]
    return not effects.changes_in_view(spot.code, between, other.node)
