"""Comments that silence findings: `# asyncguard: ignore[ASG102] reason`, `# noqa: ASG102`.

Rules are named as everywhere: by code, start of a code or name. A comment that is addressed to
asyncguard and says nothing that it understands is a problem, which ASG901 reports.
A comment speaks for its whole logical line, so it may stand on any line of a call that is wrapped
over several. `# asyncguard: ignore-file` speaks for the file.

An allowance is a statement of the program itself that a wait is meant: the context or decorator
`asyncguard.allow_syncs`, or one of a team's own (`Allowances`). It speaks for all that it governs.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from asyncguard.lint.selectors import find, matches, why_unknown
from asyncguard.model import Edit, Finding

_IGNORE = re.compile(
    r"#\s*asyncguard:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[^\]]*)\])?(?![\w-])", re.IGNORECASE
)
_ADDRESSED = re.compile(r"#\s*asyncguard\s*:\s*(?P<said>[^#]*)", re.IGNORECASE)
_NOQA = re.compile(
    r"#\s*noqa(?!\w)(?P<colon>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?",
    re.IGNORECASE,
)


class Allowances(NamedTuple):
    """What says in a program that it waits on purpose: contexts, and comments, by name."""

    contexts: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()


NO_ALLOWANCES = Allowances()  # but asyncguard's own
OWN_CONTEXT = "allow_syncs"
ALLOWABLE = frozenset({"ASG1", "ASG2", "ASG3"})  # rules that say that something waits


class Suppression(NamedTuple):
    """One comment: what it silences (`codes` may be starts of codes; None: every rule) and where.

    `line`, `column` and `end_column` say where the comment stands, counted from 1; `removal` takes
    it away, with its reason and the space before it.
    """

    line: int
    column: int
    end_column: int
    first_line: int
    last_line: int
    codes: frozenset[str] | None
    whole_file: bool = False
    foreign: bool = False  # a noqa without our codes: it may serve another linter
    removal: Edit | None = None
    problem: str = ""  # what in it cannot be understood
    allows: str = ""  # the name of the context, decorator or comment that allows waits

    def covers(self, finding: Finding) -> bool:
        """Whether the comment silences this finding."""
        return self.covers_line(finding.line, finding.code)

    def covers_line(self, line: int, code: str) -> bool:
        """Whether the comment silences a rule on a line."""
        if not self.means(code):
            return False
        return self.whole_file or self.first_line <= line <= self.last_line

    def means(self, code: str) -> bool:
        """Whether the comment speaks of a rule."""
        return self.codes is None or any(matches(known, code) for known in self.codes)


def suppressions(source: str, more: Allowances = NO_ALLOWANCES) -> tuple[Suppression, ...]:
    """The comments of a source text, and what allows waits in it, a team's own too.

    None where it cannot be tokenized (ASG000 says so).
    """
    silent = not _ADDRESSED.search(source) and all(map(_is_foreign, _NOQA.finditer(source)))
    contexts = frozenset(name for name in (OWN_CONTEXT, *more.contexts) if name in source)
    marks = tuple(mark for mark in more.comments if mark in source)
    if silent and not contexts and not marks:
        return ()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        return (*_read(tokens, marks), *(_blocks(tokens, contexts) if contexts else ()))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return ()


def _blocks(
    tokens: Iterable[tokenize.TokenInfo], contexts: frozenset[str]
) -> Iterator[Suppression]:
    """Yield what `with allow_syncs(): ...` and `@allow_syncs()` govern, to the end of the block."""
    lines = list(_logical_lines(tokens))
    decorator: tuple[tokenize.TokenInfo, tokenize.TokenInfo] | None = None
    for index, (_, line) in enumerate(lines):
        first, named = line[0], next((t for t in line if t.string in contexts), None)
        if first.string == "@":
            decorator = decorator or (named and (first, named))
        elif named is not None and "with" in {token.string for token in line[:2]}:
            yield _allowance(first, named, _end(lines, index))
        elif decorator is not None:
            yield _allowance(*decorator, _end(lines, index))
            decorator = None


class _Line(NamedTuple):
    """One logical line: how deep it is indented, and its tokens."""

    depth: int
    tokens: list[tokenize.TokenInfo]


def _logical_lines(tokens: Iterable[tokenize.TokenInfo]) -> Iterator[_Line]:
    depth, line = 0, list[tokenize.TokenInfo]()
    for token in tokens:
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            depth += 1 if token.type == tokenize.INDENT else -1
        elif token.type == tokenize.NEWLINE and line:
            yield _Line(depth, line)
            line = []
        elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
            line.append(token)


def _end(lines: Sequence[_Line], index: int) -> int:
    """Return the last line of the block that a logical line opens, or else its own."""
    following = islice(lines, index + 1, None)
    inner = takewhile(lambda line: line.depth > lines[index].depth, following)
    *_, last = (lines[index], *inner)
    return last.tokens[-1].end[0]


def _allowance(first: tokenize.TokenInfo, named: tokenize.TokenInfo, last: int) -> Suppression:
    (line, column), name = named.start, named.string
    end = column + len(name) + 1
    return Suppression(line, column + 1, end, first.start[0], last, ALLOWABLE, allows=name)


def apply(
    findings: Iterable[Finding],
    comments: tuple[Suppression, ...],
    silenced: Iterable[tuple[int, str]] = (),
) -> tuple[list[Finding], list[Suppression]]:
    """Split off what is silenced: the findings that stay, and the comments that silenced none.

    `silenced` are lines and codes that comments silence already.
    """
    kept: list[Finding] = []
    used = {c for line, code in silenced for c in comments if c.covers_line(line, code)}
    for finding in findings:
        covering = [comment for comment in comments if comment.covers(finding)]
        used.update(covering)
        if not covering:
            kept.append(finding)
    return kept, [comment for comment in comments if comment not in used and not comment.foreign]


def _read(tokens: Iterable[tokenize.TokenInfo], marks: Sequence[str]) -> Iterator[Suppression]:
    comments: list[tokenize.TokenInfo] = []
    first = 0  # line on which the present logical line began; 0: between two
    for token in tokens:
        if token.type == tokenize.COMMENT:
            comments.append(token)
        elif token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            if token.type == tokenize.NL and first:
                continue  # a line break within brackets
            for comment in comments:
                yield from _parse(comment, first or comment.start[0], token.start[0], marks)
            comments, first = [], 0
        elif not first and token.type not in (tokenize.INDENT, tokenize.DEDENT):
            first = token.start[0]


def _parse(
    comment: tokenize.TokenInfo, first: int, last: int, marks: Sequence[str]
) -> Iterator[Suppression]:
    line, column = comment.start
    for mark in (mark for mark in marks if mark in comment.string):
        start = column + comment.string.index(mark) + 1
        end = start + len(mark)
        yield Suppression(line, start, end, first, last, ALLOWABLE, allows=mark)
    for match in _ADDRESSED.finditer(comment.string):
        start, end = column + match.start() + 1, column + len(match[0].rstrip()) + match.start() + 1
        ignore = _IGNORE.match(comment.string, match.start())
        if ignore is None:
            problem = _misunderstood(match["said"])
            yield Suppression(line, start, end, first, last, frozenset(), problem=problem)
            continue
        codes, problem = _named(ignore["codes"])
        end, removal = column + ignore.end() + 1, _removal(comment, match.start())
        file = bool(ignore["file"])
        yield Suppression(line, start, end, first, last, codes, file, False, removal, problem)
    for match in _NOQA.finditer(comment.string):
        start, end = column + match.start() + 1, column + match.end() + 1
        foreign = match["codes"] is None or _is_foreign(match)
        edit = None if foreign else _noqa_removal(comment, match)
        ours = None if match["codes"] is None else " ".join(_our_codes(match["codes"]))
        codes, problem = _named(ours) if ours != "" else (frozenset(), "")
        yield Suppression(
            line, start, end, first, last, codes, foreign=foreign, removal=edit, problem=problem
        )


def _misunderstood(said: str) -> str:
    """Explain what to write in place of a comment that asyncguard cannot read."""
    example = "write `# asyncguard: ignore[CODE] reason` or `# asyncguard: ignore-file`"
    return f"asyncguard does not understand `{said.strip()[:40]}`: {example}"


def _named(text: str | None) -> tuple[frozenset[str] | None, str]:
    """Return the selectors in a text, None for every rule, and which words of it are none."""
    if text is None:
        return None, ""
    words = [word for word in re.split(r"[\s,]+", text) if word]
    read = {word: find(word) for word in words}
    unknown = next((word for word, selector in read.items() if selector is None), None)
    found = frozenset(selector for selector in read.values() if selector is not None)
    if unknown is not None:
        return found, why_unknown(unknown)
    return found, "" if words else "name a rule between the brackets"


def _is_foreign(noqa: re.Match[str]) -> bool:
    """Whether a noqa names rules of other linters alone: it silences nothing of ours."""
    return noqa["codes"] is not None and not _our_codes(noqa["codes"])


def _our_codes(text: str) -> list[str]:
    return [code for code in _codes_of_noqa(text) if code.upper().startswith("ASG")]


def _codes_of_noqa(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _removal(comment: tokenize.TokenInfo, start: int) -> Edit:
    """Delete the comment from `start` up to the next `#`, or the whole line if that is all."""
    line, column = comment.start
    following = comment.string.find("#", start + 1)
    if following >= 0:
        return Edit(line, column + start, line, column + following, "")
    before = comment.line[: column + start]
    if not before.strip() and comment.line.endswith("\n"):
        return Edit(line, 0, line + 1, 0, "")
    return Edit(line, len(before.rstrip()), line, comment.end[1], "")


def _noqa_removal(comment: tokenize.TokenInfo, match: re.Match[str]) -> Edit:
    """Delete our codes and leave those of other linters."""
    others = [c for c in _codes_of_noqa(match["codes"]) if not c.upper().startswith("ASG")]
    if not others:
        return _removal(comment, match.start())
    line, column = comment.start
    start, end = match.span("codes")
    return Edit(line, column + start, line, column + end, ", ".join(others))
