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

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from asyncguard.lint.fixes import aliases, bindings, flow, libraries, unknowns
from asyncguard.lint.fixes.aliases import OUTSIDE
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Loop, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.source import parsed

_RANDOM = words("sort.random")
_LOOKING = words("method.pure") | words("method.noting") | words("method.meter") | words("read.any")
_NEVER_REPEATED = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda,
                   ast.GeneratorExp)  # fmt: skip


class Effects(NamedTuple):
    """The names that code binds, the variables whose memory it writes to, and what calls do.

    `given` are the variables that calls of unknown code are given, or are methods of.
    """

    bound: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    unknown: bool = False
    prints: bool = False


def is_written(code: Code, stretch: Sequence[ast.AST], expression: ast.expr) -> bool:
    """Whether a stretch binds a name of an expression, or writes to its memory in sight."""
    names = flow.names(expression)
    binds = any(names & _effects(code, part).bound for part in stretch)
    return binds or writes_to(code, stretch, expression)


def writes_to(code: Code, stretch: Sequence[ast.AST], expression: ast.expr) -> bool:
    """Whether a stretch writes in sight to memory that an expression reads."""
    known = aliases.groups(code, code.scope(expression))
    read = known.of_all(_memory(code, expression))
    return any(read & known.of_all(_effects(code, part).written) for part in stretch)


def may_change(code: Code, stretch: Iterable[ast.AST], expression: ast.expr) -> bool:
    """Whether an expression may give something else, or raise, once a stretch has run."""
    scope = code.scope(expression)
    names = flow.names(expression)
    known = aliases.groups(code, scope)
    read = known.of_all(_memory(code, expression))
    for part in stretch:
        if isinstance(part, (ast.expr, ast.stmt)) and code.scope(part) is not scope:
            return True
        effects = _effects(code, part)
        if names & effects.bound or read & known.of_all(effects.written):
            return True
        if effects.unknown and (OUTSIDE in read or any(_is_shared(code, expression, names))):
            return True
    return False


def changes_in_view(code: Code, stretch: Iterable[ast.AST], expression: ast.expr) -> bool:
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


def _hands_over(node: ast.AST) -> bool:
    """Whether others run in between: the caller of a generator, or other tasks."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in flow.walk_own(node))


def may_write(code: Code, stretch: Iterable[ast.AST], value: ast.expr) -> bool:
    """Whether a stretch plainly writes to the memory of a value, by whatever name."""
    known = aliases.groups(code, code.scope(value), in_view=True)
    held = known.of_all(flow.names(value))
    return any(held & known.of_all(_effects(code, s, in_view=True).written) for s in stretch)


def is_ever_written(code: Code, name: ast.Name) -> bool:
    """Whether anybody may write to what a variable holds, anywhere in its function or outside."""
    scope = code.scope(name)
    known = aliases.groups(code, scope)
    held = known.of(name.id)
    if held == OUTSIDE:
        return True
    body = scope.body if isinstance(scope.body, list) else []
    return any(held in known.of_all(_effects(code, part).written) for part in body)


def is_inert(code: Code, stretch: Iterable[ast.AST]) -> bool:
    """Whether a stretch runs no unknown code, prints nothing, and writes to no list or object."""
    effects = [_effects(code, part) for part in stretch]
    return not any(each.unknown or each.written or each.prints for each in effects)


def is_repeatable(code: Code, expression: ast.expr) -> bool:
    """Whether an expression may be evaluated more or less often, and nobody notices."""
    if any(isinstance(part, _NEVER_REPEATED) for part in parsed.walk(expression)):
        return False
    return is_inert(code, [expression]) and not any(
        isinstance(part, ast.Call) and _is_random(part) for part in parsed.walk(expression)
    )


def _is_random(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in _RANDOM


def may_lead(code: Code, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a part of a statement, evaluated before all of it, is the same to everybody."""
    earlier = before(code, statement, node)
    return is_inert(code, earlier) and not may_change(code, earlier, node)


def round_of(loop: Loop) -> list[ast.AST]:
    """Return the stretch that is one round of a loop, what is asked before it included."""
    head = [loop.test] if isinstance(loop, ast.While) else [loop.iter, loop.target]
    return [*head, _Iteration(loop), *loop.body]


class _Iteration(ast.AST):
    """The step of a loop to its next element."""

    _fields = ()

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop


def before(code: Code, statement: ast.stmt, node: ast.expr) -> list[ast.AST]:
    """Return what a statement may evaluate before one of its parts."""
    found: list[ast.AST] = []
    child: ast.AST = node
    for parent in code.parents(node):
        siblings = [part for part in parsed.children(parent) if part is not child]
        if isinstance(parent, _IN_ORDER):
            every = parsed.children(parent)
            siblings = every[: every.index(child)]
        if parent is statement:
            return [*found, *_header(statement, child)]
        found += siblings
        child = parent
    return found


