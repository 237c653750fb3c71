"""Effects of code: may a stretch of it change what an expression gives, and would anybody notice?

The one analysis that decides whether a repair is safe. A *stretch* is what runs between two places:
statements of a block, a whole round of a loop (`round_of`), what a statement evaluates before one
of its parts (`before`). Ask

- `may_change(code, stretch, expression)`: whether the expression may give something else, or
  raise, after the stretch: it binds a name, writes to memory that the expression reads, by whatever
  name or view, or runs code that is not known and may reach it;
- `changes_in_view(code, stretch, expression)`: likewise, if calls that are not known change no more
  than what they are given; no proof, so a repair that rests on it is unsafe;
- `is_repeatable(code, expression)`: whether it may be evaluated more or less often: every part is
  known, changes nothing, and gives the same each time;
- `is_inert(code, stretch)`: whether it runs no unknown code, prints nothing and writes to nothing;
- `sorts.is_tensor`, `sorts.is_array`, `sorts.is_plain`: what a value is proven to be.

What is not proven counts as an effect. Taken for granted is only that attributes and operators of
classes *of other files* write to no array, and that finalizers do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes import aliases, bindings, flow, libraries, unknowns
from asyncguard.lint.fixes.aliases import OUTSIDE
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    STATEMENTS,
    Expression,
    Loop,
    Scope,
    attribute,
    is_name,
    keywords,
    method,
    name_of,
    root,
    walk,
)
from asyncguard.lint.syntax.tree import dotted, expressions

_RANDOM = words("sort.random")
_LOOKING = words("method.pure") | words("method.noting") | words("method.meter") | words("read.any")
_NEVER_REPEATED = (cst.Await, cst.Yield, cst.NamedExpr, cst.Lambda, cst.GeneratorExp)


class Effects(NamedTuple):
    """The names that code binds, the variables whose memory it writes to, and what calls do.

    `given` are the variables that calls of unknown code are given, or are methods of.
    """

    bound: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    unknown: bool = False
    prints: bool = False


def is_written(code: Code, stretch: Sequence[Part], expression: Expression) -> bool:
    """Whether a stretch binds a name of an expression, or writes to its memory in sight."""
    names = flow.names(expression)
    binds = any(names & _effects(code, part).bound for part in stretch)
    return binds or writes_to(code, stretch, expression)


def writes_to(code: Code, stretch: Sequence[Part], expression: Expression) -> bool:
    """Whether a stretch writes in sight to memory that an expression reads."""
    known = aliases.groups(code, code.scope(expression))
    read = known.of_all(_memory(code, expression))
    return any(read & known.of_all(_effects(code, part).written) for part in stretch)


def may_change(code: Code, stretch: Iterable[Part], expression: Expression) -> bool:
    """Whether an expression may give something else, or raise, once a stretch has run."""
    scope = code.scope(expression)
    names = flow.names(expression)
    known = aliases.groups(code, scope)
    read = known.of_all(_memory(code, expression))
    for part in stretch:
        if isinstance(part, (Expression, *STATEMENTS)) and code.scope(part) is not scope:
            return True
        effects = _effects(code, part)
        if names & effects.bound or read & known.of_all(effects.written):
            return True
        if effects.unknown and (OUTSIDE in read or any(_is_shared(code, expression, names))):
            return True
    return False


def changes_in_view(code: Code, stretch: Iterable[Part], expression: Expression) -> bool:
    """Whether a stretch plainly changes what an expression gives, or hands it to who might.

    Unlike `may_change` it believes that unknown code leaves alone what it is not given, unless a
    function of the file changes just that.
    """
    names = flow.names(expression)
    known = aliases.groups(code, code.scope(expression), in_view=True)
    read = known.of_all(names)
    reached = read & known.of_all(_changed_by_functions(code.tree))
    for part in stretch:
        effects = _effects(code, part, in_view=True)
        if names & effects.bound or read & known.of_all(effects.written | effects.given):
            return True
        if effects.unknown and reached:
            return True
        if _hands_over(part) and may_change(code, [part], expression):
            return True
    return False


@kept(OF_STATEMENTS)
def _hands_over(part: Part) -> bool:
    """Whether others run in between: the caller of a generator, or other tasks."""
    if isinstance(part, Iteration):
        return False
    return any(isinstance(n, (cst.Yield, cst.Await)) for n in flow.walk_own(part))


def may_write(code: Code, stretch: Iterable[Part], value: Expression) -> bool:
    """Whether a stretch plainly writes to the memory of a value, by whatever name."""
    known = aliases.groups(code, code.scope(value), in_view=True)
    held = known.of_all(flow.names(value))
    return any(held & known.of_all(_effects(code, s, in_view=True).written) for s in stretch)


def is_ever_written(code: Code, name: cst.Name) -> bool:
    """Whether anybody may write to what a variable holds, anywhere in its function or outside."""
    scope = code.scope(name)
    known = aliases.groups(code, scope)
    held = known.of(name.value)
    if held == OUTSIDE:
        return True
    body = [] if isinstance(scope, cst.Lambda) else nodes.body(scope)
    return any(held in known.of_all(_effects(code, part).written) for part in body)


def is_inert(code: Code, stretch: Iterable[Part]) -> bool:
    """Whether a stretch runs no unknown code, prints nothing, and writes to no list or object."""
    effects = [_effects(code, part) for part in stretch]
    return not any(each.unknown or each.written or each.prints for each in effects)


def is_repeatable(code: Code, expression: Expression) -> bool:
    """Whether an expression may be evaluated more or less often, and nobody notices."""
    if any(isinstance(part, _NEVER_REPEATED) for part in walk(expression)):
        return False
    return is_inert(code, [expression]) and not any(
        isinstance(part, cst.Call) and _is_random(part) for part in walk(expression)
    )


def _is_random(call: cst.Call) -> bool:
    return method(call) in _RANDOM


def may_lead(code: Code, statement: cst.CSTNode, node: Expression) -> bool:
    """Whether a part of a statement, evaluated before all of it, is the same to everybody."""
    earlier = before(code, statement, node)
    return is_inert(code, earlier) and not may_change(code, earlier, node)


class Iteration(NamedTuple):
    """The step of a loop to its next element."""

    loop: Loop


Part = cst.CSTNode | Iteration  # of a stretch


def round_of(loop: Loop) -> list[Part]:
    """Return the stretch that is one round of a loop, what is asked before it included."""
    head = [loop.test] if isinstance(loop, cst.While) else [loop.iter, loop.target]
    return [*head, Iteration(loop), *nodes.body(loop)]


def before(code: Code, statement: cst.CSTNode, node: Expression) -> list[Part]:
    """Return what a statement may evaluate before one of its parts."""
    found: list[Part] = []
    child: cst.CSTNode = node
    for parent in code.parents(node):
        if parent is statement:
            return [*found, *_header(statement, child)]
        siblings = expressions(parent)
        if isinstance(parent, _IN_ORDER):
            siblings = siblings[: siblings.index(child)]
        found += [part for part in siblings if part is not child]
        child = parent
    return found


_IN_ORDER = (cst.Call, cst.BinaryOperation, cst.Tuple, cst.List, cst.Subscript, cst.Attribute,
             cst.Comparison, cst.FormattedString, cst.StarredElement,
             cst.FormattedStringExpression)  # fmt: skip


def _header(statement: cst.CSTNode, child: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the expressions of a statement's own line but one, and of targets what is looked up."""
    for part in expressions(statement):
        if part is child:
            continue
        if isinstance(part, cst.AssignTarget):
            yield from _looked_up(part.target)
        elif part is getattr(statement, "target", None):
            yield from _looked_up(part)
        elif isinstance(part, (cst.Arg, cst.Decorator, cst.Annotation, cst.From)):
            yield from expressions(part)
        elif isinstance(part, (Expression, cst.WithItem)):
            yield part


