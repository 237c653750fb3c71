"""How often code is run: within its function, and in the whole program.

`Context.within` is the one place where the two are put together.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from typing import NamedTuple

from asyncguard.lint.domain.regions import NO_GRAPHS, Graphs
from asyncguard.model import Loop


class Hotness(enum.IntEnum):
    """How often a program enters a function, seldom first; of two ways to it the hotter counts."""

    COLD = 0
    EPOCH = 1
    RARE = 2  # in some steps
    STEP = 3


OF_LOOP: Mapping[Loop, Hotness] = {
    Loop.NONE: Hotness.COLD,
    Loop.EPOCH: Hotness.EPOCH,
    Loop.STEP: Hotness.STEP,
}


class Context(NamedTuple):
    """How often a place is run when its function is; `guarded`: a condition makes that rare.

    `switches` are names of options that it is run for: where one is off, it is not. `graphs`: which
    the place is part of, as far as its function tells.
    """

    loop: Loop = Loop.NONE
    guarded: bool = False
    switches: frozenset[str] = frozenset()
    graphs: Graphs = NO_GRAPHS

    def decided(self, off: Collection[str]) -> Context:
        """Return it where these options are off."""
        if not self.switches:
            return self
        closed = not self.guarded and not self.switches.isdisjoint(off)
        return self._replace(guarded=True) if closed else self

    def within(self, entered: Hotness) -> Context:
        """Return how often the place is run in a program that enters its function that often."""
        if self.loop is Loop.STEP or entered == Hotness.COLD:
            return self
        if entered == Hotness.EPOCH:
            return Context(Loop.EPOCH, self.guarded)
        return Context(Loop.STEP, self.guarded or entered == Hotness.RARE)

    @property
    def hotness(self) -> Hotness:
        """How often what is called here is entered; a guard counts only within steps."""
        if self.guarded and self.loop is Loop.STEP:
            return Hotness.RARE
        return OF_LOOP[self.loop]


ONCE = Context()
IN_STEP = Context(Loop.STEP)
