"""Streams of the command line: their width, their colours, and writing to them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from asyncguard.render import Screen


def screen(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Screen:
    """Return what a stream shows: as wide as the terminal, or unwrapped where it is not one.

    COLUMNS sets the width in either case. NO_COLOR turns colours off, FORCE_COLOR on.
    """
    from asyncguard.render import Screen

    terminal = stream.isatty()
    wished = environment.get("COLUMNS", "")
    columns = int(wished) if wished.isdecimal() and len(wished) < 6 else 0
    width = columns or (shutil.get_terminal_size().columns if terminal else Screen.width)
    color = terminal and environment.get("TERM") != "dumb"
    color = (color or bool(environment.get("FORCE_COLOR"))) and not environment.get("NO_COLOR")
    return Screen(width, color, wrapped=bool(columns) or terminal, terminal=terminal)


def plain() -> Screen:
    """Return what a file shows."""
    from asyncguard.render import Screen

    return Screen()


def write(stream: TextIO, text: str) -> None:
    """Write a text; characters that the stream's encoding lacks are written as escapes."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def one_line(text: str) -> str:
    """Return a message as one line that no terminal takes for more than text."""
    from asyncguard.render.visible import visible

    return visible(" ".join(text.splitlines()))


def renderer(name: str, what: str) -> Callable[[Any, Screen], str]:
    """Return the function of a format; raises AsyncguardError."""
    from asyncguard import render

    found: Callable[[Any, Screen], str] = render.find(name, what)
    return found


def progress(verb: str, stream: TextIO) -> AbstractContextManager[Any]:
    """Return a progress bar on a terminal; elsewhere a context that gives None."""
    if not stream.isatty():
        return nullcontext()
    from asyncguard.render.progress import progress_bar

    return progress_bar(verb, stream)
