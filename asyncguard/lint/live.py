"""Findings while somebody types: one file as it is to be, the others as they are saved.

Whether a function runs in every step is often decided in another file, so the rest of the project
is the context, as it is of a file that is checked alone (`run.context`), but for projects that were
never checked, or are large: of these, what matters most. What was learned of other files is kept
until they change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint import names
from asyncguard.lint.check import options, select
from asyncguard.lint.modules.leading import Leading
from asyncguard.lint.program import call_graph, linking
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.cache import Cache, Stamp, stamp_of
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.configured import configuration_files, configured
from asyncguard.lint.run.context import told_anew
from asyncguard.lint.run.discover import is_excluded
from asyncguard.lint.run.generated import in_sources
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.run.surroundings import Near, around, leading, related
from asyncguard.model import Finding


def check_text(data: bytes, path: str, configuration: Configuration) -> list[Finding]:
    """Check what a file is to hold, within its project; `path` names it, and need not exist."""
    return Live().check_text(data, path, configuration)


SMALL = 300_000  # bytes of a project that is looked at whole
MOST = 1_000  # files of a project that are linked at each pause of who types


class Beside(NamedTuple):
    """The files of a project, of which `name` is one, and those that are looked at beside it.

    `known` are facts of these. `partly`: they are not the whole project.
    """

    name: str
    others: Sequence[str]
    near: Near
    known: Mapping[str, FileFacts] = {}
    partly: bool = True


def _of_project(path: str, settings: Settings) -> Beside | None:
    """Return what the last check of a file's project learned, unless that is much or not there.

    Its files may have been named from the working directory.
    """
    for name in (path, os.path.relpath(path)):
        project = Cache(settings, options(settings), "", [name], within=True)
        facts = project.before.facts
        if project.checked and len(facts) <= MOST:
            again = {name, *told_anew(project)}
            near = Near([other for other in project.checked if other != name])
            known = {other: told for other, told in facts.items() if other not in again}
            return Beside(name, sorted(project.checked), near, known, partly=False)
    return None


class Live:
    """What was learned of the files beside those that are edited. For one thread."""

    def __init__(self) -> None:
        self._facts: dict[str, FileFacts] = {}
        self._stamps: Mapping[str, Stamp] = {}
        self._settings: Settings | None = None
        self._near: dict[str, Beside] = {}  # what is looked at beside each file
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
        with pool.collecting_seldom(), names.extended(settings.more_names):
            beside = self._beside(path, others, settings)
            name, near = beside.name, beside.near
            wanted = frozenset([name, *near.paths])
            seen = wanted, leading(near, [name], {name: data}) if beside.partly else None
            if seen != self._seen:  # the facts of a file depend on the files beside it
                self._seen = seen
                self._facts = dict(beside.known)
            checker = worker.Worker(worker.index(beside.others), options(settings), *seen)
            known = {name: worker.with_deep_stack(partial(checker.check, name, data))}
            known |= self._looked_at([p for p in near.paths if p != name], checker)
            network = call_graph.CallGraph(known, configured(configuration_files([path])))
            told = in_sources(linking.link(network))
            found = select(mended({name: told[name]}, 1, {name: data}), settings)
            return [replace(finding, path=path) for finding in found]

    def _forget(self, settings: Settings) -> None:
        self._settings = settings
        self._facts.clear()
        self._stamps = {}
        self._near.clear()

    def _beside(self, path: str, others: Sequence[str], settings: Settings) -> Beside:
        """Return what is looked at beside a file; forget what has changed, and what tells of it."""
        before = self._near.get(path)
        read = before.others if before is not None else [path, *others]
        stamps = {name: stamp for name in read if (stamp := stamp_of(name)) is not None}
        both = self._stamps.keys() | stamps.keys()
        changed = {name for name in both if self._stamps.get(name) != stamps.get(name)}
        self._stamps = stamps
        self._facts = {
            name: facts
            for name, facts in self._facts.items()
            if name in stamps and name not in changed and not facts.tells_of(changed)
        }
        if changed:
            self._near.clear()
        if path not in self._near:
            near = related([path], {name: s for name, s in stamps.items() if name != path}, SMALL)
            self._near[path] = _of_project(path, settings) or Beside(path, [path, *others], near)
        return self._near[path]

    def _looked_at(self, near: Sequence[str], checker: worker.Worker) -> Mapping[str, FileFacts]:
        """Return what is known of the files that are looked at beside one."""
        for name in near:
            if name not in self._facts:
                self._facts[name] = worker.with_deep_stack(partial(checker.check, name))
        return {name: self._facts[name] for name in near}
