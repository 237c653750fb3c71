"""Regions: code that a program runs as a graph, and code that it keeps out of one."""

from __future__ import annotations

from typing import NamedTuple


class Region(NamedTuple):
    """A region in a program: where it begins, and how."""

    kind: str  # the `id` of the catalogue's entry
    asks: str  # as of that entry: "capture"
    api: str  # what makes it: "torch.cuda.graph"
    path: str
    line: int
    whole: bool = True  # a wait in it fails; else it splits the graph
    disabled: bool = False  # what it is about is kept out of such regions


class Graphs(NamedTuple):
    """What is known within a function of the graphs that a place is part of."""

    within: frozenset[Region] = frozenset()
    outside: frozenset[str] = frozenset()  # the program asks whether it is in one, and is not

    def __or__(self, other: Graphs) -> Graphs:
        """Return what is known where `other` holds within `self`: what was asked last counts."""
        if other is NO_GRAPHS:
            return self
        if self is NO_GRAPHS:
            return other
        within = {region for region in self.within if region.asks not in other.outside}
        outside = self.outside - {region.asks for region in other.within}
        return Graphs(other.within | within, outside | other.outside)

    def without(self, kind: str) -> Graphs:
        """Return it behind the end of a region of this kind."""
        return Graphs(frozenset(r for r in self.within if r.kind != kind), self.outside)


NO_GRAPHS = Graphs()
