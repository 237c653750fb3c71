"""How races are told of: by an error at the line where the memory is used, or by a warning."""

from __future__ import annotations

from asyncguard.model import AsyncguardError
from asyncguard.runtime.races import CopyRace, Race, Tell, warn

WAYS = ("raise", "warn", "ignore")


def tell(how: str) -> Tell:
    """What is done with a race; raises AsyncguardError for a way that there is not."""
    if how not in WAYS:
        raise AsyncguardError(f"unknown way to tell of races: {how!r}; one of {', '.join(WAYS)}")
    return {"raise": _raise, "warn": warn, "ignore": lambda race: None}[how]


def _raise(race: Race) -> None:
    raise CopyRace(race.message)
