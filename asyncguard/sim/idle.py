"""Which waits left the simulated devices idle: told as soon as that is known.

A wait is the whole call that the catalogue names, as a trace on a real device has it: also the
host's work in it, before it blocks.
"""

from __future__ import annotations

from asyncguard.idle import Bubble, Wait
from asyncguard.timeline.bubbles import Activity, Sweep
from asyncguard.timeline.virtual import Run

HELD = 8_192  # runs that are kept before the older half is settled; no call enqueues so many


class Idle:
    """Takes what runs and who waits, in the order in which the host gets there."""

    def __init__(self) -> None:
        self._sweep = Sweep()
        self._runs: list[Activity] = []
        self._found: list[Bubble] = []

    def ran(self, run: Run, handed_over: int) -> None:
        """The host has enqueued this; it began to at `handed_over`."""
        self._runs.append(Activity(run.device, run.begin_ns, run.end_ns, handed_over))
        if len(self._runs) >= HELD:
            self._add()
            self._found += self._sweep.settle(self._sweep.middle())

    def waited(self, wait: Wait) -> list[Bubble]:
        """A wait is over; return the idle times that are settled by now."""
        self._add(wait)
        found = self._found + self._sweep.settle(wait.end)
        self._found = []
        return found

    def close(self) -> list[Bubble]:
        """Nothing follows: settle all that is owed."""
        self._add()
        found, self._found = self._found + self._sweep.settle(), []
        return found

    def _add(self, *waits: Wait) -> None:
        self._sweep.add(waits, self._runs)
        self._runs = []
