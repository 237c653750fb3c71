"""Names and the order of statements: who binds what, who uses it, what may change in between.

Purely syntactic, over one function or loop. In doubt the answer is the one that stops a rewrite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from asyncguard.lint.fixes.code import FUNCTIONS, LOOPS, SCOPES, Code, Loop, Scope, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import table, words
from asyncguard.lint.source import parsed

# Calls through which a function's variables can be seen or changed by name.
_REFLECTION = frozenset({"locals", "globals", "vars", "eval", "exec", "dir"})
_SWALLOWING = tuple(words("call.swallows"))


def walk_own(node: ast.AST) -> Sequence[ast.AST]:
    """Return a node and what is below it, without what nested functions and classes hold."""
    return _own_of_scope(node) if isinstance(node, _WALKED_OFTEN) else _own(node)


def _own(node: ast.AST) -> Sequence[ast.AST]:
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        found.append(current)
        if type(current) not in parsed.LEAVES:
            stack += [c for c in parsed.children(current) if not isinstance(c, SCOPES)]
    return found


_own_of_scope = kept(OF_SCOPES)(_own)
_WALKED_OFTEN = (*SCOPES, *LOOPS)


def names(node: ast.AST) -> set[str]:
    """Return all names in a piece of code."""
    return {n.id for n in parsed.walk(node) if isinstance(n, ast.Name)}


def bound(node: ast.AST) -> set[str]:
    """Return the names that a piece of code binds or deletes in its own scope."""
    return set(_bound(node))


@kept(OF_STATEMENTS)
def _bound(node: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for part in walk_own(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            found.add(part.id)
        elif isinstance(part, ast.alias):
            found.add((part.asname or part.name).partition(".")[0])
        elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name:
            found.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            found.add(part.rest)
        if not isinstance(part, ast.expr):  # which holds no statements
            found |= {c.name for c in parsed.children(part) if isinstance(c, _NAMED)}
    return frozenset(found)


_NAMED = (*FUNCTIONS, ast.ClassDef)


@kept(OF_STATEMENTS)
def binders(code: Code, first: ast.stmt) -> dict[str, list[int]]:
    """Return where in the block that begins with a statement each name is bound, as indices."""
    found: dict[str, list[int]] = {}
    for at, statement in enumerate(code.block(first)[0]):
        for name in _bound(statement):
            found.setdefault(name, []).append(at)
    return found


def changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that code binds, or whose object it may change in place by what is seen.

    `x[i] = y`, `x.a = y`, `x += y` and `x.add_(y)` change `x`. A call may change its arguments
    too, but of tensors that functions are given only those named `..._` and `out=` do.
    """
    return {name for node in nodes for name in _changed(node)}


