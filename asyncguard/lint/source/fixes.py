"""Applying the repairs that findings carry.

The last stage of the linter: findings in, changed files and a patch out. Edits are places in the
text that was checked, of a notebook in the cell; those of one file are applied in one pass. Of
repairs that overlap, the first wins and the others remain for the next run; an edit that two of
them share is made once. A file keeps its encoding, byte-order mark, line ends and permissions, a
notebook all but the sources of its cells. Every file is worked out and parsed before the first one
is written, and each is replaced whole, so that no interruption leaves half a file behind.
"""

from __future__ import annotations

import codecs
import difflib
import io
import math
import os
import re
import tokenize
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncguard import files
from asyncguard.lint.source import cells, notebook
from asyncguard.lint.source.decode import SourceError, check_syntax
from asyncguard.model import AsyncguardError, Edit, Finding, Fix

_LINE_END = re.compile(r"(\r\n|\r|\n)")


@dataclass(frozen=True)
class Change:
    """A file's text before and after its repairs."""

    path: Path
    encoding: str
    before: str
    after: str

    @property
    def data(self) -> bytes:
        """What the file is to hold."""
        return self.after.encode(self.encoding)

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


@dataclass(frozen=True)
class FixOutcome:
    """How many findings were repaired, which remain, and the changes of files, by their paths."""

    fixed: int
    remaining: tuple[Finding, ...]
    changes: Mapping[str, Change]

    @property
    def diff(self) -> str:
        """The changes as a patch."""
        return "".join(change.patch() for change in self.changes.values())


def fix_files(
    findings: Sequence[Finding],
    *,
    unsafe: bool,
    write: bool,
    given: Mapping[str, bytes] | None = None,
) -> FixOutcome:
    """Repair the files that the findings are in; with `write` false, only work out how.

    `given` are the contents of what is not a file, by its path; that is never written. Raises
    AsyncguardError, before anything is written, for a file that cannot be read, has changed since
    it was checked, or would no longer be Python; and for one that cannot be written.
    """
    given = given or {}
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    fixed: set[Finding] = set()
    changes: dict[str, Change] = {}
    for path, here in by_path.items():
        if chosen := choose(here, unsafe=unsafe):
            changes[path] = _changed(Path(path), chosen, given.get(path))
            fixed.update(chosen)
    if write:
        replace_all(change for path, change in changes.items() if path not in given)
    remaining = tuple(finding for finding in findings if finding not in fixed)
    return FixOutcome(len(fixed), remaining, changes)


def replace_all(changes: Iterable[Change]) -> None:
    """Write the changes, each file in one step, its permissions and links to it kept.

    Raises AsyncguardError, before the first is written, for a file that cannot be written or does
    not hold any more what its change begins with.
    """
    changes = list(changes)
    for change in changes:
        try:
            files.require_replaceable(_target(change))
            changed = files.read(change.path) != change.before.encode(change.encoding)
        except OSError as error:
            raise _unwritable(change, error) from error
        if changed:
            raise _stale(change.path)
    for change in changes:
        _write(change)


class Sources:
    """The texts that findings speak of, each read once; `given` are those that are not files."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        self._given = given
        self._texts: dict[str, str] = {}

    def around(self, finding: Finding) -> str:
        """Return the source that a finding's lines are counted in: of a notebook its cell.

        Raises AsyncguardError.
        """
        path = finding.path
        try:
            if path not in self._texts:
                self._texts[path] = _decoded(path, self._given.get(path))
            text = self._texts[path]
            return text if finding.cell is None else cells.cells(text)[finding.cell].source
        except OSError as error:
            raise AsyncguardError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, LookupError, SyntaxError) as error:
            raise _stale(Path(path)) from error


def _decoded(path: str, data: bytes | None) -> str:
    data = files.read(path) if data is None else data
    encoding = "utf-8-sig"
    if not path.endswith(".ipynb"):
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def preview(finding: Finding, text: str) -> list[str]:
    """Return the lines that a finding's repair takes away and adds, each with its sign.

    `text` is the source that the finding's lines are counted in: of a notebook its cell.
    """
    if finding.fix is None or not finding.fix.edits:
        return []
    before, after = lines_of(text), lines_of(apply(text, [finding.fix]))
    changed = [*difflib.unified_diff(before, after, lineterm="", n=0)][2:]  # without the head
    hunks = ["..." if line.startswith("@@") else line for line in changed]
    return hunks[1:]


def choose(findings: Iterable[Finding], *, unsafe: bool) -> dict[Finding, Fix]:
    """Return the findings that can be repaired together, each with its fix."""
    chosen: dict[Finding, Fix] = {}
    taken: dict[int | None, _Taken] = {}  # by cell
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits or not fix.is_applied(unsafe=unsafe):
            continue
        if taken.setdefault(finding.cell, _Taken()).take(fix):
            chosen[finding] = fix
    return chosen


class _Taken:
    """Edits that touch no text twice, in the order of their places."""

    def __init__(self) -> None:
        self._places: list[tuple[tuple[int, int], tuple[int, int]]] = []  # start and end
        self._inside: set[tuple[int, int]] = set()  # where text goes into a line
        self.edits: dict[Edit, None] = {}

    def take(self, fix: Fix) -> bool:
        """Add the edits of a fix, unless one overlaps; an edit that two fixes share counts once."""
        new = [edit for edit in fix.edits if edit not in self.edits]
        if any(map(self._overlaps, new)):
            return False
        for edit in new:
            self.edits[edit] = None
            if _goes_into_line(edit):
                self._inside.add(_start(edit))
            insort(self._places, (_start(edit), _end(edit)))
        return True

    def _overlaps(self, edit: Edit) -> bool:
        start, end = _start(edit), _end(edit)
        if start in self._inside and _goes_into_line(edit):
            return True
        at = bisect_left(self._places, (start, start))
        if at and self._places[at - 1][1] > start:
            return True
        while at < len(self._places) and self._places[at][0] < end:
            if self._places[at][1] > start:
                return True
            at += 1
        return False


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends, one more than there are ends."""
    return _LINE_END.split(text)[::2] if "\r" in text else text.split("\n")


