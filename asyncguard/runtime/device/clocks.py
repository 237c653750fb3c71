"""Two clocks side by side: from a device source's timestamps to the session's clock.

The clocks may start anywhere and drift. They are read together at the start and at the end; times
in between lie on the line through both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], int]

TRIES = 9


@dataclass(frozen=True)
class Reading:
    """Both clocks at one moment, in ns; they may be `error` apart from that."""

    ours: int
    theirs: int
    error: int


@dataclass(frozen=True)
class Alignment:
    """Turns times of the other clock into times of ours."""

    first: Reading
    last: Reading

    @property
    def error(self) -> int:
        """By how much a time that was turned may be off, in ns."""
        return max(self.first.error, self.last.error)

    @property
    def drift(self) -> int:
        """How many ns ours gained on the other clock between the readings."""
        return (self.last.ours - self.first.ours) - (self.last.theirs - self.first.theirs)

    def ours(self, theirs: int) -> int:
        """The time on our clock."""
        since, whole = theirs - self.first.theirs, self.last.theirs - self.first.theirs
        correction = self.drift * since // whole if whole > 0 else 0
        return self.first.ours + since + correction


def read(ours: Clock, theirs: Clock) -> Reading:
    """Read both: theirs between two looks at ours, and of several tries the quickest."""
    return min((_read_once(ours, theirs) for _ in range(TRIES)), key=lambda reading: reading.error)


def _read_once(ours: Clock, theirs: Clock) -> Reading:
    before = ours()
    there = theirs()
    after = ours()
    return Reading((before + after) // 2, there, (after - before + 1) // 2)
