"""`asyncguard run --live`: how the program does, at the foot of the terminal while it runs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from asyncguard import screens
from asyncguard.region import Region

if TYPE_CHECKING:
    from asyncguard.runtime.session import Session

ROWS = 6
SECONDS = 0.25  # between two pictures
WINDOW = 20  # pictures over which the rate of steps is taken


class Live:
    """Pictures of a session, of which `launch.run` asks for one every so many seconds."""

    seconds = SECONDS

    def __init__(self, region: Region, color: bool) -> None:
        self._region = region
        self._color = color
        self._marks: deque[tuple[int, int]] = deque(maxlen=WINDOW)  # steps, and their nanoseconds

    def draw(self, session: Session) -> None:
        """Show the session as it is now."""
        from asyncguard.render import live

        def picture(columns: int, rows: int) -> Sequence[str]:
            progress = session.progress(max(rows - 1, 0))
            figures = progress.figures
            rate = self._rate(figures.steady_steps, figures.steady_duration_ns)
            return live.rows(progress, rate, columns, rows, self._color)

        self._region.draw(picture)

    def end(self) -> None:
        """Leave the terminal to the program."""
        self._region.end()

    def forked(self) -> None:
        """A forked process has nothing to show."""
        self._region.forsake()

    def _rate(self, steps: int, nanoseconds: int) -> float | None:
        """Steps a second lately; None until there are two."""
        if self._marks and steps < self._marks[-1][0]:  # the program marks steps itself from now on
            self._marks.clear()
        self._marks.append((steps, nanoseconds))
        first, began = self._marks[0]
        if steps == first:
            first = began = 0
        return (steps - first) / (nanoseconds - began) * 1e9 if nanoseconds > began else None


def on(stream: TextIO | None) -> Live | None:
    """Return what shows pictures on a terminal; None where the stream is none that can."""
    screen = screens.screen(stream)
    if stream is None or not screen.terminal or os.environ.get("TERM") == "dumb":
        return None
    if os.name == "nt" and not os.environ.get("WT_SESSION"):
        return None  # older consoles cannot keep rows apart
    return Live(Region(stream.fileno(), ROWS), screen.color)
