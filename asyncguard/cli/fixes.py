"""`asyncguard check --fix` and `--diff`: repairs, and what they leave to report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from asyncguard import files
from asyncguard.model import Finding

if TYPE_CHECKING:
    import argparse

    from asyncguard.lint.check import LintResult
    from asyncguard.lint.source.fixes import Change

ROUNDS = 5  # of fixing: one repair may make room for another
Given = Mapping[str, bytes]  # sources that are not files, by name


class Looked(NamedTuple):
    """What a check found, which of it is to be reported, notes, and how many baselines accept."""

    result: LintResult
    found: Sequence[Finding]
    notes: Sequence[str] = ()
    accepted: Mapping[str, int] = {}

    def status(self, arguments: argparse.Namespace) -> int:
        """Return the exit status of a command that reports this."""
        return 1 if self.found and not arguments.exit_zero else 0


Look = Callable[[Given], Looked]  # checks files, or such sources


class Repaired(NamedTuple):
    """What repairs make of files and of what is given, and what they leave to report."""

    fixed: int
    changes: Mapping[str, Change]  # by path
    seen: Looked
    given: Given

    def patch(self) -> str:
        """Return the difference."""
        return "".join(change.patch() for change in self.changes.values())

    def write(self) -> None:
        """Change the files; raises AsyncguardError before the first, if one cannot be changed."""
        from asyncguard.lint.source.fixes import replace_all

        replace_all(change for path, change in self.changes.items() if path not in self.given)


def repaired(seen: Looked, given: Given, look: Look, *, unsafe: bool) -> Repaired:
    """Work out the repairs, and those that they make room for; nothing is written."""
    from asyncguard.lint.source.fixes import fix_files

    fixed = 0
    changes: dict[str, Change] = {}
    for _ in range(ROUNDS):
        with files.planned({path: change.data for path, change in changes.items()}):
            outcome = fix_files(seen.found, unsafe=unsafe, write=False, given=given)
        if not outcome.fixed:
            break
        fixed += outcome.fixed
        for path, change in outcome.changes.items():
            first = changes.get(path, change)
            changes[path] = replace(change, before=first.before)
        after = {path: change.data for path, change in changes.items()}
        given = {path: after.get(path, data) for path, data in given.items()}
        with files.planned(after):
            seen = look(given)
    return Repaired(fixed, changes, seen, given)
