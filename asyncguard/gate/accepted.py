"""What baselines accept of the findings of a check: for the command line, hooks and editors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard.gate import baseline, compare
from asyncguard.gate.baseline import FindingKey
from asyncguard.model import AsyncguardError, Finding

if TYPE_CHECKING:
    from asyncguard.lint.run.configuration import Configuration


class Place(NamedTuple):
    """A baseline's file, and the folder that the paths in it are relative to ("": where we are)."""

    path: Path
    root: Path | str = ""

    @property
    def shown(self) -> str:
        """The file as a message names it."""
        return baseline.portable(str(self.path))


class Accepted(NamedTuple):
    """Which findings remain, how many are accepted, and which entries of baselines are stale."""

    findings: tuple[Finding, ...]
    counts: tuple[tuple[Place, int], ...] = ()
    stale: tuple[tuple[Place, Sequence[FindingKey]], ...] = ()


def of_folder(configuration: Configuration, folder: Path) -> Place:
    """Return the baseline that a gate in a folder compares with."""
    settings = configuration.of(folder)
    if settings.baseline is None:
        return Place(baseline.DEFAULT_PATH)
    return Place(settings.root / settings.baseline, settings.root)


def configured(configuration: Configuration) -> Callable[[str], Place | None]:
    """Return a function that finds the baseline which the configuration has for a file."""

    def place(file: str) -> Place | None:
        settings = configuration.of(Path(file).parent)
        if settings.baseline is None:
            return None
        return Place(settings.root / settings.baseline, settings.root)

    return place


def without_accepted(
    findings: Iterable[Finding],
    files: Iterable[str],
    place: Callable[[str], Place | None],
    remedy: str = baseline.UPDATE,
) -> Accepted:
    """Leave out what the baselines accept of the findings in `files`, each by that of its file.

    Raises AsyncguardError, with the command `remedy`, for a baseline that is missing, broken or
    without findings.
    """
    findings = list(findings)
    places = {file: place(file) for file in {*files, *(finding.path for finding in findings)}}
    left = {id(finding): finding for finding in findings if places[finding.path] is None}
    counts, stale = [], []
    for one in sorted({found for found in places.values() if found is not None}, key=str):
        here = [finding for finding in findings if places[finding.path] == one]
        accepted = baseline.load(one.path, remedy).findings
        if accepted is None:
            raise AsyncguardError(f"{one.shown} has no findings; add them with `{remedy}`")
        own = [file for file, found in places.items() if found == one]
        matched = compare.match_findings(here, accepted, own, os.fspath(one.root))
        left |= {id(finding): finding for finding in matched.new}
        counts.append((one, len(here) - len(matched.new)))
        stale.append((one, matched.stale))
    remaining = tuple(finding for finding in findings if id(finding) in left)
    return Accepted(remaining, tuple(counts), tuple(stale))
