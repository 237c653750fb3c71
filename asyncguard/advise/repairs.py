"""Repairs of places that waited in a run: what the linter can do about their lines.

The run knows what the linter can only guess: a place that waited in most steps is hot, whatever
calls it. So all that the linter could report there counts, and nothing else.

Only Python files below a folder are read, and only where a line still reads as it did in the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from asyncguard import files
from asyncguard.model import (
    AsyncguardError,
    Confidence,
    Finding,
    Loop,
    SiteStats,
    Suggestion,
    TraceRecord,
)

HOT = 0.5  # waits a step
SUGGESTIONS = 20  # whose files are checked

Hot = Mapping[Path, Mapping[int, Sequence[SiteStats]]]  # file -> line -> what waits there


@dataclass(frozen=True)
class Patch:
    """The repair of lines that a suggestion concerns, as `git apply` reads it.

    `messages` say what it does. It is `safe` where the program computes the same.
    """

    messages: tuple[str, ...]
    safe: bool
    text: str


class Patches(NamedTuple):
    """The patches by the index of their suggestion, and why files could not be repaired."""

    found: Mapping[int, Patch]
    troubles: tuple[str, ...]


def hot_sites(folder: Path, record: TraceRecord) -> Hot:
    """Return the sites that wait in most steps, by file below the folder and line."""
    found: dict[Path, dict[int, list[SiteStats]]] = defaultdict(lambda: defaultdict(list))
    for site in record.sites:
        path = _file(folder, site)
        rate = record.per_step(site.count, site.steady_count)
        is_hot = site.count > 1 if rate is None else rate >= HOT
        if path is not None and is_hot:
            found[path][site.line].append(site)
    return found


def _file(folder: Path, site: SiteStats) -> Path | None:
    """The file of a site; None where that is none, or not below the folder."""
    try:
        path = (folder / site.path).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None


def repaired(
    path: Path, lines: Mapping[int, Sequence[SiteStats]], *, context: bool = True
) -> list[Finding]:
    """Check a file, and return what waited there with its repairs; raises AsyncguardError.

    With `context` the rest of its project is read as well, which takes long where that is large.
    """
    from asyncguard.lint.check import check_paths
    from asyncguard.lint.fixes.repair import repaired
    from asyncguard.lint.run.settings import Settings
    from asyncguard.lint.source.decode import SourceError, decode

    if path.suffix != ".py" or not lines:
        return []
    known = check_paths([path], Settings(select=("ALL",), cache=False, context=context)).findings
    waited = [
        replace(f, loop=Loop.STEP, guarded=False, confidence=Confidence.HIGH, fix=None)
        for f in known
        if any(f.line <= line <= f.end_line for line in lines) and f.api
    ]
    try:
        return [*repaired(decode(files.read(path)), waited)]
    except (OSError, SourceError) as error:
        raise AsyncguardError(f"{path}: cannot be read: {error}") from error


def patches(folder: Path, record: TraceRecord, suggestions: Sequence[Suggestion]) -> Patches:
    """Return a patch for each suggestion whose lines the linter can repair, none of them twice."""
    wanted = suggestions[:SUGGESTIONS]
    places = {(site.path, site.line) for item in wanted for site in item.sites}
    sites = [site for site in record.sites if (site.path, site.line) in places]
    troubles: list[str] = []
    hot = hot_sites(folder, replace(record, sites=tuple(sites)))
    findings = {path: _checked(path, hot[path], troubles) for path in sorted(hot)}
    made = {
        number: _patch(_take(findings, _lines(folder, item.sites)), troubles)
        for number, item in enumerate(wanted)
    }
    found = {number: patch for number, patch in made.items() if patch is not None}
    return Patches(found, tuple(dict.fromkeys(troubles)))


def _checked(
    path: Path, lines: Mapping[int, Sequence[SiteStats]], troubles: list[str]
) -> list[Finding]:
    try:
        return repaired(path, _unchanged(path, lines), context=False)
    except AsyncguardError as error:
        troubles.append(str(error))
        return []


def _unchanged(
    path: Path, lines: Mapping[int, Sequence[SiteStats]]
) -> Mapping[int, Sequence[SiteStats]]:
    """Keep the lines that read as they did during the run; raises AsyncguardError."""
    try:
        text = files.read(path).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot be read: {error.strerror}") from error
    return {
        line: sites
        for line, sites in lines.items()
        if 0 < line <= len(text) and text[line - 1].strip() == sites[0].source
    }


def _lines(folder: Path, sites: Iterable[SiteStats]) -> Mapping[Path, set[int]]:
    found: dict[Path, set[int]] = defaultdict(set)
    for site in sites:
        if path := _file(folder, site):
            found[path].add(site.line)
    return found


def _take(findings: dict[Path, list[Finding]], lines: Mapping[Path, set[int]]) -> list[Finding]:
    """Take out the findings at those lines, and those that have the same repair."""
    taken: list[Finding] = []
    for path in lines.keys() & findings.keys():
        here = [f for f in findings[path] if lines[path] & {*range(f.line, f.end_line + 1)}]
        fixes = [finding.fix for finding in here if finding.fix is not None]
        findings[path] = [f for f in findings[path] if f not in here and f.fix not in fixes]
        taken += here
    return taken


def _patch(findings: Sequence[Finding], troubles: list[str]) -> Patch | None:
    """The repairs that keep the program's meaning; those that may not, where there are no such."""
    from asyncguard.lint.source.fixes import fix_files

    try:
        safe = fix_files(findings, unsafe=False, write=False)
        outcome = safe if safe.fixed else fix_files(findings, unsafe=True, write=False)
    except AsyncguardError as error:
        troubles.append(str(error))
        return None
    done = [f.fix for f in findings if f not in outcome.remaining and f.fix is not None]
    messages = tuple(dict.fromkeys(fix.message for fix in done))
    return Patch(messages, outcome is safe, outcome.diff) if outcome.fixed else None
