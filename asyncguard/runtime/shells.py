"""Cells of notebooks: named by their numbers, where a kernel's files have made-up names."""

from __future__ import annotations

import re
import sys

from asyncguard.runtime.frames import outwards

_FILE = re.compile(r"<ipython-input-[^>]*>|[^<>]*ipykernel_\d+[/\\]\d+\.py")
_IN = re.compile(r"In\[(\d+)\]")


def named(place: str) -> str:
    """A place whose path, at its head, is that of a cell in this process: it becomes "cell 5"."""
    if "ipykernel_" not in place and "<ipython-input-" not in place:
        return place
    file = _FILE.match(place)
    number = _number(file[0]) if file else None
    return place if file is None or number is None else f"cell {number}{place[file.end() :]}"


def running() -> int | None:
    """The number of the cell that calls this; None where none does."""
    for frame in outwards(sys._getframe(1)):
        cell, _, number = named(frame.f_code.co_filename).partition(" ")
        if cell == "cell":
            return int(number)
    return None


def _number(file: str) -> str | None:
    """The number of the cell, as IPython knows it; None where it does not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    tell = getattr(getattr(shell, "compile", None), "format_code_name", None)  # since IPython 8
    told = tell(file) if tell is not None else None
    found = _IN.fullmatch(told[1]) if told else None
    return found[1] if found else None
