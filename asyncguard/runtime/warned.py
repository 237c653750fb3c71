"""Warnings that a hooked call raises, told at the user's line.

`warnings.warn` and the C functions that warn look for the line by counting frames, and find the
hook's. So what is about to be shown for a line of ours is issued again, for the line that called
the hook: there the filters, and the memory of what has been shown, are the user's own. It costs
nothing but where a warning is shown. Modules whose frames stand around a call say
`__warningregistry__ = None`, so that for their lines nothing is remembered.

A `stacklevel` that points beyond the program's first frame under `asyncguard run` is told as python
tells it, which has no frames there.

A `stacklevel` that points beyond a hooked call stays short by the frames of the hook.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import CodeType, FrameType

from asyncguard.runtime.frames import outwards
from asyncguard.runtime.patch import Patcher, Place

_HERE = os.path.dirname(__file__) + os.sep
PROGRAM_STARTS: set[CodeType] = set()  # of functions that run a program
_BEYOND = 1_000_000  # frames: more than there are
_SHOW = Place(warnings, "_showwarnmsg")  # what C and Python call, whoever shows or records it then


def redirect(patcher: Patcher) -> None:
    """Tell hooked calls' warnings at the user's line, until the patcher restores."""
    show = _SHOW.raw()

    def show_at_the_users_line(message: warnings.WarningMessage) -> None:
        warner = sys._getframe(1)
        if _is_beneath(warner, message):
            warnings.warn(message.message, message.category, _BEYOND, message.source)
        elif message.filename.startswith(_HERE) and (frame := _caller(warner)) is not None:
            _warn_at(frame, message)
        else:
            show(message)

    patcher.replace(_SHOW, show_at_the_users_line)


def _warn_at(frame: FrameType, message: warnings.WarningMessage) -> None:
    names = frame.f_globals
    warnings.warn_explicit(
        message.message,
        message.category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<string>"),
        names.setdefault("__warningregistry__", {}),
        source=message.source,
    )


def _is_beneath(frame: FrameType, message: warnings.WarningMessage) -> bool:
    """Whether a warning is told for a line of what runs the program."""
    frames = list(outwards(frame))
    start = next((at for at, f in enumerate(frames) if f.f_code in PROGRAM_STARTS), len(frames))
    file = frames[start].f_code.co_filename if start < len(frames) else ""
    while start and frames[start - 1].f_code.co_filename == file:
        start -= 1
    places = [(each.f_code.co_filename, each.f_lineno) for each in frames]
    told = message.filename, message.lineno
    return told in places[start:] and told not in places[:start]


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who called the innermost hook."""
    while frame is not None and not _is_ours(frame):
        frame = frame.f_back
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_HERE)
