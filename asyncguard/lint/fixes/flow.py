"""Names and the order of statements: who binds what, who uses it, what may change in between.

Purely syntactic, over one function or loop. In doubt the answer is the one that stops a rewrite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from asyncguard.lint.fixes.code import FUNCTIONS, LOOPS, SCOPES, Code, Scope, dotted

# Calls through which a function's variables can be seen or changed by name.
_REFLECTION = frozenset({"locals", "globals", "vars", "eval", "exec", "dir"})
_SWALLOWING = ("suppress", "raises", "assertRaises")


def walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is below it, without what nested functions and classes hold."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += [c for c in ast.iter_child_nodes(current) if not isinstance(c, SCOPES)]


def names(node: ast.AST) -> set[str]:
    """Return all names in a piece of code."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def bound(node: ast.AST) -> set[str]:
    """Return the names that a piece of code binds or deletes in its own scope."""
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
        found |= {c.name for c in ast.iter_child_nodes(part) if isinstance(c, _NAMED)}
    return found


_NAMED = (*FUNCTIONS, ast.ClassDef)


def changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that code binds, or whose object it may change in place by what is seen.

    `x[i] = y`, `x.a = y`, `x += y` and `x.add_(y)` change `x`. A call may change its arguments
    too, but of tensors that functions are given only those named `..._` and `out=` do.
    """
    found: set[str] = set()
    for node in nodes:
        found |= bound(node)
        for part in walk_own(node):
            if isinstance(part, (ast.Attribute, ast.Subscript)):
                if not isinstance(part.ctx, ast.Load):
                    found.add(root(part))
            elif isinstance(part, ast.AugAssign):
                found.add(root(part.target))
            elif isinstance(part, ast.Call):
                found |= _changed_by_call(part)
    return found - {""}


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
    left_out = {id(part) for node in but for part in ast.walk(node)}
    return [
        node
        for node in ast.walk(within)
        if isinstance(node, (ast.Name, ast.Attribute))
        and id(node) not in left_out
        and dotted(node) == name
    ]


def is_private(code: Code, scope: Scope, name: str) -> bool:
    """Whether a variable is known to nothing but the statements of its own function or module."""
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        if isinstance(node, ast.Call) and dotted(node.func) in _REFLECTION:
            return False
        if node is not scope and isinstance(node, SCOPES) and name in names(node):
            return False
    return True


def assignments(scope: ast.AST, name: str) -> list[ast.expr | None]:
    """Return what is assigned to a name in a scope; None for what is not a plain assignment."""
    found: list[ast.expr | None] = []
    plain: set[ast.AST] = set()
    for node in walk_own(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found.append(node.value)
                    plain.add(target)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            target = node.target
            if isinstance(target, ast.Name) and target.id == name:
                found.append(node.value)
                plain.add(target)
    for node in walk_own(scope):
        if isinstance(node, ast.Name) and node.id == name and node not in plain:
            found += [] if isinstance(node.ctx, ast.Load) else [None]
    return found


def loops_around(code: Code, node: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
    """Return the loops around a node within its function, innermost first."""
    found: list[ast.For | ast.AsyncFor | ast.While] = []
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
            texts = [dotted(p) for item in parent.items for p in ast.walk(item.context_expr)]
            if any(text.rpartition(".")[2].startswith(_SWALLOWING) for text in texts):
                return True
    return False


def is_periodic(test: ast.expr) -> bool:
    """Whether a condition holds every n-th step: it compares a remainder, or negates one."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(map(is_periodic, test.values))
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_remainder(test.operand)
    return isinstance(test, ast.Compare) and _is_remainder(test.left)


def _is_remainder(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
