"""The summary of a function: what its callers need to know of it."""

from __future__ import annotations

from typing import NamedTuple

from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.effects import Edge, Event, Site, drop_trees
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.values import UNKNOWN_VALUE, Value
from asyncguard.lint.domain.work import Work
from asyncguard.lint.syntax.tree import NO_TREE


class Summary(NamedTuple):
    """What a function's callers need to know."""

    result: Value = UNKNOWN_VALUE
    reads: tuple[Site, ...] = ()
    sites: tuple[Site, ...] = ()
    edges: tuple[Edge, ...] = ()
    events: tuple[Event, ...] = ()
    named: tuple[tuple[str, Context], ...] = ()
    work: Work = Work.NONE
    compiles: tuple[FunctionInfo, ...] = ()  # functions that it hands to a compiler

    def without_trees(self) -> Summary:
        """Return it for callers; the rules have done with it."""
        drop_trees({*self.sites, *self.reads})
        bare = (e._replace(node=NO_TREE, loops=(), blocks=()) for e in self.events)
        return self._replace(events=tuple(bare))


EMPTY = Summary()
