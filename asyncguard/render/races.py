"""Races of copies in words, as a trace lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.places import place_of

SHOWN = 10


def races(record: TraceRecord) -> Iterator[str]:
    """Yield a sentence for each race of a run; what is odd in a file is left out."""
    found = record.extra.get("races", ())
    listed = [race for race in found if isinstance(race, Mapping)] if _is_list(found) else []
    for race in listed[:SHOWN]:
        yield (
            f"{race.get('code', 'race')}: host memory is {race.get('use', 'used')} at"
            f" {_place(race.get('used_at'))} while `{race.get('copy', 'a copy')}` at"
            f" {_place(race.get('copied_at'))} may still use it"
        )
    if len(listed) > SHOWN:
        yield f"... and {len(listed) - SHOWN:,} more races (--format json)"


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _place(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "an unknown line"
    line = value.get("line")
    return place_of(str(value.get("path", "")), line if isinstance(line, int) else 0)
