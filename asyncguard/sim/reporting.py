"""How races are told of: by an error at the line where the memory is used, or by a warning."""

from __future__ import annotations

import warnings

from asyncguard.model import AsyncguardError
from asyncguard.runtime.races import CopyRace, Race, Tell

WAYS = ("raise", "warn", "ignore")


def tell(how: str) -> Tell:
    """What is done with a race; raises AsyncguardError for a way that there is not."""
    if how not in WAYS:
        raise AsyncguardError(f"unknown way to tell of races: {how!r}; one of {', '.join(WAYS)}")
    return {"raise": _raise, "warn": _warn, "ignore": lambda race: None}[how]


def _raise(race: Race) -> None:
    raise CopyRace(race.message)


def _warn(race: Race) -> None:
    place = race.used_at
    warnings.warn_explicit(race.message, RuntimeWarning, place.path, place.line)
