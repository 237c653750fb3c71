"""What a check looks at: the files that it reports, and those that are their context.

How often a function runs, and on what values, is often decided in another file. Files that are
named one by one, as hooks and editors do, therefore have the findings that they have when their
project is checked. What the project's last check learned is their context, as far as it still
holds: a file that has changed since is looked at again, and so is one that tells of places in it. A
project that was never checked is looked at whole, once, unless it is large; of a large one, what
matters most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from asyncguard.lint.modules.leading import Leading
from asyncguard.lint.program.facts import FileFacts, FileResult
from asyncguard.lint.run import worker
from asyncguard.lint.run.cache import (
    FEW_FILE,
    Asked,
    Cache,
    digest,
    path_of,
    stamp_of,
    stamped,
)
from asyncguard.lint.run.configured import configuration_files
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.run.surroundings import leading, related

WHOLE = 8_000_000  # bytes of a project that is looked at whole: some ten seconds, once
AGAIN = 2_000_000  # bytes of files changed since a larger one was checked


class Context(NamedTuple):
    """Facts that are known, and files to look at; `linked` is the answer where all is known.

    `beside` are configuration files; `caches` take what is learned. `modules` are the files by
    module name, and `leading` says which functions of those to look at matter; None: all.
    """

    known: Mapping[str, FileFacts]
    fresh: Sequence[str]
    beside: Sequence[str]
    modules: dict[str, str]
    caches: Sequence[Cache] = ()
    leading: Leading | None = None
    linked: Mapping[str, FileResult] | None = None

    def note(self, asked: Iterable[Asked]) -> None:
        """Note which files were read for which."""
        asked = tuple(asked)
        for cache in self.caches:
            cache.note(asked)

    def store(self, facts: Mapping[str, FileFacts], linked: Mapping[str, FileResult]) -> None:
        """Keep what was learned and said."""
        for cache in self.caches:
            cache.store({p: told for p, told in facts.items() if p in cache.checked}, linked)


def context_of(
    files: Sequence[str], others: Sequence[str], settings: Settings, options: worker.Options
) -> Context:
    """Return what to look at for files, with the others of their project if they stand alone."""
    beside = configuration_files([*files, *others])
    configured = digest(stamped(beside))
    if not others:
        return _of_all(files, beside, Cache(settings, options, configured, files))
    stamps = stamped(others)
    last = stamp_of(str(path_of(settings)))
    few = Cache(settings, (options, last, digest(stamps)), configured, files, FEW_FILE)
    if few.linked is not None:
        return Context({}, (), beside, {}, linked=few.linked)
    project = Cache(settings, options, configured, files, within=True)
    if project.linked is not None:
        return Context({}, (), beside, {}, linked={p: project.linked[p] for p in files})
    sizes = {path: stamp[0] for path, stamp in stamps.items() if stamp is not None}
    small = sum(sizes.values()) <= WHOLE
    again = told_anew(project)
    if project.checked and (small or sum(sizes.get(path, 0) for path in again) <= AGAIN):
        known = {p: facts for p, facts in project.before.facts.items() if p not in again}
        fresh = [path for path in again if path in files or path in sizes]
        return Context(known, fresh, beside, worker.index([*project.checked]), [few])
    modules = worker.index([*files, *others])
    if small and settings.cache:
        whole = Cache(settings, options, configured, [*files, *others])
        return Context({}, [*files, *others], beside, modules, [whole, few])
    near = related(files, stamps, WHOLE)
    fresh = [*files, *near.paths]
    return Context({}, fresh, beside, modules, [few], leading(near, files))


def _of_all(files: Sequence[str], beside: Sequence[str], cache: Cache) -> Context:
    """Return what to look at for files beside which there are no others: those that changed."""
    known = {path: facts for path in files if (facts := cache.get(path)) is not None}
    fresh = [path for path in files if path not in known]
    return Context(known, fresh, beside, worker.index(files), [cache], linked=cache.linked)


def told_anew(project: Cache) -> list[str]:
    """Return the files of a project that have changed since its check, and who tells of them.

    What a helper reads for a call is told of the call's file, by the place of the read.
    """
    changed = project.changed | (project.checked - project.before.facts.keys())
    facts = project.before.facts.values()
    return sorted(changed | {each.path for each in facts if each.tells_of(changed)})
