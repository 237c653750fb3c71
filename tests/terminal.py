"""A program in a terminal of its own, and the screen that a person would see."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pyte = pytest.importorskip("pyte", reason="pyte is not installed")


class Terminal:
    """A process in a pseudo-terminal, as its leader; `screen` is what stands there."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        rows: int = 30,
        columns: int = 100,
        environment: Mapping[str, str] | None = None,
        **streams: Any,
    ) -> None:
        self.master, slave = pty.openpty()
        self.written = b""
        self.resize(rows, columns)
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.01)
        self._stream = pyte.ByteStream(self._screen)
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
            start_new_session=True,
            **{"stdin": slave, "stdout": slave, "stderr": slave, **streams},
        )
        os.close(slave)

    def resize(self, rows: int, columns: int) -> None:
        """Make the terminal another size, as dragging its window does."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if self.written:
            self._screen.resize(rows, columns)

    @property
    def lines(self) -> list[str]:
        """The rows of the screen, from the top."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def everything(self) -> list[str]:
        """What has been scrolled off the top, and the screen."""
        columns = range(self._screen.columns)
        above = ["".join(row[x].data for x in columns).rstrip() for row in self._screen.history.top]
        return [*above, *self.lines]

    def until(self, seen: Callable[[list[str]], object]) -> list[str]:
        """Read until the screen is so; returns it. Fails where the program ends before."""
        while not seen(self.lines):
            assert self._read(), "\n".join(self.everything)
        return self.lines

    def type(self, text: str) -> None:
        """Write as somebody at the keyboard does."""
        os.write(self.master, text.encode())

    def end(self) -> int:
        """Read to the end; returns the exit status."""
        while self._read():
            pass
        os.close(self.master)
        return self.process.wait()

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except OSError as error:  # what Linux says once nobody has the terminal open
            if error.errno != errno.EIO:
                raise
            data = b""
        self.written += data
        self._stream.feed(data)
        return bool(data)
