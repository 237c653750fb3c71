"""`--add-ignore`: a comment on the line of each finding, so that it is not reported again."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from asyncguard import files
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.model import Applicability, AsyncguardError, Edit, Finding, Fix

UNREADABLE = "ASG000"  # no comment can be put into what is not Python


def with_ignores(
    findings: Iterable[Finding], reason: str, given: Mapping[str, bytes] | None = None
) -> list[Finding]:
    """Return a finding a logical line, whose repair is the comment that silences all of that line.

    `given` are the contents of files that are not saved, by path. Findings in notebooks, and of
    files that could not be read as Python, are left out. Raises AsyncguardError for a file that has
    changed into something else meanwhile.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.cell is None and finding.code != UNREADABLE:
            by_path.setdefault(finding.path, []).append(finding)
    data = given or {}
    return [
        silenced
        for path, found in by_path.items()
        for silenced in _in(path, found, reason, data.get(path))
    ]


def _in(path: str, findings: list[Finding], reason: str, data: bytes | None) -> Iterator[Finding]:
    ends = _ends(path, data)
    lines: dict[tuple[int, int], list[Finding]] = {}
    for finding in findings:
        if finding.line not in ends:
            raise AsyncguardError(f"{path}: it has changed since it was checked; check it again")
        lines.setdefault(ends[finding.line], []).append(finding)
    for (line, column), found in lines.items():
        codes = ", ".join(sorted({finding.code for finding in found}))
        text = f"  # asyncguard: ignore[{codes}] {reason}".rstrip()
        edit = Edit(line, column, line, column, text)
        fix = Fix("silence it with a comment", (edit,), Applicability.SAFE)
        yield replace(found[0], fix=fix)


def _ends(path: str, data: bytes | None) -> dict[int, tuple[int, int]]:
    """Return where a comment can stand for each line: at the end of its logical line."""
    found: dict[int, tuple[int, int]] = {}
    first = 0
    try:
        text = decode(files.read(path) if data is None else data)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE:
                found.update((line, token.start) for line in range(first, token.start[0] + 1))
                first = 0
            elif not first and token.type not in _BETWEEN:
                first = token.start[0]
    except (OSError, SourceError, tokenize.TokenError, SyntaxError) as error:
        raise AsyncguardError(f"{path}: cannot be given comments: {error}") from error
    return found


_BETWEEN = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
