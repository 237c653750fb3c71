"""Applying the repairs that findings carry.

Edits are places in the text that was checked; they are applied in one pass from the end, so that
earlier places stay valid. Of repairs that overlap, the first wins and the others wait for the next
run. What is written keeps the file's encoding and line ends.
"""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncguard.model import AsyncguardError, Edit, Finding, Fix


@dataclass(frozen=True)
class FixOutcome:
    """How many findings were repaired, which remain, and the difference as a patch."""

    fixed: int
    remaining: tuple[Finding, ...]
    diff: str


def apply_fixes(source: str, findings: Iterable[Finding], unsafe: bool = False) -> str:
    """Return `source` (lines ended by `\\n`) with the findings' fixes applied."""
    return _apply(source, chosen_fixes(findings, unsafe))


def chosen_fixes(findings: Iterable[Finding], unsafe: bool) -> dict[Finding, Fix]:
    """Return the findings that can be repaired together: no two edits overlap."""
    chosen: dict[Finding, Fix] = {}
    taken: list[Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not (fix.safe or unsafe) or not fix.edits:
            continue
        if any(_overlap(new, old) for new in fix.edits for old in taken):
            continue
        chosen[finding] = fix
        taken.extend(fix.edits)
    return chosen


def _start(edit: Edit) -> tuple[int, int]:
    return edit.line, edit.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.end_line, edit.end_column


def _overlap(left: Edit, right: Edit) -> bool:
    if left == right:
        return True
    return _start(left) < _end(right) and _start(right) < _end(left)


def _apply(source: str, chosen: dict[Finding, Fix]) -> str:
    lines = source.split("\n")
    edits = {edit for fix in chosen.values() for edit in fix.edits}
    for edit in sorted(edits, key=_start, reverse=True):
        before = lines[edit.line - 1][: edit.column]
        after = lines[edit.end_line - 1][edit.end_column :]
        text = before + edit.text + after
        if not edit.text and before and not after.strip():
            text = before.rstrip()  # a deleted comment leaves no space behind
        lines[edit.line - 1 : edit.end_line] = text.split("\n")
    return "\n".join(lines)


def fix_files(findings: Sequence[Finding], *, unsafe: bool, write: bool) -> FixOutcome:
    """Repair the files that the findings are in; with `write` false, only show how.

    Raises AsyncguardError for a file that cannot be written.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    fixed: set[Finding] = set()
    patches: list[str] = []
    for path, here in by_path.items():
        chosen = chosen_fixes(here, unsafe)
        if chosen and all(finding.cell is None for finding in chosen):
            patches.append(_fix_file(Path(path), chosen, write))
            fixed.update(chosen)
    remaining = tuple(finding for finding in findings if finding not in fixed)
    return FixOutcome(len(fixed), remaining, "".join(patches))


def _fix_file(path: Path, chosen: dict[Finding, Fix], write: bool) -> str:
    try:
        data = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        original = data.decode(encoding)
        newline = "\r\n" if "\r\n" in original else "\n"
        before = original.replace("\r\n", "\n")
        after = _apply(before, chosen)
        if write:
            path.write_bytes(after.replace("\n", newline).encode(encoding))
    except (OSError, UnicodeError, SyntaxError, IndexError) as error:
        raise AsyncguardError(f"{path}: cannot apply the fixes: {error}") from error
    name = path.as_posix().lstrip("/")
    patch = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(patch)
