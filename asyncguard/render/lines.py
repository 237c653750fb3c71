"""The lines of one finding, for a terminal or a log."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache

from asyncguard.model import CallSite, Finding
from asyncguard.render import Screen
from asyncguard.render.visible import visible
from asyncguard.render.words import count

CALLS_SHOWN = 3
Paint = Callable[[str, str], str]  # a text, and how it should look


def painter(screen: Screen) -> Paint:
    """Return what gives a text the look that rich calls by such a name."""
    if not screen.color:
        return lambda text, style: text
    from rich.color import ColorSystem
    from rich.style import Style

    return lambda text, style: Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def finding_lines(finding: Finding, screen: Screen, paint: Paint) -> Iterator[str]:
    """Yield a finding's lines: its place and message, the source, the advice.

    A word longer than the line, such as a path, stays whole: other programs read it.
    """
    cell = f"cell {finding.cell}:" if finding.cell else ""
    place = f"{visible(finding.path)}:{cell}{finding.line}:{finding.column}:"
    start = f"{place} {finding.code}"
    width = screen.line_width
    first, *rest = _wrapped(f"{start} {visible(finding.message)}", width, "")
    yield first.replace(start, f"{paint(place, 'bold')} {paint(finding.code, 'red')}", 1)
    yield from rest
    if source := finding.source.strip():
        yield f"    {visible(source)}"
    if finding.reached_from:
        yield from _wrapped(visible(calls(finding)), width, "    ")
    if finding.advice:
        first, *rest = _wrapped(f"help: {visible(finding.advice)}", width, "    ")
        yield first.replace("help:", paint("help:", "cyan"), 1)
        yield from rest


def calls(finding: Finding) -> str:
    """Say from where a read in a helper is reached: the hottest calls, and how many there are."""
    first = finding.reached_from[:CALLS_SHOWN]
    more = len(finding.reached_from) - len(first)
    places = [f"{place(call, finding.path)} ({call.function or '<module>'})" for call in first]
    listed = ", ".join([*places, *([f"and {more:,} more"] if more else [])])
    return f"reached from {count(len(finding.reached_from), 'call site')}: {listed}"


def place(call: CallSite, beside: str) -> str:
    """Return where a call stands; within the file `beside`, its line alone."""
    file = "line " if call.path == beside and call.cell is None else f"{call.path}:"
    return f"{file}{f'cell {call.cell}:' if call.cell else ''}{call.line}"


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
