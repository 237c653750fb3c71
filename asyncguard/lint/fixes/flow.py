"""Names and the order of statements: who binds what, who uses it, what may change in between.

Purely syntactic, over one function or loop. In doubt the answer is the one that stops a rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, OF_STATEMENTS, kept
from asyncguard.lint.fixes.words import words
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    COMPREHENSIONS,
    LOOPS,
    SCOPES,
    STATEMENTS,
    TRIES,
    Expression,
    Loop,
    Scope,
    bound_by,
    is_name,
    method,
    name_of,
    named_otherwise,
    positional,
    root,
    unpacked,
    walk,
)
from asyncguard.lint.syntax.tree import dotted, expressions

# Calls through which a function's variables can be seen or changed by name.
_REFLECTION = frozenset({"locals", "globals", "vars", "eval", "exec", "dir"})
_SWALLOWING = tuple(words("call.swallows"))


def walk_own(node: cst.CSTNode) -> Sequence[Any]:
    """Return a node and what is below it, without what nested functions and classes hold."""
    return _own_of_scope(node) if isinstance(node, _WALKED_OFTEN) else _own(node)


def _own(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack += [child for child in expressions(current) if type(child) not in _SCOPES]
    return found


_own_of_scope = kept(OF_SCOPES)(_own)
_SCOPES = frozenset(SCOPES)  # `isinstance` is slow for libcst's classes
_WALKED_OFTEN = (*SCOPES, *LOOPS)


def names(node: cst.CSTNode) -> set[str]:
    """Return all names in a piece of code."""
    return {part.value for part in walk(node) if is_name(part)}


def bound(node: cst.CSTNode) -> set[str]:
    """Return the names that a piece of code binds or deletes in its own scope."""
    return set(_bound(node))


def named_in(target: cst.CSTNode) -> set[str]:
    """Return the names in a target."""
    return {part.value for part in unpacked(target) if is_name(part)}


@kept(OF_STATEMENTS)
def _bound(node: cst.CSTNode) -> frozenset[str]:
    found: set[str] = set()
    for part in walk_own(node):
        found.update(filter(None, map(name_of, bound_by(part))))
        found.update(named_otherwise(part))
        if type(part) in _BLOCKS:
            found |= {c.name.value for c in part.body if isinstance(c, _NAMED)}
    return frozenset(found)


@kept(OF_SCOPES)
def defined(tree: cst.Module) -> frozenset[str]:
    """Return the names of the functions and classes of a file."""
    return frozenset(part.name.value for part in tree.body if isinstance(part, _NAMED))


_NAMED = (cst.FunctionDef, cst.ClassDef)
_BLOCKS = frozenset({cst.Module, cst.IndentedBlock})


@kept(OF_STATEMENTS)
def binders(code: Code, first: cst.CSTNode) -> dict[str, list[int]]:
    """Return where in the block that begins with a statement each name is bound, as indices."""
    found: dict[str, list[int]] = {}
    for at, statement in enumerate(code.block(first)[0]):
        for name in _bound(statement):
            found.setdefault(name, []).append(at)
    return found


def changed(parts: Iterable[cst.CSTNode]) -> set[str]:
    """Return the names that code binds, or whose object it may change in place by what is seen.

    `x[i] = y`, `x.a = y`, `x += y` and `x.add_(y)` change `x`. A call may change its arguments
    too, but of tensors that functions are given only those named `..._` and `out=` do.
    """
    return {name for part in parts for name in _changed(part)}


@kept(OF_SCOPES)
def changed_in(loop: Loop) -> frozenset[str]:
    """Return the names that the body of a loop changes, and those that the loop binds."""
    found = changed(nodes.body(loop))
    if isinstance(loop, cst.For):
        found |= {root(part) for part in unpacked(loop.target)} | changed([loop.target])
    return frozenset(found - {""})


@kept(OF_STATEMENTS)
def _changed(node: cst.CSTNode) -> frozenset[str]:
    found = bound(node)
    for part in walk_own(node):
        found |= {root(each) for each in bound_by(part)}
        if isinstance(part, cst.Call):
            found |= _changed_by_call(part)
    return frozenset(found - {""})


def _changed_by_call(call: cst.Call) -> set[str]:
    out = nodes.keyword(call, "out")
    found = {root(out)} if out is not None else set()
    if is_in_place(method(call) or dotted(call.func)):
        found.add(root(call.func))
        found |= {root(argument) for argument in positional(call)[:1]}
    return found


def uses(within: cst.CSTNode, name: str, but: Iterable[cst.CSTNode] = ()) -> list[cst.CSTNode]:
    """Return where a name is mentioned, nested functions included, some statements left out.

    `name` may be dotted (`self.total`).
    """
    found = mentions(within).get(name, ())
    left_out = [parts(node) for node in but] if found else []
    return [node for node in found if not any(node in inside for inside in left_out)]


@kept(OF_SCOPES)
def mentions(within: cst.CSTNode) -> dict[str, list[Any]]:
    """Return where each name is mentioned in a piece of code."""
    found: dict[str, list[Any]] = {}
    for node in walk(within):
        if (isinstance(node, cst.Attribute) or is_name(node)) and (name := dotted(node)):
            found.setdefault(name, []).append(node)
    return found


@kept(OF_SCOPES)
def parts(node: cst.CSTNode) -> frozenset[cst.CSTNode]:
    """Return a node and all that is below it."""
    return frozenset(walk(node))


@kept(OF_SCOPES)
def parameters(scope: cst.CSTNode) -> frozenset[str]:
    """Return the names of a function's parameters."""
    return frozenset(part.name.value for part in nodes.parameters(scope))


