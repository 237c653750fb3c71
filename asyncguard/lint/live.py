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
from asyncguard.lint.modules.leading import Leading
from asyncguard.lint.program import call_graph, linking
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.cache import Stamp, stamp_of, with_importers
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.configured import configuration_files, turned_on
from asyncguard.lint.run.discover import is_excluded
from asyncguard.lint.run.generated import in_sources
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.run.surroundings import Near, around, leading, related
from asyncguard.model import Finding


def check_text(data: bytes, path: str, configuration: Configuration) -> list[Finding]:
    """Check what a file is to hold, within its project; `path` names it, and need not exist."""
    return Live().check_text(data, path, configuration)


class Live:
    """What was learned of the files beside those that are edited. For one thread."""

    def __init__(self) -> None:
        self._facts: dict[str, FileFacts] = {}
        self._stamps: Mapping[str, Stamp] = {}
        self._asked: set[tuple[str, str]] = set()
        self._settings: Settings | None = None
        self._near: dict[str, Near] = {}  # what is looked at beside each file
        self._seen: tuple[frozenset[str], Leading | None] = frozenset(), None  # at last

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
        with (
            pool.collecting_seldom(),
            names.extended(settings.more_names),
        ):
            near = self._refreshed(path, others)
            wanted = frozenset([path, *near.paths])
            seen = wanted, leading(near, [path], {path: data})
            if seen != self._seen:  # the facts of a file depend on the files beside it
                self._seen = seen
                self._facts.clear()
            checker = worker.Worker(worker.index([path, *others]), options(settings), *seen)
            known = {path: worker.with_deep_stack(partial(checker.check, path, data))}
            known |= self._looked_at(near.paths, checker)
            network = call_graph.CallGraph(known, turned_on(configuration_files([path])))
            told = in_sources(linking.link(network))
            return select(mended({path: told[path]}, 1, {path: data}), settings)

    def _forget(self, settings: Settings) -> None:
        self._settings = settings
        self._facts.clear()
        self._stamps = {}
        self._asked.clear()
        self._near.clear()

    def _refreshed(self, path: str, others: Sequence[str]) -> Near:
        """Forget what has changed, and what was learned with its help; return what is looked at."""
        read = (path, *others)
        stamps = {name: stamp for name in read if (stamp := stamp_of(name)) is not None}
        before = self._stamps
        both = before.keys() | stamps.keys()
        changed = {name for name in both if before.get(name) != stamps.get(name)}
        stale = with_importers(changed, self._asked)
        self._stamps = stamps
        self._facts = {n: f for n, f in self._facts.items() if n in stamps and n not in stale}
        if changed:
            self._near.clear()
        if path not in self._near:
            beside = {name: stamp for name, stamp in stamps.items() if name != path}
            self._near[path] = related([path], beside)
        return self._near[path]

    def _looked_at(self, near: Sequence[str], checker: worker.Worker) -> Mapping[str, FileFacts]:
        """Return what is known of the files that are looked at beside one."""
        for name in near:
            if name not in self._facts:
                self._facts[name] = worker.with_deep_stack(partial(checker.check, name))
        self._asked |= checker.newly_asked()
        return {name: self._facts[name] for name in near}
