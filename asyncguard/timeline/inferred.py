"""The device's work where only the host was watched: read from the waits, and what lay between.

While the host is blocked, the device works. What it did before, while the host worked, a wait does
not tell: its length is only what was left when the host came. That work is between nothing (all was
enqueued just before the wait) and all of the time (it was enqueued at once). `Overlap` says which
share of the host's own time it was, before the waits at each site.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asyncguard.timeline.program import Action, Boundary, Handover, Pause, Program, Work

DEVICE = "device"
RETURN_NS = 20_000  # a wait for what is finished takes no longer; what lasts longer was blocked
WOKEN_LATE_NS = 200_000  # what a busy machine may take to wake the host behind a wait


@dataclass(frozen=True)
class Overlap:
    """The share of the host's own time in which the device worked beside it.

    `before` is that of the time in front of the waits at a site, where it is known.
    """

    overall: float
    before: Mapping[int, float] = field(default_factory=dict)

    def at(self, site: int | None) -> float:
        """The share of the time in front of a wait at this site."""
        return self.overall if site is None else self.before.get(site, self.overall)


def with_device(program: Program, overlap: Overlap, return_ns: int = RETURN_NS) -> Program:
    """Put in front of each wait, where it must lie, the work that the wait was for.

    Up to `return_ns` of each wait, but no more than the shortest at its site took, is the call's
    own time; the rest is the device's.
    """
    filled = _Filled(overlap, _return_times(program, return_ns))
    for action in program.actions:
        filled.take(action)
    filled.end()
    return replace(program, actions=tuple(filled.made), has_runs=True)


def _return_times(program: Program, most: int) -> dict[int | None, int]:
    """What a wait at each site takes at least, beyond the work that it is for."""
    least: dict[int | None, int] = {}
    for action in program.actions:
        if isinstance(action, Pause):
            least[action.site] = min(action.return_ns, least.get(action.site, most))
    return least


class _Filled:
    """The actions so far; `_segment` holds those since the last wait."""

    def __init__(self, overlap: Overlap, returns: dict[int | None, int]) -> None:
        self.made: list[Action] = []
        self._overlap = overlap
        self._returns = returns
        self._segment: list[Action] = []
        self._key = 0

    def take(self, action: Action) -> None:
        if not isinstance(action, Pause):
            self._segment.append(action)
            return
        returns = min(action.return_ns, self._returns[action.site])
        self._release(action.return_ns - returns, self._overlap.at(action.site))
        self.made.append(action._replace(target=self._key, return_ns=returns))

    def end(self) -> None:
        self._release(0, self._overlap.overall)

    def _release(self, blocked_ns: int, share: float) -> None:
        """Enqueue what ran in this segment, for a share of it, and in the wait behind it."""
        worked = sum(action.ns for action in self._segment if isinstance(action, Work))
        beside = int(worked * share)
        self._key += 1
        handover = Handover(self._key, DEVICE, beside + blocked_ns)
        before, after = _split(self._segment, worked - beside)
        self.made += [*before, handover, *after]
        self._segment = []


def _split(actions: Sequence[Action], at: int) -> tuple[list[Action], list[Action]]:
    """Cut where the host has worked for `at` ns."""
    before: list[Action] = []
    for index, action in enumerate(actions):
        if isinstance(action, Work):
            if action.ns > at:
                rest: list[Action] = [Work(action.ns - at), *actions[index + 1 :]]
                return [*before, Work(at)], rest
            at -= action.ns
        before.append(action)
    return before, []


def average(work_ns: int, waits: Sequence[tuple[int, int]], steps: int) -> Program:
    """A program of equal steps from sums alone: the host's own time, and (site, ns) of each wait.

    The waits lie evenly in the step; how they really lay is not known.
    """
    share = work_ns // (len(waits) + 1)
    actions: list[Action] = []
    number = itertools.count()
    for _ in range(steps):
        for site, ns in waits:
            actions += [Work(share), Pause(next(number), site, None, ns)]
        actions += [Work(work_ns - share * len(waits)), Boundary()]
    step = work_ns + sum(ns for _, ns in waits)
    return Program(tuple(actions), (step,) * steps)
