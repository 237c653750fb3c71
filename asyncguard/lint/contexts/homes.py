"""The file and the frame that a function or class was defined in."""

from __future__ import annotations

from typing import cast

from asyncguard.lint.contexts.frame import Frame, Host
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo


def host_of(definition: FunctionInfo | ClassInfo) -> Host:
    """Return the file that defines a function or class, as the interpreter asks it."""
    return cast(Host, definition.module)  # there are no other modules


def enclosing_frame(info: FunctionInfo) -> Frame | None:
    """Return the frame that a function was defined in; None if that is its module's own."""
    assert info.closure is None or isinstance(info.closure, Frame)
    return info.closure
