"""The one folder that the tools may name files in, and the runs that are kept there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from asyncguard import files
from asyncguard.model import AsyncguardError

RUNS = ".asyncguard_runs"
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
OUTPUT, AGAIN = ".stdout", ".again"  # what a run printed, and another of the same program
_NAME = re.compile(NAME)


class Root:
    """A folder: paths are taken from it, must stay in it, and are told as they are from there."""

    def __init__(self, folder: Path) -> None:
        """Raises AsyncguardError where there is no such folder."""
        if not folder.is_dir():
            raise AsyncguardError(f"{folder}: there is no such folder; name another with --root")
        self.folder = Path(os.path.realpath(folder))

    def path(self, text: str) -> str:
        """Return a path that leads into the folder; raises AsyncguardError for any other.

        Links count as what they lead to.
        """
        full = self._real(text)
        if full is None or not full.is_relative_to(self.folder):
            raise AsyncguardError(
                f"{text}: lies outside of {self.folder}, and this server keeps to that; name a "
                "path inside, or have it started with another --root"
            )
        if not full.exists():
            raise AsyncguardError(f"{text}: there is no such file or folder in {self.folder}")
        return os.path.relpath(full, self.folder)

    def holds(self, text: str) -> bool:
        """Whether a path leads into the folder."""
        full = self._real(text)
        return full is not None and full.is_relative_to(self.folder)

    def trace(self, text: str) -> str:
        """Return the file of a trace: a run's name, or a path; raises AsyncguardError."""
        kept = self.run(text)
        if kept is not None and kept.is_file():
            return os.path.relpath(kept, self.folder)
        if not self.holds(text) or (self.folder / text).is_file():
            return self.path(text)
        names = ", ".join(self.names()) or "none yet"
        raise AsyncguardError(
            f"{text}: neither a run nor a trace; runs here: {names}. The tool `run` records one"
        )

    def run(self, name: str) -> Path | None:
        """Return the file for the trace of a run; None for what is no name of one."""
        return self.folder / RUNS / f"{name}.json" if _NAME.fullmatch(name) else None

    def names(self) -> Iterable[str]:
        """Return the names of the runs that are kept."""
        return sorted(path.stem for path in (self.folder / RUNS).glob("*.json"))

    def runs(self) -> Path:
        """Return the folder of the runs, which git ignores; raises AsyncguardError."""
        folder = self.folder / RUNS
        try:
            if folder.is_symlink():
                raise OSError("is a link")
            folder.mkdir(exist_ok=True)
            if not (folder / ".gitignore").exists():
                files.replace(folder / ".gitignore", [b"*\n"])
        except OSError as error:
            raise AsyncguardError(
                f"{folder}: runs cannot be kept there: {error.strerror or error}"
            ) from error
        return folder

    def keep(self, folder: str, name: str) -> None:
        """Put the run in a folder in the place of the one that was kept under its name."""
        for end in (".json", OUTPUT, AGAIN):
            new, old = Path(folder, f"{name}{end}"), self.folder / RUNS / f"{name}{end}"
            try:
                if new.exists():
                    files.replace(old, [files.read(new)])
                else:
                    old.unlink(missing_ok=True)
            except OSError as error:
                raise AsyncguardError(
                    f"{old}: the run cannot be kept: {error.strerror or error}"
                ) from error

    def _real(self, text: str) -> Path | None:
        with suppress(ValueError):  # a null character
            return Path(os.path.realpath(self.folder / text))
        return None
