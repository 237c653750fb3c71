"""A few rows at the foot of a terminal, kept apart from what a program writes above them.

The terminal itself scrolls only the rows above: whatever reaches it, from Python, C or another
process, stays there whole, and a program finds the streams that it would find without us. Each
picture is one write, which puts the cursor back where the program left it, in its colours. A shell
of its own waits for the end of the program, and puts the terminal right if it was killed.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

Size = Callable[[int], os.terminal_size]
TALL = 16  # rows of a terminal from which on all rows are shown; the first alone on a smaller one
LEAST = 6  # rows of a terminal that shows any
# Reads a line, or finds that nobody is left who could write one.
_GUARD = r"exec 3<&0; (read -r line <&3 || printf '\0337\033[r\0338\033[J' >&2) &"
_SAVE, _BACK, _DOWN = "\x1b7", "\x1b8", "\x1bD"


class Region:
    """`most` rows of the terminal behind a descriptor, from `begin` to `end`."""

    def __init__(self, descriptor: int, most: int, size: Size = os.get_terminal_size) -> None:
        self._descriptor = os.dup(descriptor)  # the program may close its own
        self._most = most
        self._size = size
        self._lock = threading.RLock()  # the end may come while a picture is drawn
        self._shape = (0, 0)  # rows of the terminal, and of these ours
        self._open = True
        self._guard: int | None = None  # a pipe to who waits for our end

    def draw(self, picture: Callable[[int, int], Sequence[str]]) -> None:
        """Show what `picture(columns, rows)` makes: at most so many lines, each narrower.

        Nothing happens while the terminal is another program's, or too small, nor after `end`.
        """
        with self._lock:
            if not (self._open and self._is_ours()):
                return
            try:
                columns, height = self._size(self._descriptor)
            except OSError:  # it is gone
                return
            rows = self._most if height >= TALL else int(height >= LEAST)
            room = self._with_room(height, rows)
            if rows:
                if self._guard is None:
                    self._guard = _guarded(self._descriptor)
                top = height - rows
                lines = [*picture(columns, rows), *[""] * rows][:rows]
                shown = "".join(_row(top + at, line) for at, line in enumerate(lines, 1))
                self._write(f"{room}{_SAVE}\x1b[1;{top}r{shown}{_BACK}")
            else:
                self._write(room)

    def end(self) -> None:
        """Give the rows back to the program, empty."""
        with self._lock:
            if self._open:
                if self._is_ours():
                    self._write(self._without_rows())
                if self._guard is not None:
                    with suppress(OSError):
                        os.write(self._guard, b"\n")
                self.forsake()

    def forsake(self) -> None:
        """Leave the terminal to whoever else has this region: a forked process does not."""
        self._lock = threading.RLock()  # another thread may have held it
        self._open = False
        for descriptor in (self._descriptor, self._guard):
            if descriptor is not None:
                with suppress(OSError):
                    os.close(descriptor)

    def _with_room(self, height: int, rows: int) -> str:
        """Return what frees the rows where the terminal has changed: it moves up what is there."""
        if self._shape == (height, rows):
            return ""
        before, self._shape = self._without_rows(), (height, rows)
        return f"{before}{_DOWN * rows}\x1b[{rows}A" if rows else before

    def _without_rows(self) -> str:
        height, rows = self._shape
        if not rows:
            return ""
        cleared = "".join(_row(height - at, "") for at in range(rows))
        return f"{_SAVE}\x1b[r{cleared}{_BACK}"

    def _is_ours(self) -> bool:
        """Whether the terminal belongs to our job: another may be in the foreground."""
        if not hasattr(os, "tcgetpgrp"):
            return True
        with suppress(OSError):  # it controls no job of ours
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        return True

    def _write(self, text: str) -> None:
        """Write at once; a terminal that is gone, or takes nothing just now, is left alone."""
        if text:
            with suppress(OSError):
                os.write(self._descriptor, text.encode("utf-8", "replace"))


def _guarded(terminal: int) -> int | None:
    """Start what waits for our end, as no child of ours; returns where to write that all is well.

    None where there is no such shell.
    """
    reader, writer = os.pipe()
    try:
        subprocess.Popen(
            ["/bin/sh", "-c", _GUARD], stdin=reader, stdout=subprocess.DEVNULL, stderr=terminal,
            start_new_session=True,
        ).wait()  # fmt: skip
    except OSError:
        os.close(writer)
        return None
    finally:
        os.close(reader)
    return writer


def _row(number: int, line: str) -> str:
    return f"\x1b[{number};1H\x1b[0m\x1b[2K{line}"
