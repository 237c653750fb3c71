"""Streams of the command line: their width, their colours, and writing to them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TextIO

from asyncguard.model import AsyncguardError

if TYPE_CHECKING:
    from asyncguard.render import Screen

_color: bool | None = None  # whether the command line asks for colours; None: it does not say


@contextmanager
def colored(wish: bool | None) -> Iterator[None]:
    """Use colours on every screen within, or on none; None leaves it to each screen."""
    global _color
    before, _color = _color, wish
    try:
        yield
    finally:
        _color = before


def screen(stream: TextIO | None, environment: Mapping[str, str] = os.environ) -> Screen:
    """Return what a stream shows: as wide as the terminal, or unwrapped where it is not one.

    COLUMNS sets the width in either case. NO_COLOR turns colours off, FORCE_COLOR on, and
    `colored` overrides both.
    """
    from asyncguard.render import Screen

    terminal = stream is not None and not stream.closed and stream.isatty()
    wished = environment.get("COLUMNS", "")
    columns = int(wished) if wished.isdecimal() and len(wished) < 6 else 0
    width = columns or (shutil.get_terminal_size().columns if terminal else Screen.width)
    return Screen(
        width, _colors(terminal, environment), wrapped=bool(columns) or terminal, terminal=terminal
    )


def _colors(terminal: bool, environment: Mapping[str, str]) -> bool:
    if _color is not None:
        return _color
    color = terminal and environment.get("TERM") != "dumb"
    return (color or bool(environment.get("FORCE_COLOR"))) and not environment.get("NO_COLOR")


def plain() -> Screen:
    """Return what a file shows."""
    from asyncguard.render import Screen

    return Screen()


def write(stream: TextIO | None, text: str) -> None:
    """Write a text; characters that the stream's encoding lacks are written as escapes.

    Raises AsyncguardError where standard output takes no more; of stderr nobody could be told.
    """
    if stream is None or stream.closed or not text:  # None: closed before Python started
        return
    with written_to(stream):
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


@contextmanager
def written_to(stream: TextIO) -> Iterator[None]:
    """Raise AsyncguardError where a write within fails, as on a full disk.

    A pipe whose reader went away is no such failure: BrokenPipeError passes.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        forsake(stream)
        if stream is sys.stderr:
            return
        reason = error.strerror or "it is closed"
        raise AsyncguardError(f"standard output cannot be written to: {reason}") from error


@contextmanager
def standing() -> Iterator[None]:
    """Put something in the place of standard streams that are closed, and flush what was written.

    The place of a closed stream would else be taken by the next file that is opened. Raises
    AsyncguardError where standard output takes not all of what was written.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull)  # noqa: SIM115 - for good; whoever writes is told so
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        yield
    finally:
        with written_to(sys.stdout):
            sys.stdout.flush()


def forsake(stream: TextIO) -> None:
    """Let the rest of what was written to a stream go nowhere: Python flushes it at its end."""
    with open(os.devnull, "w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), stream.fileno())


def one_line(text: str) -> str:
    """Return a message as one line that no terminal takes for more than text."""
    from asyncguard.render.visible import visible

    return visible(" ".join(text.splitlines()))


def renderer(name: str, what: str) -> Callable[[Any, Screen], str]:
    """Return the function of a format; raises AsyncguardError."""
    from asyncguard import render

    found: Callable[[Any, Screen], str] = render.find(name, what)
    return found


def progress(verb: str, stream: TextIO | None) -> AbstractContextManager[Any]:
    """Return a progress bar on a terminal; elsewhere a context that gives None."""
    if stream is None or not stream.isatty():
        return nullcontext()
    from asyncguard.render.progress import progress_bar

    return progress_bar(verb, stream)
