"""What the nodes of a file stand in, which libcst's do not know; one statement at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import libcst as cst

from asyncguard.lint.syntax.nodes import SCOPES, STATEMENTS, Scope
from asyncguard.lint.syntax.tree import expressions, suite
from asyncguard.lint.syntax.unit import Unit

_BLOCKS = (cst.Module, cst.IndentedBlock, cst.SimpleStatementSuite)
N = TypeVar("N", bound=cst.CSTNode)
_WRAPPERS = frozenset({
    cst.Arg, cst.Element, cst.Index, cst.SubscriptElement, cst.AssignTarget, cst.ComparisonTarget,
    cst.FormattedStringExpression, cst.IndentedBlock, cst.SimpleStatementLine,
    cst.SimpleStatementSuite, cst.Else, cst.Finally, cst.Decorator, cst.Annotation, cst.From,
    cst.CompIf, cst.DictElement, cst.StarredDictElement,
})  # fmt: skip


class _Home(NamedTuple):
    """The method or else the module's statement, the scope and the statement that nodes are in."""

    unit: Unit
    scope: Scope
    statement: cst.CSTNode


@cache
def _is_kind(kind: Any, kinds: tuple[Any, ...]) -> bool:
    return issubclass(kind, kinds)  # slow for libcst's classes


class Structure:
    """The tree of a file, and what each of its nodes is a part of."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.tree: cst.Module = unit.tree
        self._parents: dict[int, cst.CSTNode] = {}
        self._outers: dict[int, cst.CSTNode] = {}  # the same, as `outer` sees it
        self._units: dict[int, Unit] = {}  # of top-level statements, by `id`
        self._homes: dict[int, _Home] = {}  # of the nodes in them
        self._places: dict[cst.CSTNode, tuple[Sequence[Any], int]] = {}

    def parents(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what is around a node, innermost first, the module last."""
        while (parent := self.parent(node)) is not None:
            yield parent
            node = parent

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return what a node stands in, be it an `Arg` or a line; None for the module."""
        if id(node) not in self._parents and node is not self.tree:
            for statement in self.tree.body:
                self._map(statement)
        return self._parents.get(id(node))

    def outer(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the expression, clause or statement that a node is a part of.

        `Arg`, `Element`, `Index` and the like are seen through, lines and blocks as well, and
        of `a and b and c`, which libcst nests, all but the whole.
        """
        self.parent(node)
        return self._outers.get(id(node))

    def outers(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what is around a node as `outer` sees it, innermost first, the module last."""
        while (outer := self.outer(node)) is not None:
            yield outer
            node = outer

    def around(self, node: cst.CSTNode, kind: type[N] | tuple[type[N], ...]) -> N | None:
        """Return the innermost node of a kind around another."""
        return next((p for p in self.outers(node) if isinstance(p, kind)), None)

    def enclosing(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the statement that an expression is in, and what is around that or a statement."""
        statement = self.statement(node)
        if statement is not node:
            yield statement
        yield from self.parents(statement)

    def scope(self, node: cst.CSTNode) -> Scope:
        """Return the function, class, lambda or module that a node's names belong to."""
        home = self._home(node)
        return home.scope if home is not None else self.tree

    def scopes(self, node: cst.CSTNode) -> Iterator[cst.FunctionDef | cst.ClassDef | cst.Lambda]:
        """Yield the functions, classes and lambdas around a node, innermost first."""
        scope = self.scope(node)
        while not isinstance(scope, cst.Module):
            yield scope
            scope = self.scope(scope)

    def statement(self, node: cst.CSTNode) -> Any:
        """Return the innermost statement around a node, or the node if it is one."""
        home = self._home(node)
        assert home is not None
        return home.statement

    def _home(self, node: cst.CSTNode) -> _Home | None:
        if id(node) not in self._homes:
            self.parent(node)
        return self._homes.get(id(node))

    def block(self, statement: cst.CSTNode) -> tuple[Sequence[Any], int]:
        """Return the list of statements that one is in, and its index there."""
        if statement not in self._places:
            parents = self.parents(statement)
            parent = next(p for p in parents if isinstance(p, (*_BLOCKS, cst.If)))
            found = [statement] if isinstance(parent, cst.If) else suite(parent)  # an `elif`
            self._places.update({part: (found, at) for at, part in enumerate(found)})
        return self._places[statement]

    def is_stored(self, node: cst.CSTNode) -> bool:
        """Whether a name, attribute or item is bound or deleted at its place, and not read."""
        child = node
        for parent in self.parents(node):
            match parent:
                case cst.AssignTarget() | cst.Del() | cst.AsName():
                    return True
                case cst.Element() | cst.StarredElement() | cst.Tuple() | cst.List():
                    child = parent
                case _:
                    return getattr(parent, "target", None) is child
        return False

    def is_assigned(self, node: cst.CSTNode) -> bool:
        """Whether a name, attribute or item is given a value at its place, and not deleted."""
        return self.is_stored(node) and not isinstance(self.statement(node), cst.Del)

    def _map(self, statement: cst.CSTNode) -> None:
        """Note what the nodes of a statement of the module stand in, and which statement it is."""
        if id(statement) in self._units:
            return
        self._units[id(statement)] = self.unit.of(statement)
        self._parents[id(statement)] = self._outers[id(statement)] = self.tree
        begin = _Home(self._units[id(statement)], self.tree, statement)
        self._homes[id(statement)] = begin
        pending = [(statement, begin)]
        while pending:
            node, home = pending.pop()
            outer = self._outers[id(node)] if self._is_seen_through(node) else node
            if _is_kind(node.__class__, SCOPES):
                home = home._replace(scope=node)  # type: ignore[arg-type]
            for child in expressions(node):
                own = home
                if _is_kind(child.__class__, STATEMENTS):
                    is_method = type(child) is cst.FunctionDef and type(home.scope) is cst.ClassDef
                    unit = self.unit.of(child) if is_method else home.unit
                    own = home._replace(unit=unit, statement=child)
                self._parents[id(child)] = node
                self._outers[id(child)] = outer
                self._homes[id(child)] = own
                pending.append((child, own))

    def _is_seen_through(self, node: cst.CSTNode) -> bool:
        if type(node) is not cst.BooleanOperation:
            return type(node) in _WRAPPERS
        around = self._parents[id(node)]
        return (
            type(around) is cst.BooleanOperation
            and around.left is node
            and not node.lpar
            and type(around.operator) is type(node.operator)
        )
