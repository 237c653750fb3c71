"""The lines of one finding, for a terminal or a log."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache

from asyncguard.model import Finding
from asyncguard.render import Screen
from asyncguard.render.visible import visible

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
    if finding.advice:
        first, *rest = _wrapped(f"help: {visible(finding.advice)}", width, "    ")
        yield first.replace("help:", paint("help:", "cyan"), 1)
        yield from rest


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
