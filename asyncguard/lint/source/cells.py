"""The sources of a notebook's cells, changed in place: every other character of the file stays.

A notebook is JSON, and writing it anew would change its spacing, its escapes or the order of its
keys. So the text of each `source` is found, and that alone is replaced, in the form it had: one
string, or a list of lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_SPACES = frozenset(" \t\n\r")  # that JSON allows between its parts
_value = json.JSONDecoder().raw_decode  # a value and where it ends


class Cell(NamedTuple):
    """Where the source of a cell stands in the file's text, and what it is."""

    start: int
    end: int
    source: str


def cells(text: str) -> dict[int, Cell]:
    """Return the sources by the number of their cell, from 1; raises ValueError for broken JSON."""
    try:
        return _cells(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _cells(text: str) -> dict[int, Cell]:
    found: dict[int, Cell] = {}
    start, _ = _members(text, 0)["cells"]
    for number, (first, _) in enumerate(_elements(text, start), 1):
        span = _members(text, first).get("source")
        if span is not None:
            value = json.loads(text[slice(*span)])
            found[number] = Cell(*span, value if isinstance(value, str) else "".join(value))
    return found


def replaced(text: str, sources: Mapping[int, str]) -> str:
    """Return the notebook with other sources in some of its cells, by their numbers."""
    known = cells(text)
    for number in sorted(sources, reverse=True):
        cell = known[number]
        text = text[: cell.start] + _written(text, cell, sources[number]) + text[cell.end :]
    return text


def _written(text: str, cell: Cell, source: str) -> str:
    """Write a source as the cell had it; lines that stay are written as they were."""
    before = text[cell.start : cell.end]
    plain = text.isascii()
    if before[0] == '"':
        return json.dumps(source, ensure_ascii=plain)
    spans = [*_elements(before, 0)]
    known = {json.loads(before[slice(*span)]): before[slice(*span)] for span in spans}
    lines = [
        known.get(line) or json.dumps(line, ensure_ascii=plain)
        for line in re.findall(r"[^\n]*\n|[^\n]+", source)
    ]
    lead, tail = before[1 : spans[0][0]], before[spans[-1][1] : -1]
    between = before[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{lead or ' '}"
    return f"[{lead}{between.join(lines)}{tail}]"


def _members(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Return where the values of an object stand, by their keys."""
    found: dict[str, tuple[int, int]] = {}
    at = _skip(text, start)
    _expect(text, at, "{")
    at = _skip(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = _value(text, at)
        at = _skip(text, at)
        _expect(text, at, ":")
        begin = _skip(text, at + 1)
        _, end = _value(text, begin)
        found[key] = begin, end
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            break
        at = _skip(text, at + 1)
    _expect(text, at, "}")
    return found


def _elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where the values of a list stand."""
    at = _skip(text, start)
    _expect(text, at, "[")
    at = _skip(text, at + 1)
    while text[at : at + 1] not in {"]", ""}:
        _, end = _value(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
    _expect(text, at, "]")


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in _SPACES:
        at += 1
    return at


def _expect(text: str, at: int, mark: str) -> None:
    if text[at : at + 1] != mark:
        raise ValueError(f"expected {mark!r} at character {at}")
