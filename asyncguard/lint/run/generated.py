"""Generated files: what is found in one is reported in the file that people edit.

A finding moves to the line that it was copied from. Where that line came from a third file, which
the source inherits from, a finding there that is as hot speaks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from asyncguard import files
from asyncguard.lint.modules.copies import by_file_name, source_among
from asyncguard.lint.program.facts import FileResult
from asyncguard.lint.program.merging import Heat, Told, heat, merged
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.model import CallSite, Finding

Identity = tuple[str, str, str]
AROUND = 8  # lines on either side that tell equal lines apart


class Copy:
    """A generated file: the path of its source, and the lines of both."""

    def __init__(self, source: str, lines: list[str], originals: list[str]) -> None:
        self.source = source
        self.lines = lines
        self.originals = originals

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of the source's lines, by what they say."""
        numbers: dict[str, list[int]] = {}
        for number, line in enumerate(self.originals, 1):
            numbers.setdefault(line.strip(), []).append(number)
        return numbers

    def original(self, line: int) -> int:
        """Return the line of the source that a line was copied from; 0 if it was not."""
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        same = self._numbers.get(text, []) if text else []
        return max(same, key=lambda n: self._alike(line, n), default=0)

    def _alike(self, line: int, original: int) -> int:
        """Count the lines around that are equal too."""
        return sum(
            self.lines[line - 1 + n].strip() == self.originals[original - 1 + n].strip()
            for n in range(-AROUND, AROUND + 1)
            if 0 <= line - 1 + n < len(self.lines) and 0 <= original - 1 + n < len(self.originals)
        )


def in_sources(linked: Mapping[str, FileResult]) -> dict[str, FileResult]:
    """Move the findings of generated files, and the calls in them, to where people edit."""
    copies = dict(_copies(linked))
    if not copies:
        return dict(linked)
    elsewhere: dict[Identity, Heat] = {}
    for path, known in linked.items():
        for finding in known.findings if path not in copies else ():
            hottest = elsewhere.get(_identity(finding), heat(finding))
            elsewhere[_identity(finding)] = max(hottest, heat(finding))
    told: dict[str, list[Told]] = {path: [] for path in linked}
    for path, copy in copies.items():
        for finding in linked[path].findings:
            moved = _moved(finding, copy)
            known_as = elsewhere.get(_identity(finding))
            if moved is not None:
                told[moved.path].append(Told(moved))
            elif known_as is None or known_as[:2] < heat(finding)[:2]:
                told[path].append(Told(finding))
    for path, known in linked.items():
        told[path] += [Told(finding) for finding in known.findings if path not in copies]
    return {
        path: known._replace(
            findings=tuple(_with_calls(told[path], copies, linked)),
            suppressions=() if path in copies else known.suppressions,  # those of the source count
        )
        for path, known in linked.items()
    }


def _with_calls(
    told: Iterable[Told], copies: Mapping[str, Copy], linked: Mapping[str, FileResult]
) -> Iterator[Finding]:
    """Merge what is told of each place; a call that was copied is the one of the source."""

    def expanded() -> Iterator[Told]:
        for each in told:
            calls = each.finding.reached_from
            bare = replace(each.finding, reached_from=()) if calls else each.finding
            yield Told(bare)
            for call in calls:
                yield Told(bare, _moved_call(call, copies, linked))

    return merged(expanded())


def _identity(finding: Finding) -> Identity:
    """Return what a finding has in common with that of a copied line."""
    return finding.code, finding.function.rpartition(".")[2], finding.source.strip()


def _moved(finding: Finding, copy: Copy) -> Finding | None:
    line = copy.original(finding.line)
    if not line:
        return None
    shift = _indent(copy.originals[line - 1]) - _indent(copy.lines[finding.line - 1])
    height = finding.end_line - finding.line
    return replace(
        finding,
        path=copy.source,
        line=line,
        end_line=line + height,
        column=finding.column + shift,
        end_column=finding.end_column + shift,
        fix=None,
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved_call(
    call: CallSite, copies: Mapping[str, Copy], linked: Mapping[str, FileResult]
) -> CallSite:
    copy = copies.get(call.path)
    line = copy.original(call.line) if copy is not None else 0
    if copy is None or not line:
        return call
    notebook = linked[copy.source].notebook
    cell = None
    if notebook is not None:
        line, cell = notebook.cell(line)
    return CallSite(copy.source, line, call.function, cell)


def _copies(linked: Mapping[str, FileResult]) -> Iterator[tuple[str, Copy]]:
    """Yield the generated files that have findings, or calls that lead to one, if sources are."""
    reached = {c.path for t in linked.values() for f in t.findings for c in f.reached_from}
    asked = (path for path, told in linked.items() if told.findings or path in reached)
    for path, text, source in _generated(asked, linked):
        notebook = linked[source].notebook
        original = notebook.source if notebook is not None else _text(source)
        yield path, Copy(source, text.splitlines(), original.splitlines())


def copied(paths: Iterable[str], linked: Mapping[str, FileResult]) -> set[str]:
    """Return which files were generated from one that is checked too: nobody edits them."""
    return {path for path, _, _ in _generated(paths, linked)}


def _generated(
    paths: Iterable[str], linked: Mapping[str, FileResult]
) -> Iterator[tuple[str, str, str]]:
    """Yield path, text and source of those files that were generated from a checked one."""
    by_name = by_file_name(linked)
    for path in paths:
        if linked[path].notebook is not None:
            continue
        text = _text(path)
        if source := source_among(by_name, path, text):
            yield path, text, source


def _text(path: str) -> str:
    try:
        return decode(files.read(path))
    except (OSError, SourceError):
        return ""
