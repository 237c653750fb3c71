"""Why something is believed: the provenance of a value's place, and of a place's hotness.

A `Reason` is plain data, so that it travels with values, sites and findings. How much a belief is
worth follows from its provenance alone (`STRENGTH`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

LOW, NAMED, MEDIUM, HIGH = range(4)  # NAMED: MEDIUM where the function is hot, else LOW


class Provenance(enum.IntEnum):
    """What a belief rests on; the order breaks ties between reasons of equal strength."""

    CATALOGUE = 0  # the catalogue says what an API returns
    HOOK = 1  # the framework passes it, or enters the function that often
    TRAINS = 2  # the code runs a training step or a model itself
    CALL = 3  # a caller passes it, or is hot
    LOADER = 4  # it is, or goes over, what a loader yields
    ANNOTATION = 5  # its declared type
    DOCSTRING = 6  # the type that a docstring gives
    TYPE_TEST = 7  # `isinstance` or another test of its type
    USAGE = 8  # the methods called on it
    OPAQUE = 9  # an unresolved call made it from device values
    HOT_NAME = 10  # its name, within code that trains
    NAME = 11  # its name alone
    GUESS = 12  # what is mostly so


STRENGTH: Mapping[Provenance, int] = {
    Provenance.CATALOGUE: HIGH,
    Provenance.HOOK: HIGH,
    Provenance.TRAINS: HIGH,
    Provenance.CALL: HIGH,
    Provenance.LOADER: HIGH,
    Provenance.ANNOTATION: HIGH,
    Provenance.DOCSTRING: MEDIUM,
    Provenance.TYPE_TEST: MEDIUM,
    Provenance.USAGE: MEDIUM,
    Provenance.OPAQUE: MEDIUM,
    Provenance.HOT_NAME: MEDIUM,
    Provenance.NAME: NAMED,
    Provenance.GUESS: LOW,
}


class Reason(NamedTuple):
    """Why a value is taken to be on the device, or a place to be hot.

    `text` is a clause that a finding shows: "`loss` is named like a loss". `path` and `line` (from
    1; 0 if there is none) say where that was seen. `family` is the id of the name family that took
    part (`rules/names.toml`), or the catalogue's entry; "" if neither did.
    """

    kind: Provenance = Provenance.CATALOGUE
    text: str = ""
    path: str = ""
    line: int = 0
    family: str = ""

    @property
    def strength(self) -> int:
        """Return how sure it makes: LOW, NAMED, MEDIUM or HIGH."""
        return STRENGTH[self.kind]
