"""Changes to the waits of a program, and which of them go by a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from asyncguard.timeline.program import Boundary, Pause, Program


@dataclass(frozen=True)
class Changes:
    """What is to be different; sites are indices into the record's.

    Of each group of `batch` one wait a step is left, the last one. A site in `every` waits only in
    each n-th step. With `wait_each_step` each step waits at its end for what it enqueued; with
    the name of an operation, for the last one of that name.
    """

    remove: frozenset[int] = frozenset()
    batch: tuple[frozenset[int], ...] = ()
    every: Mapping[int, int] = field(default_factory=dict, hash=False)
    wait_each_step: bool | str = False

    def __or__(self, other: Changes) -> Changes:
        """Both; what is removed by either is removed."""
        thinned = {
            site: max(self.every.get(site, 1), other.every.get(site, 1))
            for site in {*self.every, *other.every}
        }
        waits = self.wait_each_step or other.wait_each_step
        return Changes(self.remove | other.remove, (*self.batch, *other.batch), thinned, waits)


class Waits:
    """The waits of a program, by site: the step and the number of each, in order."""

    def __init__(self, program: Program) -> None:
        self._at: dict[int | None, list[tuple[int, int]]] = {}
        step = 0
        for action in program.actions:
            if isinstance(action, Pause):
                self._at.setdefault(action.site, []).append((step, action.number))
            elif isinstance(action, Boundary):
                step += 1

    def gone(self, changes: Changes) -> set[int]:
        """Return the numbers of those that do not happen any more."""
        found = {number for site in changes.remove for _, number in self._at.get(site, ())}
        for site, every in changes.every.items():
            waits = self._at.get(site, ())
            found.update(number for step, number in waits if (step + 1) % every)
        for group in changes.batch:
            together = sorted(wait for site in group for wait in self._at.get(site, ()))
            found.update(
                number for (step, number), (after, _) in pairwise(together) if step == after
            )
        return found
