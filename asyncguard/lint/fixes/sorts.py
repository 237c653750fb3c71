"""What an expression is proven to be: an array of a framework, a plain value, or a list of such.

A value is known by how it is made: by a constant, a function of a library, a method of an array, or
its annotation; never by its name. A class of the program may have methods of any name, so what is
not proven to be an array is `OTHER`. A variable is what all its bindings in its function agree on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from asyncguard.lint.fixes import bindings, flow, libraries
from asyncguard.lint.fixes.code import FUNCTIONS, Code, Scope
from asyncguard.lint.fixes.kept import OF_SCOPES, kept

PLAIN, TENSOR, NDARRAY, OTHER = 1, 2, 4, 8  # a value is any of what is set
ARRAY = TENSOR | NDARRAY


class Sort(NamedTuple):
    """What a value is made of, and how many lists, tuples or dictionaries are around that."""

    element: int
    depth: int = 0


NOTHING, UNKNOWN, NUMBER = Sort(0), Sort(OTHER), Sort(PLAIN)
Sorts = Mapping[str, Sort]

_ROUNDS = 12


def is_array(code: Code, node: ast.expr) -> bool:
    """Whether an expression is proven to be an array of a framework, and nothing else."""
    sort = sort_of(code, node)
    return not sort.depth and bool(sort.element) and not sort.element & ~ARRAY


def is_tensor(code: Code, node: ast.expr) -> bool:
    """Whether an expression is proven to be a tensor of torch."""
    return sort_of(code, node) == Sort(TENSOR)


def is_plain(code: Code, node: ast.expr) -> bool:
    """Whether an expression is proven to be a number, a text, a type or another constant."""
    return sort_of(code, node) == NUMBER


def sort_of(code: Code, node: ast.expr) -> Sort:
    """Return what is proven of an expression, at any place of its function."""
    scope = code.scope(node)
    return _Reader(code, scope).sort(node, _variables(code, scope))


def join(left: Sort, right: Sort) -> Sort:
    """Return what is known of a value that is the one or the other."""
    if not left.element:
        return right
    if not right.element or left == right:
        return left
    same = left.depth == right.depth
    return Sort(left.element | right.element, left.depth) if same else _mixed(left, right)


def _mixed(left: Sort, right: Sort) -> Sort:
    return Sort(OTHER, 1) if left.depth and right.depth else UNKNOWN


def element_of(sort: Sort) -> Sort:
    """Return what iterating over a value gives, or an element of it."""
    if sort.depth:
        return Sort(sort.element, sort.depth - 1)
    return sort if not sort.element & OTHER else UNKNOWN


def held(sort: Sort) -> Sort:
    """Return what a list of such values is."""
    return Sort(sort.element or PLAIN, sort.depth + 1)


# ---- variables


@kept(OF_SCOPES)
def _variables(code: Code, scope: Scope) -> Sorts:
    """Return what each variable of a scope is, by all that binds it: a least fixed point.

    What is put into any list may be in each of them, for they may be one: `_CONTENTS`.
    """
    reader, known = _Reader(code, scope), bindings.bindings(code, scope)
    nodes = [node for node in flow.walk_own(scope) if isinstance(node, _PUTTING)]
    closed = [name for name in bindings.own_names(scope) if not flow.is_private(code, scope, name)]
    sorts = dict.fromkeys(bindings.own_names(scope), NOTHING)
    for _ in range(_ROUNDS):
        before = dict(sorts)
        for binding in known:
            new = join(sorts.get(binding.name, NOTHING), _bound(reader, binding, sorts))
            sorts[binding.name] = new
        for sort in (sort for node in nodes for sort in _put(reader, node, sorts)):
            now = sorts.get(_CONTENTS, NOTHING)
            sorts[_CONTENTS] = Sort(now.element | sort.element, max(now.depth, sort.depth))
        for name, sort in sorts.items():
            filler = UNKNOWN if name in closed else sorts.get(_CONTENTS, NOTHING)
            sorts[name] = _filled(sort, filler)
        if sorts == before:
            return sorts
    return dict.fromkeys(sorts, UNKNOWN)


_CONTENTS = ""


_PUTTING = (ast.Call, ast.AugAssign, ast.Yield, ast.YieldFrom, ast.Subscript, ast.Attribute)


def _filled(sort: Sort, put: Sort) -> Sort:
    """Return what a list is once something may have been put into it."""
    if not sort.depth or not put.element:
        return sort
    return Sort(sort.element | (put.element if put.depth < sort.depth else OTHER), sort.depth)


def _bound(reader: _Reader, binding: bindings.Binding, sorts: Sorts) -> Sort:
    if binding.annotation is not None:
        return reader.annotated(binding.annotation)
    if binding.value is None:
        return UNKNOWN
    sort = _taken(reader.sort(binding.value, sorts), binding.taken)
    return held(sort) if binding.is_listed else sort


def _taken(sort: Sort, number: int) -> Sort:
    for _ in range(number):
        sort = element_of(sort)
    return sort


def _put(reader: _Reader, node: ast.AST, sorts: Sorts) -> Iterator[Sort]:
    """Yield what a node may put into a list: anything where a list leaves the function."""
    if isinstance(node, ast.Call):
        function = node.func
        if not reader.is_known_call(node):
            if any(sorts.get(name, NOTHING).depth for name in flow.names(node)):
                yield UNKNOWN
        elif isinstance(function, ast.Attribute) and function.attr in libraries.MUTATORS:
            for value in (*node.args, *(k.value for k in node.keywords)):
                sort = reader.sort(value, sorts)
                yield element_of(sort) if function.attr in {"extend", "update"} else sort
    elif isinstance(node, ast.AugAssign):
        yield element_of(reader.sort(node.value, sorts))
    elif isinstance(node, (ast.Yield, ast.YieldFrom)):
        yield UNKNOWN
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield _stored(reader, node, sorts)


def _stored(reader: _Reader, node: ast.Subscript | ast.Attribute, sorts: Sorts) -> Sort:
    """Return what a store may put into a list, by whatever name that is known."""
    statement = reader.code.statement(node)
    if not isinstance(statement, ast.Assign) or isinstance(node, ast.Attribute):
        return UNKNOWN
    sort = reader.sort(statement.value, sorts)
    if sort.depth and not reader.sort(node.value, sorts).depth:
        return UNKNOWN
    return element_of(sort) if isinstance(node.slice, ast.Slice) else sort


# ---- expressions


class _Reader:
    """The rules of what the expressions of a scope are."""

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code, self.scope = code, scope

    def sort(self, node: ast.expr, known: Sorts) -> Sort:
        """Return what an expression is, given what the variables of its scope are."""
        rule = _RULES.get(type(node))
        return rule(self, node, known) if rule is not None else UNKNOWN

    def annotated(self, annotation: ast.expr) -> Sort:
        """Return what an annotation says; texts that hold one are not read."""
        meaning = libraries.library_name(self.code, annotation)
        if meaning not in libraries.ANNOTATIONS:
            return UNKNOWN
        return Sort(TENSOR if meaning.startswith("torch.") else NDARRAY)

    def name(self, node: ast.Name, known: Sorts) -> Sort:
        if node.id in bindings.own_names(self.scope):
            return known.get(node.id, UNKNOWN)
        around = (p for p in self.code.parents(self.scope) if isinstance(p, FUNCTIONS))
        if any(node.id in bindings.own_names(scope) for scope in around):
            return UNKNOWN
        tree = self.code.tree
        if self.scope is tree or node.id in bindings.rebound_elsewhere(tree):
            return UNKNOWN
        return _variables(self.code, tree).get(node.id, UNKNOWN)

    def constant(self, node: ast.expr, known: Sorts) -> Sort:
        return NUMBER

    def attribute(self, node: ast.Attribute, known: Sorts) -> Sort:
        if libraries.library_name(self.code, node):
            return NUMBER
        owner = self.sort(node.value, known)
        if owner.depth or owner.element & OTHER:
            return UNKNOWN
        if node.attr in libraries.PLAIN_ATTRIBUTES or owner == NUMBER:
            return NUMBER
        return owner if node.attr in libraries.ARRAY_ATTRIBUTES else UNKNOWN

    def subscript(self, node: ast.Subscript, known: Sorts) -> Sort:
        owner = self.sort(node.value, known)
        return owner if isinstance(node.slice, ast.Slice) and owner.depth else element_of(owner)

    def binary(self, node: ast.BinOp, known: Sorts) -> Sort:
        left, right = self.sort(node.left, known), self.sort(node.right, known)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr)):
            return NUMBER
        if left.depth or right.depth:
            return self._of_lists(node.op, left, right)
        return _combined(left, right)

    def _of_lists(self, op: ast.operator, left: Sort, right: Sort) -> Sort:
        if isinstance(op, ast.Mult) and NUMBER in (left, right):
            return left if left.depth else right
        return join(left, right) if left.depth and right.depth else UNKNOWN

    def unary(self, node: ast.UnaryOp, known: Sorts) -> Sort:
        return NUMBER if isinstance(node.op, ast.Not) else self.sort(node.operand, known)

    def compare(self, node: ast.Compare, known: Sorts) -> Sort:
        if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return NUMBER
        sides = [self.sort(side, known) for side in (node.left, *node.comparators)]
        if len(node.ops) > 1 or any(side.depth for side in sides):
            return NUMBER if all(side.element == PLAIN for side in sides) else UNKNOWN
        return _combined(*sides)

    def any_of(self, node: ast.BoolOp, known: Sorts) -> Sort:
        return _joined(self.sort(value, known) for value in node.values)

    def choice(self, node: ast.IfExp, known: Sorts) -> Sort:
        return join(self.sort(node.body, known), self.sort(node.orelse, known))

    def display(self, node: ast.List | ast.Tuple | ast.Set, known: Sorts) -> Sort:
        parts = (element_of(self.sort(e.value, known)) if isinstance(e, ast.Starred)
                 else self.sort(e, known) for e in node.elts)  # fmt: skip
        return held(_joined(parts))

    def dictionary(self, node: ast.Dict, known: Sorts) -> Sort:
        if None in node.keys:
            return Sort(OTHER, 1)
        return held(_joined(self.sort(value, known) for value in node.values))

    def comprehension(self, node: ast.ListComp | ast.SetComp, known: Sorts) -> Sort:
        return held(self.sort(node.elt, known))

    def generator(self, node: ast.GeneratorExp, known: Sorts) -> Sort:
        """Return what is known of a generator: nothing, for it runs when it is asked."""
        return UNKNOWN

    def named(self, node: ast.NamedExpr, known: Sorts) -> Sort:
        return self.sort(node.value, known)

    def call(self, node: ast.Call, known: Sorts) -> Sort:
        meaning = libraries.library_name(self.code, node.func)
        if meaning:
            return self._of_library(meaning, node, known)
        if isinstance(node.func, ast.Attribute):
            return self._of_method(node.func, node, known)
        return self._of_builtin(libraries.builtin_name(self.code, node.func), node, known)

    def _of_library(self, meaning: str, node: ast.Call, known: Sorts) -> Sort:
        if libraries.is_plain_function(meaning):
            return NUMBER
        if not libraries.is_of_libraries(meaning):
            return UNKNOWN
        kind = TENSOR if meaning.startswith("torch.") else NDARRAY
        return self._result(meaning.rpartition(".")[2], kind, node, is_bare=len(node.args) < 2)

    def _of_method(self, function: ast.Attribute, node: ast.Call, known: Sorts) -> Sort:
        owner, name = self.sort(function.value, known), function.attr
        if owner.depth:
            return self._of_container(owner, name)
        if owner == NUMBER:
            return Sort(PLAIN, 1) if name == "split" else NUMBER
        if not owner.element or owner.element & (OTHER | PLAIN):
            return UNKNOWN if owner.element else NOTHING
        if name in libraries.PLAIN_METHODS:
            return NUMBER
        if name == "tolist":
            return Sort(PLAIN, 1)
        if name.endswith("_") and not name.endswith("__"):
            return owner
        kind = NDARRAY if name in {"numpy", "asnumpy"} else owner.element
        return self._result(name, kind, node, is_bare=not node.args)

    def _result(self, name: str, kind: int, node: ast.Call, *, is_bare: bool) -> Sort:
        """Return what a function or method of arrays gives."""
        if name in libraries.SEVERAL and not (is_bare and not node.keywords and name in _BARE):
            is_choice = name == "where" and len(node.args) == 3
            return Sort(kind) if is_choice else Sort(kind, 1) if name in _TUPLES else UNKNOWN
        return Sort(kind) if name in libraries.FRESH or name in libraries.SHARED else UNKNOWN

    def _of_container(self, owner: Sort, name: str) -> Sort:
        if name in {"pop", "popleft", "get", "setdefault"}:
            return join(element_of(owner), NUMBER) if name == "get" else element_of(owner)
        if name in {"copy", "values"}:
            return owner
        if name in {"keys", "items"}:
            return Sort(OTHER, 1)
        return (
            NUMBER if name in libraries.MUTATORS or name in libraries.CONTAINER_METHODS else UNKNOWN
        )

    def _of_builtin(self, name: str, node: ast.Call, known: Sorts) -> Sort:
        given = [
            held(self.sort(argument.elt, known))
            if isinstance(argument, ast.GeneratorExp) else self.sort(argument, known)
            for argument in node.args
        ]  # fmt: skip
        if name == "range":
            return Sort(PLAIN, 1)
        if name in libraries.TO_PLAIN and not (name in {"abs", "round"} and given != [NUMBER]):
            return NUMBER
        if name == "print":
            return NUMBER
        if name in libraries.TO_LIST and len(given) == 1:
            return held(element_of(given[0]))
        if name in {"max", "min"} and given:
            return _joined(given) if len(given) > 1 else element_of(given[0])
        if name == "sum" and len(given) == 1:
            return join(element_of(given[0]), NOTHING)
        return UNKNOWN

    def is_known_call(self, node: ast.Call) -> bool:
        """Whether a call by its name puts nothing into a list but by the methods of lists."""
        meaning = libraries.library_name(self.code, node.func)
        if meaning:
            return libraries.is_plain_function(meaning) or libraries.is_of_libraries(meaning)
        if isinstance(node.func, ast.Attribute):
            return libraries.is_listed(node.func.attr) or node.func.attr in _OF_CONTAINERS
        return libraries.builtin_name(self.code, node.func) in libraries.KNOWN_BUILTINS


_OF_CONTAINERS = libraries.MUTATORS | libraries.CONTAINER_METHODS


def _combined(*sides: Sort) -> Sort:
    """Return what arithmetic of values gives: an array where one is an array for sure."""
    if any(side.depth or side.element & OTHER for side in sides):
        return UNKNOWN
    if not all(side.element for side in sides):
        return NOTHING
    sure = [side.element for side in sides if not side.element & PLAIN]
    every = 0
    for side in sides:
        every |= side.element
    return Sort(every & ARRAY if sure else every)


def _joined(sorts: Iterator[Sort] | list[Sort]) -> Sort:
    found = NOTHING
    for sort in sorts:
        found = join(found, sort)
    return found


_BARE = frozenset({"max", "min", "median", "nonzero", "unique"})
_TUPLES = frozenset({"split", "chunk", "unbind", "topk", "sort", "nonzero", "where"})
_RULES: dict[type[ast.expr], Callable[..., Sort]] = {
    ast.Constant: _Reader.constant,
    ast.JoinedStr: _Reader.constant,
    ast.Name: _Reader.name,
    ast.Attribute: _Reader.attribute,
    ast.Subscript: _Reader.subscript,
    ast.BinOp: _Reader.binary,
    ast.UnaryOp: _Reader.unary,
    ast.Compare: _Reader.compare,
    ast.BoolOp: _Reader.any_of,
    ast.IfExp: _Reader.choice,
    ast.List: _Reader.display,
    ast.Tuple: _Reader.display,
    ast.Set: _Reader.display,
    ast.Dict: _Reader.dictionary,
    ast.ListComp: _Reader.comprehension,
    ast.SetComp: _Reader.comprehension,
    ast.GeneratorExp: _Reader.generator,
    ast.NamedExpr: _Reader.named,
    ast.Call: _Reader.call,
}
