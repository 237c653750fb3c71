"""The linter's public face: check paths, or one source.

Spreads the files over processes, links what they told, and returns the findings that the settings
want. A file that cannot be read, or that kills its worker, is a finding of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint import names
from asyncguard.lint.checks import asg901
from asyncguard.lint.labels import labels
from asyncguard.lint.program import call_graph, facts, linking
from asyncguard.lint.program.facts import FileFacts, FileResult
from asyncguard.lint.report.impact import by_place
from asyncguard.lint.report.refine import refine
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.cache import Asked
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.configured import configured
from asyncguard.lint.run.context import context_of
from asyncguard.lint.run.dealing import chunks_of, processes
from asyncguard.lint.run.discover import Chosen, choose
from asyncguard.lint.run.generated import in_sources
from asyncguard.lint.run.mending import mended
from asyncguard.lint.run.settings import Settings, chosen_rules
from asyncguard.lint.run.surroundings import around, generated
from asyncguard.lint.selectors import matches
from asyncguard.lint.source.suppress import Allowances, Suppression, apply
from asyncguard.model import Finding

Progress = Callable[[int, int], None]
FEW = 16  # files; for these, starting processes costs more than it saves
Workers = pool.Pool[Sequence[str], worker.Checked]
DIED = "could not be analysed: the process that checked it died"


class LintResult(NamedTuple):
    """What a check found: findings by place, and how many files it looked at.

    `hidden` counts what else the rules found, too cold, guarded or doubtful for the settings.
    """

    findings: tuple[Finding, ...]
    files_checked: int
    errors: tuple[Finding, ...] = ()  # the findings that say a file could not be analysed
    notes: tuple[str, ...] = ()  # what was left out though it is named as sources are, and why
    hidden: int = 0
    files: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()  # of the analysis, that were reached: places and what follows
    allowed: tuple[Finding, ...] = ()  # that the program itself allows, where they stand
    in_tests: int = 0  # findings in files of unit tests, which the settings leave out


def check_source(source: bytes | str, path: str, settings: Settings) -> list[Finding]:
    """Check one file's contents; `path` names it in the findings."""
    data = source.encode("utf-8", "surrogateescape") if isinstance(source, str) else source
    checker = worker.Worker({}, options(settings))
    with pool.collecting_seldom(), names.extended(settings.more_names):
        facts = worker.with_deep_stack(lambda: checker.check(path, data))
        linked = linking.link(call_graph.CallGraph({path: facts}))
        return select(mended(linked, 1, {path: data}), settings)


def check_paths(
    paths: Sequence[Path | str], settings: Settings, progress: Progress | None = None
) -> LintResult:
    """Check files and directories; raises AsyncguardError for a path that does not exist."""
    return check_configured(paths, Configuration.fixed(settings), progress)


def check_configured(
    paths: Sequence[Path | str], configuration: Configuration, progress: Progress | None = None
) -> LintResult:
    """Do so with the settings that the configuration has for each file."""
    chosen = choose([Path(path) for path in paths], configuration)
    others = _others(paths, chosen, configuration)
    linked: dict[str, FileResult] = {}
    with pool.collecting_seldom():
        for files, settings in _groups(chosen.files):
            seen = _from(progress, len(linked), chosen)
            with names.extended(settings.more_names):
                linked.update(analysed(files, settings, seen, others))
        findings, hidden, allowed, in_tests = _selected(linked, chosen.files)
    errors = tuple(f for f in findings if f.code == facts.UNREADABLE)
    found = tuple(findings)
    skipped = (result.skipped for result in linked.values() if result.skipped)
    notes = (*chosen.notes, *generated(chosen.files, others), *skipped)
    checked = tuple(chosen.files)
    bounds = tuple(sorted({bound for told in linked.values() for bound in told.bounds}))
    return LintResult(
        found, len(checked), errors, notes, hidden, checked, bounds, tuple(allowed), in_tests
    )


def _others(paths: Sequence[Path | str], chosen: Chosen, configuration: Configuration) -> list[str]:
    """Return the files to read beside those that were named one by one."""
    named = list(chosen.files)
    alone = named and not any(os.path.isdir(path) for path in paths)
    if not alone or not all(settings.context for settings in chosen.files.values()):
        return []
    return around(named, configuration)


def _groups(files: Mapping[str, Settings]) -> Iterator[tuple[list[str], Settings]]:
    """Yield the files that can be analysed together, with the settings of the outermost of them.

    Those settings say how many processes there are, and where the cache is.
    """
    groups: dict[worker.Options, list[str]] = {}
    for path, settings in files.items():
        groups.setdefault(options(settings), []).append(path)
    for paths in groups.values():
        found = {id(files[path]): files[path] for path in paths}
        yield paths, min(found.values(), key=lambda settings: len(settings.root.parts))


def _from(progress: Progress | None, before: int, chosen: Chosen) -> Progress:
    """Return the progress of a group as that of the whole."""
    if progress is None:
        return lambda done, total: None
    return lambda done, total: progress(before + done, len(chosen.files))


def options(settings: Settings) -> worker.Options:
    """Return what the settings mean for a worker."""
    allowed = Allowances(settings.allow_contexts, settings.allow_comments)
    return worker.Options(settings.assume_device, settings.catalogue, settings.listed, allowed)


def select(linked: Mapping[str, FileResult], settings: Settings) -> list[Finding]:
    """Keep what the settings want, sorted by place."""
    return _selected(linked, dict.fromkeys(linked, settings)).findings