_IN_ORDER = (ast.Call, ast.BinOp, ast.Tuple, ast.List, ast.Subscript, ast.Attribute, ast.Compare,
             ast.JoinedStr, ast.Starred, ast.keyword, ast.FormattedValue)  # fmt: skip


def _header(statement: ast.stmt, child: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions of a statement's own line but one, and of targets what is looked up."""
    for part in parsed.children(statement):
        if part is child or not isinstance(part, (ast.expr, ast.withitem, ast.keyword)):
            continue
        if isinstance(getattr(part, "ctx", None), ast.Store):
            yield from (p for p in parsed.children(part) if not isinstance(p, ast.Name))
        else:
            yield part


# ---- what code does


@kept(OF_STATEMENTS)
def _effects(code: Code, node: ast.AST, *, in_view: bool = False) -> Effects:
    """Return what running a piece of code does."""
    if isinstance(node, FUNCTIONS):
        return Effects(frozenset({node.name}), unknown=bool(node.decorator_list))
    if isinstance(node, _Iteration):
        return Effects(unknown=not unknowns.iterates_known(code, _source(node.loop)))
    written: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    unknown = prints = False
    for part in flow.walk_own(node):
        if unknowns.runs_unknown(code, part):
            unknown = True
            given |= _handed(part)
        prints = prints or (isinstance(part, ast.Call) and dotted(part.func) == "print")
        written |= _written(code, part, in_view)
    return Effects(frozenset(flow.bound(node)), written, given, unknown, prints)


def _handed(node: ast.AST) -> frozenset[str]:
    """Return the variables that a call is given, unless it only looks, by its name."""
    if not isinstance(node, ast.Call):
        return frozenset()
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in _LOOKING:
        return frozenset()
    given = [*node.args, *(k.value for k in node.keywords)]
    found = {part.id for part in given if isinstance(part, ast.Name)}
    return frozenset(found | ({flow.root(node.func)} if name else set()))


@kept(OF_SCOPES)
def _changed_by_functions(tree: ast.Module) -> frozenset[str]:
    """Return the names that functions of the file change though they are not their own."""
    functions = (n for n in parsed.walk(tree) if isinstance(n, (*FUNCTIONS, ast.Lambda)))
    return frozenset(
        name
        for function in functions
        for part in (function.body if isinstance(function.body, list) else [function.body])
        for name in flow.changed([part]) - bindings.own_names(function)
    )


def _source(loop: Loop) -> ast.expr:
    return loop.test if isinstance(loop, ast.While) else loop.iter


# ---- what is written


def _written(code: Code, node: ast.AST, in_view: bool) -> frozenset[str]:
    """Return the variables to whose memory a single node writes, or `OUTSIDE`."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        held = [] if isinstance(node.ctx, ast.Load) else [node.value]
    elif isinstance(node, ast.AugAssign):
        held = [node.target]
    else:
        held = _written_by_call(code, node) if isinstance(node, ast.Call) else []
    found = (aliases.shares(code, part, in_view=in_view) for part in held)
    return frozenset[str]().union(*found)


def _written_by_call(code: Code, call: ast.Call) -> list[ast.expr]:
    """Return what a call writes to: its `out`, what it is a method of, or all it is given."""
    function, told = call.func, {keyword.arg: keyword.value for keyword in call.keywords}
    given = [*call.args, *told.values()]
    if not isinstance(function, ast.Attribute):
        return given if {None, "out"} & told.keys() else []
    in_place = libraries.is_in_place(function.attr) or "inplace" in told
    if libraries.library_name(code, function):
        return given if in_place or {None, "out"} & told.keys() else []
    in_place = in_place or function.attr in libraries.MUTATORS or None in told
    return [*([function.value] if in_place else []), *([told["out"]] if "out" in told else [])]


# ---- what is read


def _memory(code: Code, expression: ast.expr) -> frozenset[str]:
    """Return the variables whose memory an expression reads, or `OUTSIDE`."""
    found = {OUTSIDE for n in parsed.walk(expression) if getattr(n, "attr", "") == "grad"}
    for node in parsed.walk(expression):
        if isinstance(node, ast.Name) and not _is_fixed(code, node):
            found |= aliases.shares(code, node)
    return frozenset(found)


def _is_fixed(code: Code, node: ast.Name) -> bool:
    """Whether a name is a module, or a builtin that the file leaves as it is."""
    if libraries.library_name(code, node):
        return True
    return libraries.builtin_name(code, node) in libraries.KNOWN_BUILTINS


def _is_shared(code: Code, expression: ast.expr, names: Iterable[str]) -> Iterator[bool]:
    """Yield for each name of an expression whether code elsewhere may bind it anew."""
    scope = code.scope(expression)
    for node in parsed.walk(expression):
        if isinstance(node, ast.Name) and node.id in names:
            own = node.id in bindings.own_names(scope)
            yield not _is_fixed(code, node) and (
                not flow.is_private(code, scope, node.id) if own else True
            )
