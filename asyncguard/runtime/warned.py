"""Warnings that a hooked call raises, told at the user's line.

`warnings.warn` and the C functions that warn look for the line by counting frames, and find the
hook's. So what is about to be shown for a line of ours is issued again, for the line that called
the hook: there the filters, and the memory of what has been shown, are the user's own. It costs
nothing but where a warning is shown. Modules whose frames stand around a call say
`__warningregistry__ = None`, so that for their lines nothing is remembered.

A `stacklevel` that points beyond the call itself stays short by the frames of the hook.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

from asyncguard.runtime.patch import Patcher, Place

_HERE = os.path.dirname(__file__) + os.sep
_SHOW = Place(warnings, "_showwarnmsg")  # what C and Python call, whoever shows or records it then


def redirect(patcher: Patcher) -> None:
    """Tell hooked calls' warnings at the user's line, until the patcher restores."""
    show = _SHOW.raw()

    def show_at_the_users_line(message: warnings.WarningMessage) -> None:
        frame = _caller(sys._getframe(1)) if message.filename.startswith(_HERE) else None
        if frame is None:
            show(message)
        else:
            _warn_at(frame, message)

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


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who called the innermost hook."""
    while frame is not None and not _is_ours(frame):
        frame = frame.f_back
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_HERE)
