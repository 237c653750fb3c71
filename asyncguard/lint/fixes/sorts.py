"""What an expression is proven to be: an array of a framework, a plain value, or a list of such.

A value is known by how it is made: by a constant, a function of a library, a method of an array, or
its annotation; never by its name. A class of the program may have methods of any name, so what is
not proven to be an array is `OTHER`. A variable is what all its bindings in its function agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import libcst as cst

from asyncguard.lint.fixes import bindings, flow, libraries
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.lattice import (
    ARRAY,
    NDARRAY,
    NOTHING,
    NUMBER,
    OTHER,
    PLAIN,
    TENSOR,
    UNKNOWN,
    Sort,
    combined,
    element_of,
    held,
    join,
    joined,
)
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    Scope,
    attribute,
    is_constant,
    is_name,
    is_slice,
    method,
    positional,
)

Sorts = Mapping[str, Sort]
Valued = Expression | cst.AugAssign  # `x += y` stands for the operation

_ROUNDS = 12


def is_array(code: Code, node: Valued) -> bool:
    """Whether an expression is proven to be an array of a framework, and nothing else."""
    sort = sort_of(code, node)
    return not sort.depth and bool(sort.element) and not sort.element & ~ARRAY


def is_tensor(code: Code, node: Expression) -> bool:
    """Whether an expression is proven to be a tensor of torch."""
    return sort_of(code, node) == Sort(TENSOR)


def is_plain(code: Code, node: Valued) -> bool:
    """Whether an expression is proven to be a number, a text, a type or another constant."""
    return sort_of(code, node) == NUMBER


def sort_of(code: Code, node: Valued) -> Sort:
    """Return what is proven of an expression, at any place of its function."""
    scope = code.scope(node)
    return _Reader(code, scope).sort(node, _variables(code, scope))


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


_PUTTING = (cst.Call, cst.AugAssign, cst.Yield, cst.Subscript, cst.Attribute)


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


def _put(reader: _Reader, node: cst.CSTNode, sorts: Sorts) -> Iterator[Sort]:
    """Yield what a node may put into a list: anything where a list leaves the function."""
    match node:
        case cst.Call():
            if not reader.is_known_call(node):
                if any(sorts.get(name, NOTHING).depth for name in flow.names(node)):
                    yield UNKNOWN
            elif method(node) in libraries.MUTATORS:
                for value in nodes.given(node):
                    sort = reader.sort(value, sorts)
                    yield element_of(sort) if method(node) in {"extend", "update"} else sort
        case cst.AugAssign(value=value):
            yield element_of(reader.sort(value, sorts))
        case cst.Yield():
            yield UNKNOWN
        case cst.Subscript() | cst.Attribute() if reader.code.is_assigned(node):
            yield _stored(reader, node, sorts)


def _stored(reader: _Reader, node: cst.Subscript | cst.Attribute, sorts: Sorts) -> Sort:
    """Return what a store may put into a list, by whatever name that is known."""
    statement = reader.code.statement(node)
    if not isinstance(statement, cst.Assign) or isinstance(node, cst.Attribute):
        return UNKNOWN
    sort = reader.sort(statement.value, sorts)
    if sort.depth and not reader.sort(node.value, sorts).depth:
        return UNKNOWN
    return element_of(sort) if is_slice(node) else sort


# ---- expressions


class _Reader:
    """The rules of what the expressions of a scope are."""

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code, self.scope = code, scope

    def sort(self, node: cst.CSTNode, known: Sorts) -> Sort:
        """Return what an expression is, given what the variables of its scope are."""
        rule = _RULES.get(type(node))
        return rule(self, node, known) if rule is not None else UNKNOWN

    def annotated(self, annotation: Expression) -> Sort:
        """Return what an annotation says; texts that hold one are not read."""
        meaning = libraries.library_name(self.code, annotation)
        if meaning not in libraries.ANNOTATIONS:
            return UNKNOWN
        return Sort(TENSOR if meaning.startswith("torch.") else NDARRAY)

    def name(self, node: cst.Name, known: Sorts) -> Sort:
        if not is_name(node):
            return NUMBER
        name = node.value
        if name in bindings.own_names(self.scope):
            return known.get(name, UNKNOWN)
        around = (p for p in self.code.scopes(self.scope) if isinstance(p, cst.FunctionDef))
        if any(name in bindings.own_names(scope) for scope in around):
            return UNKNOWN
        tree = self.code.tree
        if self.scope is tree or name in bindings.rebound_elsewhere(tree):
            return UNKNOWN
        return _variables(self.code, tree).get(name, UNKNOWN)

    def constant(self, node: Expression, known: Sorts) -> Sort:
        return NUMBER

    def attribute(self, node: cst.Attribute, known: Sorts) -> Sort:
        if libraries.library_name(self.code, node):
            return NUMBER
        owner, name = self.sort(node.value, known), attribute(node)
        if owner.depth or owner.element & OTHER:
            return UNKNOWN
        if name in libraries.PLAIN_ATTRIBUTES or owner == NUMBER:
            return NUMBER
        return owner if name in libraries.ARRAY_ATTRIBUTES else UNKNOWN

    def subscript(self, node: cst.Subscript, known: Sorts) -> Sort:
        owner = self.sort(node.value, known)
        return owner if is_slice(node) and owner.depth else element_of(owner)

    def binary(self, node: cst.BinaryOperation, known: Sorts) -> Sort:
        is_text = is_constant(node.left) or isinstance(node.left, _FILLED)
        if isinstance(node.operator, cst.Modulo) and is_text:
            return NUMBER
        return self._operation(node.left, node.operator, node.right, known)

    def augmented(self, node: cst.AugAssign, known: Sorts) -> Sort:
        return self._operation(node.target, node.operator, node.value, known)

    def _operation(self, one: Expression, by: cst.CSTNode, other: Expression, known: Sorts) -> Sort:
        left, right = self.sort(one, known), self.sort(other, known)
        if not left.depth and not right.depth:
            return combined(left, right)
        if isinstance(by, (cst.Multiply, cst.MultiplyAssign)) and NUMBER in (left, right):
            return left if left.depth else right
        return join(left, right) if left.depth and right.depth else UNKNOWN

    def unary(self, node: cst.UnaryOperation, known: Sorts) -> Sort:
        return NUMBER if nodes.is_not(node) else self.sort(node.expression, known)

    def compare(self, node: cst.Comparison, known: Sorts) -> Sort:
        if all(isinstance(each.operator, _IDENTITY) for each in node.comparisons):
            return NUMBER
        sides = [self.sort(side, known) for side in nodes.compared(node)]
        if len(node.comparisons) > 1 or any(side.depth for side in sides):
            return NUMBER if all(side.element == PLAIN for side in sides) else UNKNOWN
        return combined(*sides)

    def any_of(self, node: cst.BooleanOperation, known: Sorts) -> Sort:
        return joined(self.sort(value, known) for value in (node.left, node.right))

    def choice(self, node: cst.IfExp, known: Sorts) -> Sort:
        return join(self.sort(node.body, known), self.sort(node.orelse, known))

    def display(self, node: cst.List | cst.Tuple | cst.Set, known: Sorts) -> Sort:
        parts = (element_of(self.sort(e.value, known)) if isinstance(e, cst.StarredElement)
                 else self.sort(e.value, known) for e in node.elements)  # fmt: skip
        return held(joined(parts))

    def dictionary(self, node: cst.Dict, known: Sorts) -> Sort:
        if any(isinstance(element, cst.StarredDictElement) for element in node.elements):
            return Sort(OTHER, 1)
        return held(joined(self.sort(element.value, known) for element in node.elements))

    def comprehension(self, node: cst.ListComp | cst.SetComp, known: Sorts) -> Sort:
        return held(self.sort(node.elt, known))

    def generator(self, node: cst.GeneratorExp, known: Sorts) -> Sort:
        """Return what is known of a generator: nothing, for it runs when it is asked."""
        return UNKNOWN

    def named(self, node: cst.NamedExpr, known: Sorts) -> Sort:
        return self.sort(node.value, known)

    def call(self, node: cst.Call, known: Sorts) -> Sort:
        meaning = libraries.library_name(self.code, node.func)
        if meaning:
            return self._of_library(meaning, node, known)
        if isinstance(node.func, cst.Attribute):
            return self._of_method(node.func, node, known)
        return self._of_builtin(libraries.builtin_name(self.code, node.func), node, known)

    def _of_library(self, meaning: str, node: cst.Call, known: Sorts) -> Sort:
        if libraries.is_plain_function(meaning):
            return NUMBER
        if not libraries.is_of_libraries(meaning):
            return UNKNOWN
        kind = TENSOR if meaning.startswith("torch.") else NDARRAY
        return self._result(
            meaning.rpartition(".")[2], kind, node, is_bare=len(positional(node)) < 2
        )

    def _of_method(self, function: cst.Attribute, node: cst.Call, known: Sorts) -> Sort:
        owner, name = self.sort(function.value, known), attribute(function)
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
        if is_in_place(name):
            return owner
        kind = NDARRAY if name in {"numpy", "asnumpy"} else owner.element
        return self._result(name, kind, node, is_bare=not positional(node))

    def _result(self, name: str, kind: int, node: cst.Call, *, is_bare: bool) -> Sort:
        """Return what a function or method of arrays gives."""
        if name in libraries.SEVERAL and not (
            is_bare and not nodes.keywords(node) and name in _BARE
        ):
            is_choice = name == "where" and len(positional(node)) == 3
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

    def _of_builtin(self, name: str, node: cst.Call, known: Sorts) -> Sort:
        given = [
            held(self.sort(argument.elt, known))
            if isinstance(argument, cst.GeneratorExp) else self.sort(argument, known)
            for argument in positional(node)
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
            return joined(given) if len(given) > 1 else element_of(given[0])
        if name == "sum" and len(given) == 1:
            return join(element_of(given[0]), NOTHING)
        return UNKNOWN

    def is_known_call(self, node: cst.Call) -> bool:
        """Whether a call by its name puts nothing into a list but by the methods of lists."""
        meaning = libraries.library_name(self.code, node.func)
        if meaning:
            return libraries.is_plain_function(meaning) or libraries.is_of_libraries(meaning)
        if name := method(node):
            return libraries.is_listed(name) or name in _OF_CONTAINERS
        return libraries.builtin_name(self.code, node.func) in libraries.KNOWN_BUILTINS


_OF_CONTAINERS = libraries.MUTATORS | libraries.CONTAINER_METHODS


_BARE = frozenset({"max", "min", "median", "nonzero", "unique"})
_TUPLES = frozenset({"split", "chunk", "unbind", "topk", "sort", "nonzero", "where"})
_FILLED = (cst.FormattedString, cst.ConcatenatedString)
_IDENTITY = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
_RULES: dict[type[Any], Callable[..., Sort]] = {
    **dict.fromkeys((cst.Integer, cst.Float, cst.Imaginary, cst.Ellipsis), _Reader.constant),
    **dict.fromkeys((cst.SimpleString, *_FILLED), _Reader.constant),
    cst.Name: _Reader.name,
    cst.Attribute: _Reader.attribute,
    cst.Subscript: _Reader.subscript,
    cst.BinaryOperation: _Reader.binary,
    cst.AugAssign: _Reader.augmented,
    cst.UnaryOperation: _Reader.unary,
    cst.Comparison: _Reader.compare,
    cst.BooleanOperation: _Reader.any_of,
    cst.IfExp: _Reader.choice,
    cst.List: _Reader.display,
    cst.Tuple: _Reader.display,
    cst.Set: _Reader.display,
    cst.Dict: _Reader.dictionary,
    cst.ListComp: _Reader.comprehension,
    cst.SetComp: _Reader.comprehension,
    cst.GeneratorExp: _Reader.generator,
    cst.NamedExpr: _Reader.named,
    cst.Call: _Reader.call,
}
