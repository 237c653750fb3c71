"""Where a command's result goes: to standard output, or into a file that is replaced whole."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard import files, screens
from asyncguard.model import AsyncguardError

if TYPE_CHECKING:
    from asyncguard.render import Screen

SUFFIXES = {
    "": "text", ".txt": "text", ".log": "text", ".json": "json", ".jsonl": "jsonl",
    ".sarif": "sarif", ".xml": "junit", ".md": "markdown",
}  # fmt: skip


class Output(NamedTuple):
    """A place for text: a file, or standard output where there is none."""

    path: Path | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace, sources: Iterable[str | Path] = ()) -> Output:
        """Return the place that `--output` names; raises AsyncguardError for one that cannot be."""
        path: Path | None = arguments.output
        if path is not None:
            try:
                files.require_replaceable(path, sources)
            except OSError as error:
                raise _unwritable(path, error) from error
        return cls(path)

    @property
    def screen(self) -> Screen:
        """What shows the text."""
        return screens.screen(sys.stdout) if self.path is None else screens.plain()

    @property
    def format(self) -> str:
        """The format of findings that fits: the file's suffix, or what the stream is."""
        if self.path is None:
            return "text" if self.screen.wrapped else "concise"
        name = SUFFIXES.get(self.path.suffix.lower())
        if name is None:
            raise AsyncguardError(f"{self.path}: name its format with --output-format")
        return name

    def write(self, text: str) -> None:
        """Write the whole result; raises AsyncguardError."""
        if self.path is None:
            screens.write(sys.stdout, text)
        else:
            self.write_bytes(text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """Write bytes as they are; raises AsyncguardError."""
        if self.path is None:
            with screens.written_to(sys.stdout):
                sys.stdout.flush()
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
            return
        try:
            files.replace(self.path, [data])
        except OSError as error:
            raise _unwritable(self.path, error) from error


def tell(text: str, *, quiet: bool = False) -> None:
    """Say on stderr what goes with a result, unless nothing but the result is wanted."""
    if not quiet:
        screens.write(sys.stderr, f"asyncguard: {screens.one_line(text)}\n")


def _unwritable(path: Path, error: OSError) -> AsyncguardError:
    reason = error.strerror or error
    return AsyncguardError(f"{path}: cannot be written: {reason}; name another with -o")