@kept(OF_SCOPES)
def changed_in(loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """Return the names that the body of a loop changes, and those that the loop binds."""
    target = [] if isinstance(loop, ast.While) else [loop.target]
    return frozenset(changed([*loop.body, *target]))


@kept(OF_STATEMENTS)
def _changed(node: ast.AST) -> frozenset[str]:
    found = bound(node)
    for part in walk_own(node):
        if isinstance(part, (ast.Attribute, ast.Subscript)):
            if not isinstance(part.ctx, ast.Load):
                found.add(root(part))
        elif isinstance(part, ast.AugAssign):
            found.add(root(part.target))
        elif isinstance(part, ast.Call):
            found |= _changed_by_call(part)
    return frozenset(found - {""})


def _changed_by_call(call: ast.Call) -> set[str]:
    found = {root(k.value) for k in call.keywords if k.arg == "out"}
    name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    if name.endswith("_") and not name.endswith("__"):
        found.add(root(call.func))
        found |= {root(argument) for argument in call.args[:1]}
    return found


def root(node: ast.AST) -> str:
    """Return `x` of `x.a[0].b()`, or ""."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Starred)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def uses(within: ast.AST, name: str, but: Iterable[ast.AST] = ()) -> list[ast.AST]:
    """Return where a name is mentioned, nested functions included, some statements left out.

    `name` may be dotted (`self.total`).
    """
    found = mentions(within).get(name, ())
    left_out = [parts(node) for node in but] if found else []
    return [node for node in found if not any(node in inside for inside in left_out)]


@kept(OF_SCOPES)
def mentions(within: ast.AST) -> dict[str, list[ast.AST]]:
    """Return where each name is mentioned in a piece of code."""
    found: dict[str, list[ast.AST]] = {}
    for node in parsed.walk(within):
        if isinstance(node, (ast.Name, ast.Attribute)) and (name := dotted(node)):
            found.setdefault(name, []).append(node)
    return found


@kept(OF_SCOPES)
def parts(node: ast.AST) -> frozenset[ast.AST]:
    """Return a node and all that is below it."""
    return frozenset(parsed.walk(node))


@kept(OF_SCOPES)
def parameters(scope: ast.AST) -> frozenset[str]:
    """Return the names of a function's parameters."""
    arguments = parsed.walk(scope.args) if isinstance(scope, (*FUNCTIONS, ast.Lambda)) else ()
    return frozenset(part.arg for part in arguments if isinstance(part, ast.arg))


def is_private(code: Code, scope: Scope, name: str) -> bool:
    """Whether a variable is known to nothing but the statements of its own function or module."""
    shared = _shared(scope)
    return shared is not None and name not in shared


@kept(OF_SCOPES)
def _shared(scope: Scope) -> frozenset[str] | None:
    """Return the names of a scope that others know; None where that may be all of them."""
    found: set[str] = set()
    for node in parsed.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
        if isinstance(node, ast.Call) and dotted(node.func) in _REFLECTION:
            return None
        if node is not scope and isinstance(node, SCOPES):
            found |= names(node)
    return frozenset(found)


def assignments(scope: ast.AST, name: str) -> Sequence[ast.expr | None]:
    """Return what is assigned to a name in a scope; None for what is not a plain assignment."""
    return _assignments(scope).get(name, ())


@kept(OF_SCOPES)
def _assignments(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    found: dict[str, list[ast.expr | None]] = {}
    plain: set[ast.AST] = set()
    for node in walk_own(scope):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(node.value)  # type: ignore[attr-defined]
                plain.add(target)
    for node in walk_own(scope):
        if isinstance(node, ast.Name) and node not in plain and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(None)
    return found


VIEWS = words("method.view")


def is_made_in(loop: ast.AST, name: str) -> bool:
    """Whether each round of a loop makes what a name stands for anew: it is not a view."""
    values = assignments(loop, name)
    return bool(values) and all(_is_made(value) for value in values)


def _is_made(value: ast.expr | None) -> bool:
    if isinstance(value, (ast.BinOp, ast.Compare)):
        return True
    if not isinstance(value, ast.Call):
        return False
    return not (isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS)


def loops_around(code: Code, node: ast.AST) -> list[Loop]:
    """Return the loops around a node within its function, innermost first."""
    found: list[Loop] = []
    for parent in code.parents(node):
        if isinstance(parent, SCOPES):
            break
        if isinstance(parent, LOOPS):
            found.append(parent)
    return found


def may_swallow(code: Code, node: ast.AST, until: ast.AST) -> bool:
    """Whether an exception in `node` may be caught between it and `until`."""
    for parent in code.parents(node):
        if parent is until or isinstance(parent, SCOPES):
            return False
        if isinstance(parent, ast.Try) or type(parent).__name__ == "TryStar":
            return True
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            texts = [dotted(p) for item in parent.items for p in parsed.walk(item.context_expr)]
            if any(text.rpartition(".")[2].startswith(_SWALLOWING) for text in texts):
                return True
    return False


def is_periodic(test: ast.expr) -> bool:
    """Whether a condition holds every n-th step: it compares a remainder, or negates one."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(map(is_periodic, test.values))
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_remainder(test.operand)
    is_equal = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
    return is_equal and _is_remainder(test.left)  # type: ignore[attr-defined]


def _is_remainder(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def is_certain(code: Code, node: ast.expr, statement: ast.stmt) -> bool:
    """Whether a statement evaluates a part of it exactly once, whatever the values are.

    Not in a branch of a conditional expression, behind `and`, in a comprehension, a lambda or the
    test of a `while`.
    """
    child: ast.AST = node
    for parent in code.parents(node):
        if parent is statement:
            break
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            return False
        if isinstance(parent, ast.BoolOp) and child is not parent.values[0]:
            return False
        if isinstance(parent, ast.Compare) and len(parent.ops) > 1:
            return False
        if isinstance(parent, (*SCOPES, *COMPREHENSIONS, ast.comprehension)):
            return False
        child = parent
    header = (ast.If, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)
    return not hasattr(statement, "body") or isinstance(statement, header)


def is_rebound(code: Code, node: ast.expr, other: ast.expr) -> bool:
    """Whether a comprehension or lambda around `node` gives names of `other` another meaning."""
    needed = names(other)
    for parent in code.parents(node):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.Lambda):
            return True
        if isinstance(parent, COMPREHENSIONS):
            targets = [generator.target for generator in parent.generators]
            if any(needed & bound(target) for target in targets):
                return True
    return False


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


_NOTING = words("method.noting")
_METERS = words("method.meter")
_NUMBERS = words("read.number")


def is_quiet(statement: ast.stmt) -> bool:
    """Whether a statement runs no work that could change a tensor out of sight.

    An optimizer's step changes parameters that nothing on its line names.
    """
    return all(
        _is_quiet(call) for call in parsed.walk(statement) if isinstance(call, ast.Call)
    ) and not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.With, ast.AsyncWith, ast.Try))


def _is_quiet(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in _PURE_FUNCTIONS | {"print", "str", "round", "abs", "dict", "list"}
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in _METERS:
        return any(is_read(part) for a in call.args for part in parsed.walk(a))
    return function.attr in _PURE | _NOTING


def is_read(node: ast.AST) -> bool:
    """Whether it is `x.item()` or its like."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _NUMBERS
    )


_PURE = words("method.pure")
_LOOKING = words("read.any") | frozenset(table("kind.reducing"))
_PURE_FUNCTIONS = frozenset({"len", "float", "int", "bool", "range"})


def is_pure(node: ast.AST) -> bool:
    """Whether an expression can be evaluated more or less often without anybody noticing."""
    for part in parsed.walk(node):
        if isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Lambda)):
            return False
        if isinstance(part, ast.Call):
            function = part.func
            if isinstance(function, ast.Attribute) and function.attr in _PURE:
                continue
            if isinstance(function, ast.Name) and function.id in _PURE_FUNCTIONS:
                continue
            return False
    return True


@kept(OF_SCOPES)
def losses(scope: ast.AST) -> frozenset[str]:
    """Return what `backward` starts from in a scope."""
    return frozenset(
        dotted(node.func.value)
        for node in parsed.walk(scope)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and not node.args
    )
