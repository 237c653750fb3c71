"""The surroundings of a finding, and predicates: questions that patterns ask about them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.fixes.spots import Spot
from asyncguard.lint.syntax.nodes import elements, indices, positional, walk
from asyncguard.lint.syntax.tree import dotted
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

    def inside(self, parts: Sequence[cst.CSTNode], code: str) -> bool:
        """Whether a rule has found something within expressions."""
        found: set[cst.CSTNode] = self._nodes.get(code, set())
        return any(part in found for each in parts for part in walk(each))

    @cached_property
    def _nodes(self) -> dict[str, set[cst.CSTNode]]:
        nodes: dict[str, set[cst.CSTNode]] = {}
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
    def read(self) -> Any:
        """What the site reads: `x` of `x.item()`, `int(x)`, `x[mask]` (the mask) and `f"{x}"`.

        None where it reads several, those of a tuple or of `x[i, j]`: see `reads`.
        """
        read = self._read
        return None if isinstance(read, (list, cst.Tuple)) else read

    @property
    def reads(self) -> list[Any]:
        """What the site reads, one by one.

        Where numbers are expected, they are what is given: `n` and 3 of `x.view(n, 3)`.
        """
        read = self._read
        if isinstance(read, list):
            return read
        return elements(read) if isinstance(read, cst.Tuple) else [read]

    @property
    def _read(self) -> Any:
        node = self.spot.node
        if isinstance(node, cst.Subscript):
            found = indices(node)
            return found if len(found) > 1 else found[0]
        given = positional(node) if isinstance(node, cst.Call) else []
        if self.spot.finding.code == "ASG102" and len(given) > 1:
            return given
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            is_function = self.spot.code.imports.get(dotted(node.func).partition(".")[0])
            return given[0] if is_function and given else node.func.value
        return given[0] if given else node


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
