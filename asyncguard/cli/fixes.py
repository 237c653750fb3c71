"""`asyncguard check --fix` and `--diff`: repairs, and what they leave to report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from asyncguard import screens
from asyncguard.cli.output import Output
from asyncguard.model import Finding

if TYPE_CHECKING:
    from asyncguard.lint.check import LintResult

ROUNDS = 5  # of fixing: one repair may make room for another
Given = Mapping[str, bytes]  # sources that are not files, by name


class Looked(NamedTuple):
    """What a check found, which of it is to be reported, and notes to go with it."""

    result: LintResult
    found: Sequence[Finding]
    notes: Sequence[str]


Look = Callable[[Given], Looked]  # checks files, or such sources


def fix(seen: Looked, given: Given, look: Look, *, unsafe: bool) -> tuple[Looked, Given]:
    """Apply the fixes, and those that they make room for; return what remains, and the sources."""
    from asyncguard.lint.source.fixes import fix_files

    fixed = 0
    for _ in range(ROUNDS):
        outcome = fix_files(seen.found, unsafe=unsafe, write=True, given=given)
        if not outcome.fixed:
            break
        fixed += outcome.fixed
        given = {path: outcome.after.get(path, data) for path, data in given.items()}
        seen = look(given)
    _tell(f"{fixed} fixed, {len(seen.found)} remaining")
    return seen, given


def show_patch(found: Sequence[Finding], given: Given, output: Output, *, unsafe: bool) -> None:
    """Print the patch alone, and on stderr how much it repairs."""
    from asyncguard.lint.source.fixes import fix_files

    outcome = fix_files(found, unsafe=unsafe, write=False, given=given)
    output.write(outcome.diff)
    _tell(f"{outcome.fixed} would be fixed, {len(outcome.remaining)} would remain")


def show_sources(given: Given) -> None:
    """Write the source that standard input became, and nothing else, to standard output."""
    for data in given.values():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _tell(text: str) -> None:
    screens.write(sys.stderr, f"asyncguard: {text}\n")
