"""The linter's public face: check paths, or one source.

Spreads the files over processes, links what they told, and returns the findings that the settings
want. A file that cannot be read, or that kills its worker, is a finding of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint import linking, pool, worker
from asyncguard.lint.cache import Asked, Cache
from asyncguard.lint.checks import asg901
from asyncguard.lint.discover import source_files
from asyncguard.lint.linking import FileFacts, Linked
from asyncguard.lint.refine import refine
from asyncguard.lint.registry import labels
from asyncguard.lint.settings import Settings, chosen_rules
from asyncguard.lint.suppress import Suppression, apply
from asyncguard.model import Finding, Loop

Progress = Callable[[int, int], None]
FEW = 16  # files; for these, starting processes costs more than it saves
Workers = pool.Pool[Sequence[worker.Task], worker.Checked]
ROUNDS = 3  # of waking functions; what one calls by name may be woken by the next
CHUNKS = 16  # tasks at least, for an even load
CHUNK = 160_000  # bytes of a task at most: many enough to spare messages
DIED = "could not be analysed: the process that checked it died"


class LintResult(NamedTuple):
    """What a check found: findings by place, and how many files it looked at."""

    findings: tuple[Finding, ...]
    files_checked: int
    errors: tuple[Finding, ...] = ()  # the findings that say a file could not be analysed


def check_source(source: bytes | str, path: str, settings: Settings) -> list[Finding]:
    """Check one file's contents; `path` names it in the findings."""
    data = source.encode("utf-8", "surrogateescape") if isinstance(source, str) else source
    checker = worker.Worker({}, _options(settings))

    def again(tasks: Sequence[worker.Task]) -> Iterator[Sequence[FileFacts]]:
        yield from ([checker.check(path, data, names)] for path, names in tasks)

    network = worker.with_deep_stack(lambda: _wake({path: checker.check(path, data)}, again))
    return select(linking.link(network), settings)


def check_paths(
    paths: Sequence[Path | str], settings: Settings, progress: Progress | None = None
) -> LintResult:
    """Check files and directories; raises AsyncguardError for a path that does not exist."""
    files = [str(file) for file in source_files([Path(path) for path in paths], settings)]
    with pool.collecting_seldom():
        linked = _check_files(files, settings, progress or (lambda done, total: None))
        findings = select(linked, settings)
    errors = tuple(f for f in findings if f.code == worker.UNREADABLE)
    return LintResult(tuple(findings), len(files), errors)


def _options(settings: Settings) -> worker.Options:
    hot = set(settings.contexts) <= {Loop.STEP} and not settings.audit
    return worker.Options(not hot, settings.assume_device)


def select(linked: Mapping[str, Linked], settings: Settings) -> list[Finding]:
    """Keep what the settings want, sorted by place."""
    known = labels()
    enabled = chosen_rules(settings, (r.code for r in known), (r.code for r in known if r.default))
    findings: list[Finding] = []
    for path, told in linked.items():
        findings += _in_file(path, told, enabled, settings)
    return sorted(set(findings), key=_order)


def _order(finding: Finding) -> tuple[str, int, int, int, str, int, int, str]:
    """By place and code; of several at one, the smaller expression first."""
    place = finding.path, finding.cell or 0, finding.line, finding.column, finding.code
    return *place, finding.end_line, finding.end_column, finding.api


def _in_file(path: str, told: Linked, enabled: frozenset[str], settings: Settings) -> list[Finding]:
    """Leave out what comments silence and what the configuration does not ask for.

    Comments come first: one that silences a finding which is not shown is used all the same.
    """
    findings = refine(told.findings, enabled)
    kept, idle = apply(findings, told.suppressions)
    if asg901.CODE in enabled:
        idle = [comment for comment in idle if _could(comment, enabled)]
        kept += [asg901.finding(comment, path) for comment in idle]
    kept = [f for f in kept if settings.shows(f) and not _ignored(f, settings)]
    return [told.notebook.place(f) for f in kept] if told.notebook is not None else kept


def _could(comment: Suppression, enabled: frozenset[str]) -> bool:
    """Whether the comment names a rule that ran; of the others nothing is known."""
    return comment.codes is None or not comment.codes.isdisjoint(enabled)


def _ignored(finding: Finding, settings: Settings) -> bool:
    if not settings.per_file_ignores:
        return False
    relative = os.path.relpath(finding.path, settings.root)
    return any(
        finding.code.startswith(tuple(codes))
        and (fnmatch(relative, pattern) or fnmatch(Path(relative).name, pattern))
        for pattern, codes in settings.per_file_ignores.items()
    )


def _check_files(
    files: Sequence[str], settings: Settings, progress: Progress
) -> Mapping[str, Linked]:
    """Return what is to be said of the files, from the cache where nothing has changed."""
    options = _options(settings)
    cache = Cache(settings, options, files)
    if cache.linked is not None:
        progress(len(files), len(files))
        return cache.linked
    known = {path: facts for path in files if (facts := cache.get(path)) is not None}
    fresh = [path for path in files if path not in known]
    done = len(known)
    progress(done, len(files))
    jobs = settings.jobs if len(fresh) > FEW else 1
    start = worker.start, (worker.index(files), options)
    lost: set[str] = set()  # files whose process died: another time it may live
    with pool.Pool(worker.check_many, jobs, *start) as workers:
        check = partial(_checked, workers, cache.note, lost)
        for results in check([(path, frozenset()) for path in fresh]):
            known.update({result.path: result for result in results})
            done += len(results)
            progress(done, len(files))
        network = _wake(known, check)
    linked = linking.link(network)
    cache.store({path: facts for path, facts in known.items() if path not in lost}, linked)
    return linked


def _wake(
    known: dict[str, FileFacts],
    check: Callable[[Sequence[worker.Task]], Iterable[Sequence[FileFacts]]],
) -> linking.Network:
    """Look at functions that seemed cold and are called in every step, by name, from elsewhere.

    Changes the facts of their files, and returns who calls whom in the end.
    """
    network = linking.Network(known)
    for _ in range(ROUNDS):
        tasks = linking.to_wake(network)
        if not tasks:
            break
        for results in check(list(tasks.items())):
            for more in results:
                known[more.path] = known[more.path].with_woken(tasks[more.path], more)
        network = linking.Network(known, network)
    return network


def _checked(
    workers: Workers,
    note: Callable[[Iterable[Asked]], None],
    died: set[str],
    tasks: Sequence[worker.Task],
) -> Iterator[Sequence[FileFacts]]:
    """Check files in processes; a chunk whose worker died is tried file by file."""
    lost: list[worker.Task] = []
    for chunk, checked in workers.run(_chunks(tasks)):
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
            died.add(task[0])
            yield [worker.unreadable(task[0], DIED)]


def _chunks(tasks: Sequence[worker.Task]) -> list[Sequence[worker.Task]]:
    """Keep the files of a folder together: what one imports, the next one likely does as well."""
    sizes = {task: _size(task[0]) for task in sorted(tasks)}
    most = min(CHUNK, sum(sizes.values()) // CHUNKS)
    chunks: list[Sequence[worker.Task]] = []
    chunk: list[worker.Task] = []
    filled = most
    for task, size in sizes.items():
        if filled >= most:
            chunk, filled = [], 0
            chunks.append(chunk)
        chunk.append(task)
        filled += size
    return chunks


def _size(path: str) -> int:
    """Return the bytes of a file; one that is gone by now takes no time."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
