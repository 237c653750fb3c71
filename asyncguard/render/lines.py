"""The lines of one finding, for a terminal or a log."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from unicodedata import east_asian_width

from asyncguard.model import Applicability, CallSite, Finding
from asyncguard.render import Screen
from asyncguard.render.visible import visible
from asyncguard.render.words import count

CALLS_SHOWN = 3
LEAD = 24  # columns of a long source line that are shown before what waits
_HOW = {
    Applicability.SAFE: "--fix",
    Applicability.UNSAFE: "--fix --unsafe-fixes",
    Applicability.SHOWN: "for you to decide and complete",
}
Paint = Callable[[str, str], str]  # a text, and how it should look


def painter(screen: Screen) -> Paint:
    """Return what gives a text the look that rich calls by such a name."""
    if not screen.color:
        return lambda text, style: text
    from rich.color import ColorSystem
    from rich.style import Style

    return lambda text, style: Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def finding_lines(finding: Finding, screen: Screen, paint: Paint) -> Iterator[str]:
    """Yield a finding's lines: place and message, the source with a caret, calls, advice.

    A word longer than the line, such as a path, stays whole: other programs read it.
    """
    start = f"{place_of(finding)} {finding.code}"
    width = screen.line_width
    first, *rest = _wrapped(f"{start} {visible(finding.message)}", width, "")
    yield first.replace(
        start, f"{paint(place_of(finding), 'bold')} {paint(finding.code, 'red')}", 1
    )
    yield from rest
    yield from _excerpt(finding, width, paint)
    if finding.reached_from:
        yield from _wrapped(visible(calls(finding)), width, "    ")
    for word, text in (("help:", finding.advice), ("fix:", fix_of(finding))):
        if text:
            first, *rest = _wrapped(f"{word} {visible(text)}", width, "    ")
            yield first.replace(word, paint(word, "cyan"), 1)
            yield from rest


def fix_lines(lines: Iterable[str], paint: Paint) -> Iterator[str]:
    """Yield the lines that a repair takes away and adds, as they are: they may be copied."""
    for line in lines:
        yield f"    {paint(visible(line), 'red' if line.startswith('-') else 'green')}"


def concise_line(finding: Finding, paint: Paint) -> str:
    """Return a finding as one line: place, code, whether it can be repaired, message."""
    fix = " [*]" if finding.fix is not None and finding.fix.safe else ""
    sites = len(finding.reached_from)
    reached = f" ({count(sites, 'call site')})" if sites > 1 else ""
    place, code = paint(place_of(finding), "bold"), paint(finding.code, "red")
    return f"{place} {code}{fix} {one_line(finding.message)}{reached}"


def place_of(finding: Finding) -> str:
    """Return `path:line:column:`, of a notebook `path:cell N:line:column:`."""
    cell = f"cell {finding.cell}:" if finding.cell else ""
    return f"{visible(finding.path)}:{cell}{finding.line}:{finding.column}:"


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return visible(" ".join(text.split()))


def fix_of(finding: Finding) -> str:
    """Say what the repair does, and which option applies it."""
    if finding.fix is None:
        return ""
    how = {"safe": " (--fix)", "unsafe": " (--fix --unsafe-fixes)"}
    return (
        f"{finding.fix.message}{how.get(finding.fix.applicability.value, ' (for you to decide)')}"
    )


def calls(finding: Finding) -> str:
    """Say from where a read in a helper is reached: the hottest calls, and how many there are."""
    first = finding.reached_from[:CALLS_SHOWN]
    more = len(finding.reached_from) - len(first)
    places = [f"{call_place(call, finding.path)} ({call.function or '<module>'})" for call in first]
    listed = ", ".join([*places, *([f"and {more:,} more"] if more else [])])
    return f"reached from {count(len(finding.reached_from), 'call site')}: {listed}"


def call_place(call: CallSite, beside: str) -> str:
    """Return where a call stands; within the file `beside`, its line alone."""
    file = "line " if call.path == beside and call.cell is None else f"{call.path}:"
    return f"{file}{f'cell {call.cell}:' if call.cell else ''}{call.line}"


def _excerpt(finding: Finding, width: int, paint: Paint) -> Iterator[str]:
    """Yield the source line, and below it a caret for each column of what waits."""
    text = finding.source.rstrip()
    source = text.lstrip()
    if not source:
        return
    start = max(finding.column - 1 - (len(text) - len(source)), 0)
    end = start + finding.end_column - finding.column if _on_one_line(finding) else len(source)
    space = width - 4
    if len(source) > space and start > LEAD:  # begin with what waits
        cut = start - LEAD
        source, start, end = f"...{source[cut + 3 :]}", start - cut, end - cut
    if len(source) > space:
        source = f"{source[: space - 3]}..."
    end = min(end, len(source))
    yield f"    {visible(source)}"
    if start < end and source.isprintable():
        marks = "^" * _columns(source[start:end])
        yield f"    {' ' * _columns(source[:start])}{paint(marks, 'red')}"


def _on_one_line(finding: Finding) -> bool:
    return finding.end_line == finding.line and finding.end_column > finding.column


def _columns(text: str) -> int:
    """Count the columns of a terminal that a text takes; characters of East Asia take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


@lru_cache(1024)
def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Break a text into lines; an advice is given for many findings."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
