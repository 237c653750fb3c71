"""Options by name: those that a program leaves as they are by default, and what else it gives them.

A name is off where a parameter, a field, a parser's option or an entry of a configuration file of
that name is `False`, `None` or 0 by default, and stays off unless an assignment, an argument of a
call or an entry of a dictionary or a file gives it anything else; likewise one stays on that is
`True` wherever it is given. What is merely handed on under its own name changes nothing.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable
from typing import NamedTuple


class Switches(NamedTuple):
    """Names of a file's options, by what they are given."""

    off: frozenset[str] = frozenset()  # nothing, by default
    true: frozenset[str] = frozenset()  # `True`
    false: frozenset[str] = frozenset()  # nothing, by default or by a call
    other: frozenset[str] = frozenset()  # something else
    words: bytes = b""  # sums of the names that the file uses or writes as texts, four bytes each


def sum_of(name: str) -> int:
    """Return four bytes that stand for a name."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def sums_of(names: Iterable[str]) -> bytes:
    """Return the sums of some names, each once."""
    return array("I", sorted(set(map(sum_of, names)))).tobytes()


NO_SWITCHES = Switches()
NOT = "not "  # before the name of an option where a place is run if it is off


def settled(files: Iterable[Switches]) -> frozenset[str]:
    """Return the options that all of these leave off, and `NOT` those that they leave on."""
    names = zip(*(each[:4] for each in files), strict=True)
    off, true, false, other = (frozenset[str]().union(*each) for each in names)
    return (off - true - other) | {f"{NOT}{name}" for name in true - false - other}
