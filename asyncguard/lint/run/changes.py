"""Which files a check depends on, and when one of them changes.

`watchfiles`, where it is installed, wakes us when the system tells of a change; else files are
looked at every second. Either way a change is one that a file's size or times show.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from asyncguard.lint.run.cache import Stamps, stamped
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.configured import configuration_files
from asyncguard.lint.run.discover import choose
from asyncguard.lint.run.settings import NAMES
from asyncguard.lint.run.surroundings import around

PAUSE = 1.0  # seconds between two looks at the files
WAKE = 0.2  # seconds for which the system is asked for changes
LOOK = 25  # times that it knew of none: some file systems never tell

Wait = Callable[[Collection[str]], object]  # until one of these files may have changed


def depended_on(paths: Sequence[Path], configuration: Configuration) -> list[str]:
    """Return the files that decide what a check of these paths finds; raises AsyncguardError."""
    chosen = choose(paths, configuration).files
    others = [] if any(map(os.path.isdir, paths)) else around(list(chosen), configuration)
    every = {id(settings): settings for settings in chosen.values()}.values()
    configured = [str(each.root / name) for each in every for name in NAMES]
    baselines = [str(each.baseline) for each in every if each.baseline is not None]
    return [*chosen, *others, *configuration_files([*chosen, *others]), *configured, *baselines]


def changes(files: Callable[[], Iterable[str]], wait: Wait) -> Iterator[frozenset[str]]:
    """Yield none at once, and then, whenever any of the files has changed, the ones that have.

    What changes while the caller is busy is told next.
    """
    before: Stamps = stamped(files())
    yield frozenset()
    while True:
        wait(before)
        now = stamped(files())
        changed = {path for path in {**before, **now} if before.get(path) != now.get(path)}
        before = now
        if changed:
            yield frozenset(changed)


def waiting() -> Wait:
    """Return the best way to wait that there is."""
    try:
        return _Told(import_module("watchfiles"))
    except ImportError:
        return lambda files: time.sleep(PAUSE)


class _Told:
    """Waits until the system tells of a change in one of the files' folders, but not for long."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._folders: frozenset[str] = frozenset()
        self._told: Iterator[Collection[object]] = iter(())

    def __call__(self, files: Collection[str]) -> None:
        folders = {os.path.dirname(os.path.abspath(path)) for path in files}
        try:
            if folders != self._folders:
                self._folders = frozenset(folders)
                self._told = self._watch([folder for folder in folders if os.path.isdir(folder)])
                next(self._told)  # from here on; what changed before is there to be seen
            elif any(any(next(self._told)) for _ in range(LOOK)):
                return
        except (OSError, RuntimeError, StopIteration):  # more folders than the system watches
            self._told = iter(())
            time.sleep(PAUSE)

    def _watch(self, folders: Sequence[str]) -> Iterator[Collection[object]]:
        told: Iterator[Collection[object]] = self._library.watch(
            *folders, watch_filter=None, recursive=False, rust_timeout=int(WAKE * 1000),
            yield_on_timeout=True,
        )  # fmt: skip
        return told
