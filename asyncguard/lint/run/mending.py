"""What linking found, with advice and repairs: each file with hot findings is parsed once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from asyncguard import files
from asyncguard.lint.fixes.wanted import is_hot
from asyncguard.lint.program.facts import FileResult
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.generated import copied
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.model import Finding

FEW = 8  # files; for these, starting processes costs more than it saves


class Task(NamedTuple):
    """A file's findings; `data` is its source where that is not what the file holds.

    `repairs`: they get repairs as well as advice.
    """

    path: str
    findings: tuple[Finding, ...]
    data: bytes | None
    repairs: bool


def mended(
    linked: Mapping[str, FileResult], jobs: int | None, given: Mapping[str, bytes] | None = None
) -> dict[str, FileResult]:
    """Give findings the advice and repair that fit; `given` are sources that are not files.

    What was generated gets no repair where its source is at hand: the repair belongs there, and the
    generator would undo it here.
    """
    hot = [path for path, told in linked.items() if any(map(is_hot, told.findings))]
    copies = copied(hot, linked)
    tasks = [
        Task(
            path, linked[path].findings, _data(path, linked[path], given or {}), path not in copies
        )
        for path in hot
    ]
    found = dict(linked)
    with pool.Pool(mend, jobs if len(tasks) > FEW else 1) as mender:
        for task, findings in mender.run(tasks):
            if findings is not None and task.path in copies:
                findings = tuple(replace(finding, fix=None) for finding in findings)
            if findings is not None:
                found[task.path] = linked[task.path]._replace(findings=findings)
    return found


def mend(task: Task) -> tuple[Finding, ...]:
    """Find advice and repairs in one file. One that cannot be read any more has none."""
    try:
        text = decode(files.read(task.path) if task.data is None else task.data)
    except (OSError, SourceError):
        return task.findings
    return worker.with_deep_stack(lambda: _mended(text, task))


def _mended(text: str, task: Task) -> tuple[Finding, ...]:
    from asyncguard.lint.advice.choice import advised
    from asyncguard.lint.fixes.repair import in_code, repaired_in

    if not task.repairs:
        return in_code(text, task.findings, advised)
    return in_code(text, task.findings, lambda code, told: repaired_in(code, advised(code, told)))


def _data(path: str, told: FileResult, given: Mapping[str, bytes]) -> bytes | None:
    return told.notebook.source.encode() if told.notebook is not None else given.get(path)
