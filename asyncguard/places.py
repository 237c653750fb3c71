"""How texts name a line."""

from __future__ import annotations


def place_of(path: str, line: int) -> str:
    """A line as texts name it: "path:line", or "cell 5, line 10" of a notebook that ran.

    Of a place of which no line is known (0) it is the path.
    """
    if not line:
        return path
    is_cell = path.startswith("cell ") and path[5:].isdecimal()
    return f"{path}, line {line}" if is_cell else f"{path}:{line}"