class _Selected(NamedTuple):
    """Findings to show, how many the settings hide, and those that the program allows."""

    findings: list[Finding]
    hidden: int
    allowed: list[Finding]
    in_tests: int


def _selected(linked: Mapping[str, FileResult], settings: Mapping[str, Settings]) -> _Selected:
    """Keep what the settings of each file want, sorted by place."""
    known = labels()
    codes, default = [r.code for r in known], [r.code for r in known if r.default]
    chosen = {id(s): chosen_rules(s, codes, default) for s in settings.values()}
    findings: set[Finding] = set()
    allowed: set[Finding] = set()
    hidden = in_tests = 0
    for path, told in linked.items():
        found, granted = _in_file(path, told, chosen[id(settings[path])], settings[path])
        shown = list(filter(settings[path].shows, found))
        hidden += len(found) - len(shown)
        if settings[path].skips_tests and _is_of_tests(path, told, settings[path].root):
            in_tests += len(shown)
            continue
        place = told.notebook.place if told.notebook is not None else _as_it_stands
        findings.update(map(place, shown))
        allowed.update(map(place, filter(settings[path].shows, granted)))
    granted_ones = sorted(allowed, key=by_place)
    return _Selected(sorted(findings, key=by_place), hidden, granted_ones, in_tests)


def _is_of_tests(path: str, told: FileResult, root: Path) -> bool:
    """Whether a file holds unit tests, or what they share: by its folder, or by its name and them.

    A script may be named `test_net.py` as well, and evaluate a model. Folders above the root of the
    configuration say nothing.
    """
    below = os.path.relpath(path, root)
    folders, name = os.path.split(below)
    if folders.startswith(os.pardir):
        folders = ""
    return _TESTS(os.path.join(folders, "__init__.py")) or (told.tests and _TESTS(name))


_TESTS = names.family("file.test")


def _as_it_stands(finding: Finding) -> Finding:
    return finding


def _in_file(
    path: str, told: FileResult, enabled: frozenset[str], settings: Settings
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings to show, and those that an allowance in the source covers.

    Findings that comments silence, and of rules that the configuration ignores, are left out.
    Comments come first: one that silences a finding which is not shown is used all the same.
    """
    findings = refine(told.findings, enabled)
    kept, idle = apply(findings, told.suppressions, told.silenced)
    if asg901.CODE in enabled:
        idle = [comment for comment in idle if _could(comment, enabled)]
        idle += [comment for comment in told.suppressions if comment.problem]
        kept += [asg901.finding(comment, path) for comment in idle]
    allowances = [comment for comment in told.suppressions if comment.allows]
    granted = [f for f in findings if any(allowance.covers(f) for allowance in allowances)]
    return [f for f in kept if not _ignored(f, settings)], granted


def _could(comment: Suppression, enabled: frozenset[str]) -> bool:
    """Whether the comment names a rule that ran; of the others nothing is known."""
    return not comment.problem and any(map(comment.means, enabled))


def _ignored(finding: Finding, settings: Settings) -> bool:
    if not settings.per_file_ignores:
        return False
    relative = os.path.relpath(finding.path, settings.root)
    return any(
        any(matches(selector, finding.code) for selector in codes)
        and (fnmatch(relative, pattern) or fnmatch(Path(relative).name, pattern))
        for pattern, codes in settings.per_file_ignores.items()
    )


def analysed(
    files: Sequence[str],
    settings: Settings,
    progress: Progress = lambda done, total: None,
    others: Sequence[str] = (),
) -> Mapping[str, FileResult]:
    """Return what is to be said of the files, from the cache where nothing has changed.

    Of the others, which are not reported, those that matter are looked at as well.
    """
    asked = options(settings)
    context = context_of(files, others, settings, asked)
    if context.linked is not None:
        progress(len(files), len(files))
        return context.linked
    known, fresh = dict(context.known), context.fresh
    done = max(len(files) - len(fresh), 0)
    progress(done, len(files))
    jobs = settings.jobs or processes(fresh, context.modules) if len(fresh) > FEW else 1
    if jobs != 1:
        worker.load()
    start = worker.start, (context.modules, asked, context.leading)
    lost: set[str] = set()  # files whose process died: another time it may live
    with pool.Pool(worker.check_many, jobs, *start) as workers:
        for results in _checked(workers, context.note, lost, fresh):
            known.update({result.path: result for result in results})
            done += len(results)
            progress(min(done, len(files)), len(files))
    network = call_graph.CallGraph(known, configured(context.beside))
    told = in_sources(linking.link(network))
    linked = mended({path: told[path] for path in files}, settings.jobs)
    context.store({path: told for path, told in known.items() if path not in lost}, linked)
    return linked


def _checked(
    workers: Workers,
    note: Callable[[Iterable[Asked]], None],
    died: set[str],
    tasks: Sequence[str],
) -> Iterator[Sequence[FileFacts]]:
    """Check files in processes; a chunk whose worker died is tried file by file."""
    lost: list[str] = []
    for chunk, checked in workers.run(chunks_of(tasks)):
        if checked is None:
            lost += chunk
        else:
            note(checked.asked)
            yield checked.facts
    for (task,), checked in workers.run([[task] for task in lost]):
        if checked is not None:
            note(checked.asked)
            yield checked.facts
        else:
            died.add(task)
            yield [facts.unreadable(task, DIED)]