def _looked_up(target: Any) -> Iterator[cst.CSTNode]:
    """Yield the parts of a target, but for names."""
    parts = nodes.elements(target) or expressions(target)
    return (part for part in parts if not is_name(part))


# ---- what code does


@kept(OF_STATEMENTS)
def _effects(code: Code, node: Part, *, in_view: bool = False) -> Effects:
    """Return what running a piece of code does."""
    if isinstance(node, Iteration):
        source = node.loop.test if isinstance(node.loop, cst.While) else node.loop.iter
        return Effects(unknown=not unknowns.iterates_known(code, source))
    if isinstance(node, cst.FunctionDef):
        return Effects(frozenset({node.name.value}), unknown=bool(node.decorators))
    bound = flow.bound(node)
    written: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    unknown = prints = False
    for part in flow.walk_own(node):
        if unknowns.runs_unknown(code, part):
            unknown = True
            given |= _handed(part)
        prints = prints or (isinstance(part, cst.Call) and dotted(part.func) == "print")
        written |= _written(code, part, in_view)
        if is_name(part) and not isinstance(node, STATEMENTS) and code.is_stored(part):
            bound.add(part.value)
    return Effects(frozenset(bound), written, given, unknown, prints)


def _handed(node: cst.CSTNode) -> frozenset[str]:
    """Return the variables that a call is given, unless it only looks, by its name."""
    if not isinstance(node, cst.Call) or method(node) in _LOOKING:
        return frozenset()
    found = {name_of(part) for part in nodes.given(node)} - {""}
    return frozenset(found | ({root(node.func)} if method(node) else set()))


