"""The surroundings of a finding, and predicates: questions that patterns ask about them."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

from asyncguard.lint.fixes.code import dotted
from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.source import parsed
from asyncguard.model import Finding


class Company:
    """All findings of a file, by place and by block."""

    def __init__(self, spots: Sequence[Spot] = ()) -> None:
        self._spots = spots
        self._notes: dict[tuple[int, str], dict[str, list[Spot]]] = {}

    def at(self, line: int, column: int, code: str) -> Finding | None:
        """Return what a rule says of a place."""
        return self._at.get((line, column, code))

    def later(self, spot: Spot, most: int) -> list[Spot]:
        """Return the next ones of the same rule in the same block, `most` at most."""
        block = self._blocks.get((id(spot.body), spot.finding.code), [])
        first = bisect.bisect_left(block, spot.at, key=_at)
        return block[first : first + most]

    def noted(self, spot: Spot, notes: Callable[[Spot], set[str]]) -> dict[str, list[Spot]]:
        """Return all of the same rule in the same block, by what is to be noted of them."""
        key = id(spot.body), spot.finding.code
        if key not in self._notes:
            found = self._notes[key] = {}
            for each in self._blocks.get(key, []):
                for note in notes(each):
                    found.setdefault(note, []).append(each)
        return self._notes[key]

    def inside(self, node: ast.expr, code: str) -> bool:
        """Whether a rule has found something within an expression."""
        found: set[ast.AST] = self._nodes.get(code, set())
        return any(part in found for part in parsed.walk(node))

    @cached_property
    def _nodes(self) -> dict[str, set[ast.AST]]:
        nodes: dict[str, set[ast.AST]] = {}
        for spot in self._spots:
            nodes.setdefault(spot.finding.code, set()).add(spot.node)
        return nodes

    @cached_property
    def _at(self) -> dict[tuple[int, int, str], Finding]:
        findings = [spot.finding for spot in reversed(self._spots)]
        return {(found.line, found.column, found.code): found for found in findings}

    @cached_property
    def _blocks(self) -> dict[tuple[int, str], list[Spot]]:
        blocks: dict[tuple[int, str], list[Spot]] = {}
        for spot in sorted(self._spots, key=_at):
            blocks.setdefault((id(spot.body), spot.finding.code), []).append(spot)
        return blocks


def _at(spot: Spot) -> int:
    return spot.at


class Scene(NamedTuple):
    """A finding among its code, and all findings of its file."""

    spot: Spot
    company: Company

    @property
    def read(self) -> ast.expr:
        """What the site reads: `x` of `x.item()`, `int(x)`, `x[mask]` (the mask) and `f"{x}"`.

        Where a number is expected, it is what is given: `(n, 3)` of `x.view(n, 3)`.
        """
        node = self.spot.node
        if self.spot.finding.code == "ASG102" and isinstance(node, ast.Call) and len(node.args) > 1:
            return ast.Tuple(node.args, ast.Load())
        if isinstance(node, ast.Subscript):
            return node.slice
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_function = self.spot.code.imports.get(dotted(node.func).partition(".")[0])
            return node.args[0] if is_function and node.args else node.func.value
        if isinstance(node, ast.Call) and node.args:
            return node.args[0]
        return node


@dataclass(frozen=True)
class Predicate:
    """A question that patterns can ask about a scene."""

    ask: Callable[[Scene], bool]

    def __call__(self, scene: Scene) -> bool:
        """Return the answer."""
        return self.ask(scene)

    @property
    def name(self) -> str:
        """The name of its function, with spaces for underscores."""
        return self.ask.__name__.replace("_", " ")


predicate = Predicate


def table(*modules: ModuleType) -> dict[str, Predicate]:
    """Return the predicates of modules by name."""
    found = [each for module in modules for each in vars(module).values()]
    return {each.name: each for each in found if isinstance(each, Predicate)}