def is_private(code: Code, scope: Scope, name: str) -> bool:
    """Whether a variable is known to nothing but the statements of its own function or module."""
    shared = _shared(scope)
    return shared is not None and name not in shared


@kept(OF_SCOPES)
def _shared(scope: Scope) -> frozenset[str] | None:
    """Return the names of a scope that others know; None where that may be all of them."""
    found: set[str] = set()
    for node in walk(scope):
        found.update(nodes.declared(node))
        if isinstance(node, cst.Call) and dotted(node.func) in _REFLECTION:
            return None
        if node is not scope and isinstance(node, SCOPES):
            found |= names(node)
    return frozenset(found)


def assignments(scope: cst.CSTNode, name: str) -> Sequence[Expression | None]:
    """Return what is assigned to a name in a scope; None for what is not a plain assignment."""
    return _assignments(scope).get(name, ())


@kept(OF_SCOPES)
def _assignments(scope: cst.CSTNode) -> dict[str, list[Expression | None]]:
    found: dict[str, list[Expression | None]] = {}
    plain: set[cst.CSTNode] = set()
    for node in walk_own(scope):
        for target in nodes.targets(node):
            if is_name(target):
                found.setdefault(target.value, []).append(node.value)  # type: ignore[attr-defined]
                plain.add(target)
    for node in walk_own(scope):
        for target in bound_by(node):
            if is_name(target) and target not in plain:
                found.setdefault(target.value, []).append(None)  # type: ignore[attr-defined]
    return found


VIEWS = words("method.view")


def is_made_in(loop: cst.CSTNode, name: str) -> bool:
    """Whether each round of a loop makes what a name stands for anew: it is not a view."""
    values = assignments(loop, name)
    return bool(values) and all(_is_made(value) for value in values)


def _is_made(value: Expression | None) -> bool:
    if isinstance(value, (cst.BinaryOperation, cst.Comparison)):
        return True
    return isinstance(value, cst.Call) and method(value) not in VIEWS


def loops_around(code: Code, node: cst.CSTNode) -> list[Loop]:
    """Return the loops around a node within its function, innermost first."""
    found: list[Loop] = []
    for parent in _in_function(code, node):
        if isinstance(parent, SCOPES):
            break
        if isinstance(parent, LOOPS):
            found.append(parent)
    return found