@kept(OF_SCOPES)
def _changed_by_functions(tree: cst.Module) -> frozenset[str]:
    """Return the names that functions of the file change though they are not their own."""
    functions = (n for n in walk(tree) if isinstance(n, (cst.FunctionDef, cst.Lambda)))
    return frozenset(
        name
        for function in functions
        for part in _body(function)
        for name in flow.changed([part]) - bindings.own_names(function)
    )


def _body(scope: Scope) -> Sequence[cst.CSTNode]:
    """Return the statements of a scope, or the expression of a lambda."""
    return [scope.body] if isinstance(scope, cst.Lambda) else nodes.body(scope)


# ---- what is written


def _written(code: Code, node: cst.CSTNode, in_view: bool) -> frozenset[str]:
    """Return the variables to whose memory a single node writes, or `OUTSIDE`."""
    if isinstance(node, (cst.Attribute, cst.Subscript)):
        held = [node.value] if code.is_stored(node) else []
    elif isinstance(node, cst.AugAssign):
        held = [node.target]
    else:
        held = _written_by_call(code, node) if isinstance(node, cst.Call) else []
    found = (aliases.shares(code, part, in_view=in_view) for part in held)
    return frozenset[str]().union(*found)


def _written_by_call(code: Code, call: cst.Call) -> list[Expression]:
    """Return what a call writes to: its `out`, what it is a method of, or all it is given."""
    function, told = call.func, keywords(call)
    given = nodes.given(call)
    if not isinstance(function, cst.Attribute):
        return given if {"", "out"} & told.keys() else []
    in_place = is_in_place(attribute(function)) or "inplace" in told
    if libraries.library_name(code, function):
        return given if in_place or {"", "out"} & told.keys() else []
    in_place = in_place or attribute(function) in libraries.MUTATORS or "" in told
    return [*([function.value] if in_place else []), *([told["out"]] if "out" in told else [])]


# ---- what is read


def _memory(code: Code, expression: Expression) -> frozenset[str]:
    """Return the variables whose memory an expression reads, or `OUTSIDE`."""
    found = {OUTSIDE for part in walk(expression) if attribute(part) == "grad"}
    for node in walk(expression):
        if is_name(node) and not _is_fixed(code, node):
            found |= aliases.shares(code, node)
    return frozenset(found)


def _is_fixed(code: Code, node: cst.Name) -> bool:
    """Whether a name is a module, or a builtin that the file leaves as it is."""
    if libraries.library_name(code, node):
        return True
    return libraries.builtin_name(code, node) in libraries.KNOWN_BUILTINS


def _is_shared(code: Code, expression: Expression, names: Iterable[str]) -> Iterator[bool]:
    """Yield for each name of an expression whether code elsewhere may bind it anew."""
    scope = code.scope(expression)
    for node in walk(expression):
        if name_of(node) in names:
            own = node.value in bindings.own_names(scope)
            yield not _is_fixed(code, node) and (
                not flow.is_private(code, scope, node.value) if own else True
            )
