"""Findings while somebody types: one file as it stands in the editor, the others as they are saved.

Whether a function runs in every step is often decided in another file, so the files of the folder
are read as well, once, and again when they change.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from asyncguard.lint import names
from asyncguard.lint.check import options, select
from asyncguard.lint.program import linking, network
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import worker
from asyncguard.lint.run.cache import Stamp, stamp_of, with_askers
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.discover import choose, is_excluded
from asyncguard.lint.run.generated import in_sources
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.run.surroundings import package
from asyncguard.model import AsyncguardError, Finding

MOST_FILES = 500  # of a folder that is the context; of a larger one, only the file's package is


class Live:
    """The files of one folder, and what was learned of them. Not for several threads at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._facts: dict[str, FileFacts] = {}
        self._stamps: dict[str, Stamp] = {}
        self._asked: set[tuple[str, str]] = set()
        self._settings: Settings | None = None

    def check(self, path: Path, data: bytes) -> list[Finding]:
        """Check a file that holds `data`; raises AsyncguardError for a broken configuration."""
        settings = Configuration().of(path.parent)
        if is_excluded(path, settings):
            return []
        if settings != self._settings:
            self._forget(settings)
        name = str(path)
        with names.extended(names.own(settings.catalogue)):
            checker = self._refreshed(path, settings)
            known = dict(self._facts)
            known[name] = worker.with_deep_stack(partial(checker.check, name, data))
            linked = in_sources(linking.link(network.Network(known)))
            return select(mended({name: linked[name]}, 1, {name: data}), settings)

    def _forget(self, settings: Settings) -> None:
        self._settings = settings
        self._facts.clear()
        self._stamps.clear()
        self._asked.clear()

    def _refreshed(self, path: Path, settings: Settings) -> worker.Worker:
        """Learn again of what has changed, and of what was learned with its help."""
        files = self._context(path)
        stamps = {name: stamp for name in files if (stamp := stamp_of(name)) is not None}
        before = self._stamps
        both = before.keys() | stamps.keys()
        stale = with_askers({n for n in both if before.get(n) != stamps.get(n)}, self._asked)
        self._stamps = stamps
        checker = worker.Worker(worker.index(sorted(stamps)), options(settings))
        self._facts = {n: f for n, f in self._facts.items() if n in stamps and n not in stale}
        for name in sorted(stamps.keys() - self._facts.keys() - {str(path)}):
            self._facts[name] = worker.with_deep_stack(partial(checker.check, name))
        self._asked |= checker.newly_asked()
        return checker

    def _context(self, path: Path) -> list[str]:
        """Return the files to be looked at with one: the folder's, or else its package's."""
        for folder in (self.folder, package(path.parent) or path):
            with suppress(AsyncguardError):
                found = choose([folder], Configuration()).files
                if len(found) <= MOST_FILES:
                    return [name for name in found if not name.endswith(".ipynb")]
        return []