def _in_function(code: Code, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield what encloses a node; nothing for one in a lambda, which runs elsewhere."""
    return iter(()) if isinstance(code.scope(node), cst.Lambda) else code.enclosing(node)


def may_swallow(code: Code, node: cst.CSTNode, until: cst.CSTNode) -> bool:
    """Whether an exception in `node` may be caught between it and `until`."""
    for parent in _in_function(code, node):
        if parent is until or isinstance(parent, SCOPES):
            return False
        if isinstance(parent, TRIES):
            return True
        if isinstance(parent, cst.With):
            texts = [dotted(p) for item in parent.items for p in walk(item.item)]
            if any(text.rpartition(".")[2].startswith(_SWALLOWING) for text in texts):
                return True
    return False


def is_periodic(test: Expression) -> bool:
    """Whether a condition holds every n-th step: it compares a remainder, or negates one."""
    match test:
        case cst.BooleanOperation():
            return nodes.is_and(test) and any(map(is_periodic, nodes.operands(test)))
        case cst.UnaryOperation(expression=operand):
            return nodes.is_not(test) and _is_remainder(operand)
        case cst.Comparison(left=left):
            return nodes.operator(test) is cst.Equal and _is_remainder(left)
    return False


def _is_remainder(node: Expression) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)


def is_certain(code: Code, node: Expression, statement: cst.CSTNode) -> bool:
    """Whether a statement evaluates a part of it exactly once, whatever the values are.

    Not in a branch of a conditional expression, behind `and`, in a comprehension, a lambda or the
    test of a `while`.
    """
    child: cst.CSTNode = node
    for parent in code.parents(node):
        if parent is statement:
            break
        match parent:
            case cst.IfExp(test=test) if child is not test:
                return False
            case cst.BooleanOperation(left=left) if child is not left:
                return False
            case cst.Comparison(comparisons=[_, _, *_]):
                return False
        if isinstance(parent, (*SCOPES, *COMPREHENSIONS, cst.CompFor)):
            return False
        child = parent
    header = (cst.If, cst.For, cst.With, cst.Match)
    return not isinstance(statement, cst.BaseCompoundStatement) or isinstance(statement, header)


def is_rebound(code: Code, node: Expression, other: Expression) -> bool:
    """Whether a comprehension or lambda around `node` gives names of `other` another meaning."""
    needed = names(other)
    for parent in code.parents(node):
        if isinstance(parent, STATEMENTS):
            return False
        if isinstance(parent, cst.Lambda):
            return True
        if isinstance(parent, COMPREHENSIONS):
            targets = [clause.target for clause in nodes.clauses(parent)]
            if any(needed & named_in(target) for target in targets):
                return True
    return False


_NOTING = words("method.noting")
_METERS = words("method.meter")
_NUMBERS = words("read.number")
_LOUD = (cst.FunctionDef, cst.ClassDef, cst.With, *TRIES)


def is_quiet(statement: cst.CSTNode) -> bool:
    """Whether a statement runs no work that could change a tensor out of sight.

    An optimizer's step changes parameters that nothing on its line names.
    """
    return all(
        _is_quiet(call) for call in walk(statement) if isinstance(call, cst.Call)
    ) and not isinstance(statement, _LOUD)


def _is_quiet(call: cst.Call) -> bool:
    if name := nodes.function(call):
        return name in _PURE_FUNCTIONS | {"print", "str", "round", "abs", "dict", "list"}
    if method(call) in _METERS:
        return any(is_read(part) for a in positional(call) for part in walk(a))
    return method(call) in _PURE | _NOTING


def is_read(node: cst.CSTNode) -> bool:
    """Whether it is `x.item()` or its like."""
    return method(node) in _NUMBERS


_PURE = words("method.pure")
_PURE_FUNCTIONS = frozenset({"len", "float", "int", "bool", "range"})
_IMPURE = (cst.Yield, cst.Await, cst.NamedExpr, cst.Lambda)


def is_pure(node: cst.CSTNode) -> bool:
    """Whether an expression can be evaluated more or less often without anybody noticing."""
    for part in walk(node):
        if isinstance(part, _IMPURE):
            return False
        if isinstance(part, cst.Call):
            if method(part) in _PURE or nodes.function(part) in _PURE_FUNCTIONS:
                continue
            return False
    return True


@kept(OF_SCOPES)
def losses(scope: cst.CSTNode) -> frozenset[str]:
    """Return what `backward` starts from in a scope."""
    return frozenset(
        dotted(node.func.value)
        for node in walk(scope)
        if method(node) == "backward" and not positional(node)
    )
