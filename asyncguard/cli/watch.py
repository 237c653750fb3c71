"""`asyncguard check --watch`: checks again whenever a file changes that the result depends on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from asyncguard import files, screens
from asyncguard.cli import options
from asyncguard.cli.fixes import Looked
from asyncguard.cli.output import tell
from asyncguard.model import AsyncguardError, Finding

CLEAR = "\x1b[H\x1b[2J"  # the screen alone: what a terminal holds above it stays
NAMED = 3  # changed files that are named one by one
KEPT = "{} cannot be read as Python: its other findings are those of what it held before."
UNSUITED = (
    "fix", "diff", "add_ignore", "write_baseline", "trace", "show_allowed", "show_files",
    "show_settings", "stdin_filename",
)  # fmt: skip
Look = Callable[[], Looked]
Check = Callable[[str, bytes], Sequence[Finding]]  # a file alone
Show = Callable[[Looked, str], None]  # what was found, and what has changed


def require_sense(arguments: argparse.Namespace) -> None:
    """Raise AsyncguardError for options that --watch does not go with."""
    given = [name for name in UNSUITED if getattr(arguments, name) not in (None, False)]
    if given or "-" in arguments.paths:
        name = f"--{given[0].replace('_', '-')}" if given else "'-'"
        raise AsyncguardError(f"--watch shows findings of files, again and again: leave out {name}")


def run(arguments: argparse.Namespace, look: Look, check: Check, show: Show) -> int:
    """Look and show, now and after each change, until Ctrl-C; returns the last status.

    An error that somebody can put right is told, and what has changed then is looked at again; the
    first time it is raised.
    """
    from asyncguard.lint.run import changes

    former = _Former(check)
    status: int | None = None
    depended_on = _DependedOn(arguments)
    try:
        for changed in changes.changes(depended_on, changes.waiting()):
            seen = {path for path in changed if not depended_on.is_written(path)}
            if changed and not seen:
                continue
            try:
                found = former.look(look, changed)
                status = found.status(arguments)  # of what is shown, if Ctrl-C comes meanwhile
                with former.standing_in():
                    show(found, _named(seen))
            except AsyncguardError as error:
                if status is None:
                    raise
                status = 2
                screens.write(sys.stdout, clear())
                sys.stdout.flush()
                tell(str(error))
            if sys.stdout.isatty():
                tell("watching for changes; Ctrl-C ends this", quiet=arguments.quiet)
    except KeyboardInterrupt:
        if status is None:
            raise
        return status
    raise AssertionError("changes have no end")


def clear() -> str:
    """Return what clears the terminal for the next result; nothing where it cannot be cleared."""
    return CLEAR if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else ""


class _DependedOn:
    """The files that a check depends on: as the configuration says now, while it says anything."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._known: list[str] | None = None

    def __call__(self) -> list[str]:
        from asyncguard.lint.run.changes import depended_on

        arguments = self._arguments
        try:
            configuration = options.configuration(arguments)
            named = [str(path) for path in (arguments.config, arguments.baseline) if path]
            paths = [Path(path) for path in arguments.paths] or [Path()]
            self._known = [*named, *depended_on(paths, configuration)]
        except AsyncguardError:
            if self._known is None:
                raise
        return self._known

    def is_written(self, path: str) -> bool:
        """Whether it is what the results are written to."""
        with suppress(OSError, ValueError):
            status = os.stat(path)
            ours = [stream.fileno() for stream in (sys.stdout, sys.stderr)]
            if any(os.path.samestat(status, os.fstat(each)) for each in ours):
                return True
        output: Path | None = self._arguments.output
        return output is not None and os.path.realpath(output) == os.path.realpath(path)


class _Former:
    """What files held when they could last be read as Python: it stands in while they cannot."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._contents: dict[str, bytes] = {}
        self._broken: dict[str, Sequence[Finding]] = {}  # with what is to be said of that

    def look(self, look: Look, changed: Collection[str]) -> Looked:
        """Return what there is to show; `standing_in` is a context in which it is so."""
        for path in changed:
            self._broken.pop(path, None)
            if path in self._contents and (errors := self._errors(path)) is not None:
                self._broken[path] = errors
        with self.standing_in():
            seen = look()
        unread = {error.path for error in seen.result.errors} | self._broken.keys()
        for path in seen.result.files:
            if path not in unread and (path not in self._contents or path in changed):
                with suppress(OSError):
                    self._contents[path] = files.read(path)
        errors = [error for found in self._broken.values() for error in found]
        notes = [KEPT.format(path) for path in self._broken]
        return seen._replace(found=[*errors, *seen.found], notes=[*seen.notes, *notes])

    def standing_in(self) -> AbstractContextManager[None]:
        """Have files that cannot be read as Python hold what they held before."""
        return files.planned({path: self._contents[path] for path in self._broken})

    def _errors(self, path: str) -> Sequence[Finding] | None:
        """Return what is wrong with a file, if it cannot be read as Python."""
        from asyncguard.lint.report.file import is_python

        try:
            data = files.read(path)
        except OSError:
            if not os.path.lexists(path):
                return None
            data = b"\0"  # which is no Python
        return None if is_python(data, path) else self._check(path, data)


def _named(paths: Collection[str]) -> str:
    """Return a few changed files in words."""
    names = sorted(os.path.relpath(path) for path in paths)
    more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
