"""Why something is believed: the provenance of a value's place, and of a place's hotness.

A `Reason` is plain data, so that it travels with values, sites and findings. How much a belief is
worth follows from its provenance (`STRENGTH`), and from what speaks against it (`Doubt`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

LOW, NAMED, MEDIUM, HIGH = range(4)  # NAMED: MEDIUM where the function is hot, else LOW


class Provenance(enum.IntEnum):
    """What a belief rests on, surest first; the order breaks ties between equal strengths."""

    CATALOGUE = 0  # the catalogue says what an API returns
    HOOK = 1  # the framework passes it, or enters the function that often
    TRAINS = 2  # the code runs a training step itself
    REPEATS = 3  # the loop runs a model on what its round before made
    RUNS = 4  # the loop runs a model, whatever it goes over
    CALL = 5  # a caller passes it, or is hot
    LOADER = 6  # it is, or goes over, what a loader yields
    ANNOTATION = 7  # its declared type
    DOCSTRING = 8  # the type that a docstring gives
    TYPE_TEST = 9  # `isinstance` or another test of its type
    USAGE = 10  # the methods called on it, or what it is passed to or combined with
    ATTRIBUTE = 11  # the attribute that is taken of it, or that it is
    MOVED = 12  # it is moved to a device
    OPAQUE = 13  # an unresolved call made it from device values
    HOT_NAME = 14  # its name, within code that trains
    NAME = 15  # its name alone
    ARGUMENT = 16  # an argument of a function that the framework enters
    GUESS = 17  # mostly so


STRENGTH: Mapping[Provenance, int] = {
    Provenance.CATALOGUE: HIGH,
    Provenance.HOOK: HIGH,
    Provenance.TRAINS: HIGH,
    Provenance.REPEATS: HIGH,
    Provenance.RUNS: HIGH,
    Provenance.CALL: HIGH,
    Provenance.LOADER: HIGH,
    Provenance.ANNOTATION: HIGH,
    Provenance.DOCSTRING: MEDIUM,
    Provenance.TYPE_TEST: MEDIUM,
    Provenance.USAGE: MEDIUM,
    Provenance.ATTRIBUTE: MEDIUM,
    Provenance.MOVED: MEDIUM,
    Provenance.OPAQUE: MEDIUM,
    Provenance.HOT_NAME: MEDIUM,
    Provenance.NAME: NAMED,
    Provenance.ARGUMENT: LOW,
    Provenance.GUESS: LOW,
}


class Doubt(enum.IntEnum):
    """What speaks against a belief; doubts add up, in whatever order they come.

    They are flags, whose sums are plain integers: an `IntFlag` looks each sum up, which is slow.
    """

    NONE = 0
    ANOTHER_PATH = 1  # another path makes it something else
    HOST_PATH = 2  # another path makes it a plain object
    INFERRED = 4  # it is inferred from something less sure
    MAY_HOLD = 8  # it may be a dict or a tuple of arrays, or none
    MAY_BE_HOST = 16  # the use is one that host values have more often
    SWITCHED = 32  # an option decides whether it does anything


# The most that is left of a belief under each doubt.
LIMITS: tuple[tuple[int, int], ...] = (
    (Doubt.ANOTHER_PATH, MEDIUM),
    (Doubt.HOST_PATH, LOW),
    (Doubt.INFERRED, MEDIUM),
    (Doubt.MAY_HOLD, LOW),
    (Doubt.MAY_BE_HOST, LOW),
)


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


CERTAIN = Reason()


def strength(why: Reason, doubt: int, *, on_device: bool) -> int:
    """Return how sure a belief is, with what speaks against it: LOW, NAMED, MEDIUM or HIGH."""
    return _strength(why.kind, doubt, on_device)


@cache
def _strength(kind: Provenance, doubt: int, on_device: bool) -> int:
    if not on_device:
        doubt &= ~Doubt.HOST_PATH  # a path of its own like any other
    limits = [most for flag, most in LIMITS if doubt & flag]
    return min([STRENGTH[kind], *limits])


def weaker(one: Reason, other: Reason) -> Reason:
    """Return the reason that makes less sure; between equals always the same one."""
    return one if one >= other else other
