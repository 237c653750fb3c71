"""Findings while somebody types: one file as it is to be, the others as they are saved.

Whether a function runs in every step is often decided in another file, so the rest of the project
is the context, as it is of a file that is checked alone (`run.surroundings`). What was learned of
other files is kept until they change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from asyncguard.lint import names
from asyncguard.lint.check import options, select
from asyncguard.lint.program import linking, network
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import worker
from asyncguard.lint.run.cache import Stamp, stamp_of, with_askers
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.discover import is_excluded
from asyncguard.lint.run.generated import in_sources
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.run.surroundings import around, related
from asyncguard.model import Finding

Stamps = Mapping[str, Stamp]


def check_text(data: bytes, path: str, configuration: Configuration) -> list[Finding]:
    """Check what a file is to hold, within its project; `path` names it, and need not exist."""
    return Live().check_text(data, path, configuration)


class Live:
    """What was learned of the files beside those that are edited. Not for several threads."""

    def __init__(self) -> None:
        self._facts: dict[str, FileFacts] = {}
        self._stamps: Stamps = {}
        self._asked: set[tuple[str, str]] = set()
        self._settings: Settings | None = None
        self._near: dict[str, tuple[Stamps, Sequence[str]]] = {}  # of each file, and when

    def check(self, path: Path, data: bytes) -> list[Finding]:
        """Check a file that holds `data`; raises AsyncguardError for a broken configuration."""
        configuration = Configuration()
        if is_excluded(path, configuration.of(path.parent)):
            return []
        return self.check_text(data, str(path), configuration)

    def check_text(self, data: bytes, path: str, configuration: Configuration) -> list[Finding]:
        """Check what a file is to hold, whatever is excluded; `path` need not exist."""
        settings = configuration.of(Path(path).parent)
        if settings != self._settings:
            self._forget(settings)
        others = around([path], configuration) if settings.context else []
        with names.extended(names.own(settings.catalogue)):
            checker = self._refreshed(path, others, settings)
            known = {path: worker.with_deep_stack(partial(checker.check, path, data))}
            known |= {name: self._facts[name] for name in self._looked_at(path, others, checker)}
            told = in_sources(linking.link(network.Network(known)))
            return select(mended({path: told[path]}, 1, {path: data}), settings)

    def _forget(self, settings: Settings) -> None:
        self._settings = settings
        self._facts.clear()
        self._stamps = {}
        self._asked.clear()
        self._near.clear()

    def _refreshed(self, path: str, others: Sequence[str], settings: Settings) -> worker.Worker:
        """Forget what has changed, and what was learned with its help."""
        read = (path, *others)
        stamps = {name: stamp for name in read if (stamp := stamp_of(name)) is not None}
        before = self._stamps
        both = before.keys() | stamps.keys()
        stale = with_askers({n for n in both if before.get(n) != stamps.get(n)}, self._asked)
        self._stamps = stamps
        self._facts = {n: f for n, f in self._facts.items() if n in stamps and n not in stale}
        return worker.Worker(worker.index(list(read)), options(settings))

    def _looked_at(self, path: str, others: Sequence[str], checker: worker.Worker) -> Sequence[str]:
        """Return the files that are looked at with one, of which all is known then."""
        seen, near = self._near.get(path, ({}, ()))
        if seen != self._stamps:
            near = related([path], others)
            self._near[path] = self._stamps, near
        for name in near:
            if name not in self._facts:
                self._facts[name] = worker.with_deep_stack(partial(checker.check, name))
        self._asked |= checker.newly_asked()
        return near
