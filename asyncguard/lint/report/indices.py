"""Indices of a file's trees, each made in one walk when a rule asks for it first.

A rule that asks about many sites of one function looks up what others would walk the function for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import libcst as cst

from asyncguard.lint.report.statement_order import assigned, gates, walk_own
from asyncguard.lint.syntax.tree import children, dotted

T = TypeVar("T")


class Uses:
    """Where variables and attributes stand in a tree.

    Definitions are looked into as well: a function may close over a variable.
    """

    def __init__(self, tree: cst.CSTNode) -> None:
        self._spans: dict[int, tuple[int, int]] = {}  # by a node's id: its number, and the last's
        self._found: dict[str, list[int]] = {}  # numbers of nodes, by dotted name
        number = 0
        stack = [(tree, False)]
        while stack:
            current, done = stack.pop()
            if done:
                self._spans[id(current)] = self._spans[id(current)][0], number
                continue
            number += 1
            self._spans[id(current)] = number, number
            if path := dotted(current):
                self._found.setdefault(path, []).append(number)
            if type(current) is cst.Attribute or type(current) is cst.Arg:  # not their names
                inner: list[cst.CSTNode] = [current.value]
            else:
                inner = children(current)
            if inner:
                stack.append((current, True))
                stack.extend((node, False) for node in reversed(inner))

    def places(self, node: cst.CSTNode, path: str, but: cst.CSTNode) -> Iterator[int]:
        """Yield the numbers of the places below `node`, outside of `but`, where a path stands."""
        first, last = self.span(node)
        start, end = self.span(but)
        numbers = self._found.get(path, [])
        for number in numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]:
            if not start <= number <= end:
                yield number

    def count(self, node: cst.CSTNode, path: str, but: cst.CSTNode) -> int:
        """Return how often a path stands below `node`, outside of `but`, which may be in it."""
        (first, last), (start, end) = self.span(node), self.span(but)
        inside = self._count(path, start, end) if first <= start and end <= last else 0
        return self._count(path, first, last) - inside

    def _count(self, path: str, first: int, last: int) -> int:
        numbers = self._found.get(path, [])
        return bisect_right(numbers, last) - bisect_left(numbers, first)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the numbers of a node, and of the last node below it."""
        return self._spans[id(node)]


class Body:
    """Which statements of a list assign which names."""

    def __init__(self, statements: Sequence[cst.CSTNode]) -> None:
        self._assigning: dict[str, list[int]] = {}
        for index, statement in enumerate(statements):
            for name in assigned(statement):
                self._assigning.setdefault(name, []).append(index)

    def assigns(self, names: Iterable[str], start: int, stop: int) -> bool:
        """Whether any of the names is assigned in the statements `start` to `stop - 1`."""
        return any(
            bisect_left(indices, start) < bisect_left(indices, stop)
            for name in names
            if (indices := self._assigning.get(name))
        )


class Gates:
    """The `if step % n == 0:` below a node, outside of definitions."""

    def __init__(self, node: cst.CSTNode, uses: Uses) -> None:
        bodies = [part.body for part in walk_own(node) if type(part) is cst.IndentedBlock]
        spans = [uses.span(gate.body) for body in bodies for gate in gates(body)]
        self._first = sorted(first for first, _ in spans)
        self._last = sorted(last for _, last in spans)

    def hold(self, number: int) -> bool:
        """Whether one of them holds a place, by its number."""
        return bisect_right(self._first, number) > bisect_left(self._last, number)


class Indices:
    """The indices of one file's trees, as long as a rule looks at them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], object] = {}

    def _keep(self, kind: str, of: object, make: Callable[[], T]) -> T:
        key = kind, id(of)
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[return-value]

    def uses(self, tree: cst.CSTNode) -> Uses:
        """Return where variables stand in a tree."""
        return self._keep("uses", tree, lambda: Uses(tree))

    def body(self, statements: Sequence[cst.CSTNode]) -> Body:
        """Return what is known of a list of statements."""
        return self._keep("body", statements, lambda: Body(statements))

    def gates(self, node: cst.CSTNode, uses: Uses) -> Gates:
        """Return the gates below a node of the tree that `uses` knows."""
        return self._keep("gates", node, lambda: Gates(node, uses))

    def assigned(self, node: cst.CSTNode) -> set[str]:
        """Return the names that a piece of code assigns."""
        return self._keep("assigned", node, lambda: assigned(node))
