"""Applying the repairs that findings carry.

The last stage of the linter: findings in, changed files and a patch out. Edits are places in the
text that was checked; those of one file are applied in one pass. Of repairs that overlap, the
first wins and the others remain for the next run; an edit that two of them share is made once. A
file keeps its encoding, byte-order mark, line
ends and permissions. Every file is worked out and parsed before the first one is written, and each
is replaced whole, so that no interruption leaves half a file behind.
"""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import shutil
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asyncguard import files
from asyncguard.model import AsyncguardError, Edit, Finding, Fix

_LINE_END = re.compile(r"(\r\n|\r|\n)")


@dataclass(frozen=True)
class FixOutcome:
    """How many findings were repaired, which remain, and the difference as a patch."""

    fixed: int
    remaining: tuple[Finding, ...]
    diff: str


def fix_files(findings: Sequence[Finding], *, unsafe: bool, write: bool) -> FixOutcome:
    """Repair the files that the findings are in; with `write` false, only show how.

    Raises AsyncguardError, before anything is written, for a file that cannot be read, has changed
    since it was checked, or would no longer be Python; and for one that cannot be written.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.cell is None:  # a notebook's lines are those of no file
            by_path.setdefault(finding.path, []).append(finding)
    fixed: set[Finding] = set()
    changes: list[_Change] = []
    for path, here in by_path.items():
        if chosen := choose(here, unsafe=unsafe):
            changes.append(_changed(Path(path), chosen))
            fixed.update(chosen)
    if write:
        for change in changes:
            change.write()
    remaining = tuple(finding for finding in findings if finding not in fixed)
    return FixOutcome(len(fixed), remaining, "".join(change.patch() for change in changes))


def choose(findings: Iterable[Finding], *, unsafe: bool) -> dict[Finding, Fix]:
    """Return the findings that can be repaired together, each with its fix."""
    chosen: dict[Finding, Fix] = {}
    taken: list[Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits or not fix.is_applied(unsafe=unsafe):
            continue
        if not any(overlap(new, old) for new in fix.edits for old in taken):
            chosen[finding] = fix
            taken.extend(edit for edit in fix.edits if edit not in taken)
    return chosen


def overlap(left: Edit, right: Edit) -> bool:
    """Whether two edits touch the same text, and are not one that two repairs share."""
    if left == right:
        return False
    return _start(left) < _end(right) and _start(right) < _end(left)


def apply(source: str, fixes: Iterable[Fix]) -> str:
    """Return `source` with the fixes made; one that overlaps an earlier one is left out.

    Lines may end in any way; inserted ones end as the first line of `source` does. Raises
    IndexError for an edit that lies outside of `source`.
    """
    edits: list[Edit] = []
    for fix in fixes:
        if not any(overlap(new, old) for new in fix.edits for old in edits):
            edits.extend(edit for edit in fix.edits if edit not in edits)
    parts = _LINE_END.split(source)  # texts of lines, and between them their ends
    newline = parts[1] if len(parts) > 1 else "\n"
    # From the end, so that earlier places stay valid; what is inserted at one place stays in order.
    edits.sort(key=lambda edit: (_start(edit), _end(edit)))
    for edit in reversed(edits):
        first, last = 2 * (edit.line - 1), 2 * (edit.end_line - 1)
        before, after = parts[first][: edit.column], parts[last][edit.end_column :]
        text = _LINE_END.sub(newline, edit.text)
        parts[first : last + 1] = _LINE_END.split(before + text + after)
    return "".join(parts)


def _start(edit: Edit) -> tuple[int, int]:
    return edit.line, edit.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.end_line, edit.end_column


@dataclass(frozen=True)
class _Change:
    """A file's text before and after its repairs."""

    path: Path
    encoding: str
    before: str
    after: str

    def write(self) -> None:
        """Replace the file in one step, its permissions kept."""
        target = Path(os.path.realpath(self.path))  # a link stays one
        scratch = ""
        try:
            handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            with os.fdopen(handle, "wb") as file:
                file.write(self.after.encode(self.encoding))
            shutil.copymode(target, scratch)
            os.replace(scratch, target)
        except OSError as error:
            if scratch:
                with suppress(OSError):
                    os.unlink(scratch)
            raise AsyncguardError(f"{self.path}: cannot be written: {error.strerror}") from error

    def patch(self) -> str:
        """Return the difference, as `git apply` and `patch -p1` read it."""
        name = _name(self.path)
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.after), f"a/{name}", f"b/{name}"
        )
        ended = (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return "".join(ended)


def _name(path: Path) -> str:
    """Return the path as a patch names it: from the working directory, if it is below that."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        return absolute.relative_to(Path.cwd()).as_posix()
    return absolute.as_posix().lstrip("/")


def _lines(text: str) -> list[str]:
    """Split after `\\n` alone, as tools that read patches do."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _changed(path: Path, chosen: dict[Finding, Fix]) -> _Change:
    """Work out one file's repairs; raises AsyncguardError."""
    try:
        data = files.read(path)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        before = data.decode(encoding)
        lines = _LINE_END.split(before)[::2]
        if any(f.source and lines[f.line - 1].strip() != f.source.strip() for f in chosen):
            raise AsyncguardError(f"{path}: it has changed since it was checked; check it again")
        after = apply(before, chosen.values())
        after.encode(encoding)
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot apply the fixes: {error.strerror}") from error
    except (UnicodeError, SyntaxError, IndexError) as error:
        raise AsyncguardError(f"{path}: cannot apply the fixes: {error}") from error
    _require_python(path, after)
    return _Change(path, encoding, before, after)


def _require_python(path: Path, text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError) as error:
        message = f"{path}: nothing written: with its fixes it would be no Python ({error})"
        raise AsyncguardError(message) from error