def apply(source: str, fixes: Iterable[Fix]) -> str:
    """Return `source` with the fixes made; one that overlaps an earlier one is left out.

    Lines may end in any way; inserted ones end as the first line of `source` does. Raises
    IndexError for an edit that lies outside of `source`.
    """
    taken = _Taken()
    for fix in fixes:
        taken.take(fix)
    parts = _LINE_END.split(source)  # texts of lines, and between them their ends
    newline = parts[1] if len(parts) > 1 else "\n"
    # From the end, so that earlier places stay valid. Of several insertions at one place those into
    # the line come first, in their order, then lines below it: those of an inner block first.
    edits = sorted(taken.edits, key=lambda edit: (_start(edit), _end(edit), -_depth(edit)))
    for edit in reversed(edits):
        first, last = 2 * (edit.line - 1), 2 * (edit.end_line - 1)
        before, after = parts[first][: edit.column], parts[last][edit.end_column :]
        text = _LINE_END.sub(newline, edit.text)
        parts[first : last + 1] = _LINE_END.split(before + text + after)
    return "".join(parts)


def _depth(edit: Edit) -> float:
    """How far the lines are indented that it adds below another; infinite for any other edit."""
    added = edit.text.removeprefix("\n")
    return math.inf if added == edit.text else len(added) - len(added.lstrip(" \t"))


def _goes_into_line(edit: Edit) -> bool:
    """Whether it inserts text into a line: lines of their own may come one after another."""
    return _start(edit) == _end(edit) and "\n" not in edit.text


def _start(edit: Edit) -> tuple[int, int]:
    return edit.line, edit.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.end_line, edit.end_column


def _write(change: Change) -> None:
    try:
        files.replace(_target(change), [change.data])
    except OSError as error:
        raise _unwritable(change, error) from error


def _target(change: Change) -> Path:
    return Path(os.path.realpath(change.path))  # a link stays one


def _unwritable(change: Change, error: OSError) -> AsyncguardError:
    return AsyncguardError(f"{change.path}: cannot be written: {error.strerror or error}")


def _stale(path: Path) -> AsyncguardError:
    return AsyncguardError(f"{path}: it has changed since it was checked; check it again")


def _name(path: Path) -> str:
    """Return the path as a patch names it: from the working directory, if it is below that."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        return absolute.relative_to(Path.cwd()).as_posix()
    return absolute.as_posix().lstrip("/")


def _lines(text: str) -> list[str]:
    """Split after `\\n` alone, as tools that read patches do."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _changed(path: Path, chosen: dict[Finding, Fix], given: bytes | None) -> Change:
    """Work out one file's repairs; raises AsyncguardError."""
    try:
        data = files.read(path) if given is None else given
        if path.suffix == ".ipynb":
            return _changed_notebook(path, chosen, data)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        before = data.decode(encoding)
        _require_same(path, before, chosen)
        after = apply(before, chosen.values())
        after.encode(encoding)
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot apply the fixes: {error.strerror}") from error
    except (UnicodeError, SyntaxError, ValueError, LookupError) as error:
        raise AsyncguardError(f"{path}: cannot apply the fixes: {error}") from error
    _require_python(path, before, after)
    return Change(path, encoding, before, after)


def _changed_notebook(path: Path, chosen: dict[Finding, Fix], data: bytes) -> Change:
    """Work out a notebook's repairs, cell by cell; raises ValueError or LookupError."""
    encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    before = data.decode(encoding)
    known = cells.cells(before)
    by_cell: dict[int, dict[Finding, Fix]] = {}
    for finding, fix in chosen.items():
        by_cell.setdefault(finding.cell or 0, {})[finding] = fix
    sources: dict[int, str] = {}
    for number, here in by_cell.items():
        _require_same(path, known[number].source, here)
        sources[number] = apply(known[number].source, here.values())
    after = cells.replaced(before, sources)
    joined = [notebook.read_notebook(text.encode()) for text in (before, after)]
    _require_python(path, *(each.source if each is not None else "" for each in joined))
    return Change(path, encoding, before, after)


def _require_same(path: Path, text: str, chosen: Iterable[Finding]) -> None:
    lines = lines_of(text)
    if any(f.source and lines[f.line - 1].strip() != f.source.strip() for f in chosen):
        raise _stale(path)


def _require_python(path: Path, before: str, after: str) -> None:
    """Raise AsyncguardError for what its fixes make no Python.

    Of what only a newer Python reads, those who made the fixes have seen to that.
    """
    try:
        check_syntax(after)
    except SourceError as error:
        if _is_newer(before):
            return
        message = f"{path}: nothing written: with its fixes it would not be Python ({error.reason})"
        raise AsyncguardError(message) from error


def _is_newer(text: str) -> bool:
    """Whether this Python does not read a text that was checked."""
    try:
        check_syntax(text)
    except SourceError:
        return True
    return False
