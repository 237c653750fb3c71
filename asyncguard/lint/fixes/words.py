"""What repairs know of other people's APIs and names, read from `rules/repairs.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec
import tomli

from asyncguard.catalogue import REPAIRS, rules_directory


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of one meaning."""

    id: str
    reason: str
    words: list[str]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words, each with what it stands for."""

    id: str
    reason: str
    table: dict[str, str]


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern that is searched in a name or a text; `hit` and `miss` are its tests."""

    id: str
    reason: str
    pattern: str
    hit: list[str]
    miss: list[str]


class Dialect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one framework writes what repairs need. A form that it lacks is "".

    Of `modules`, what the file imports is tried first to last; `arrays` has `maximum` and its like.
    `wide` makes a scalar that sums like Python's floats, `exact` says whether it does so bit for
    bit; `long` makes an integer that sums like Python's, up to 64 bits; `together` reads a list of
    scalars at once; `scalar` has no dimension; `wait` waits for one value, and is there where
    Python may run ahead without bound.
    """

    modules: list[str]
    arrays: str
    wide: str
    exact: bool
    detach: str = ""
    together: str = ""
    long: str = ""
    scalar: str = "{}.reshape(())"
    wait: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: int
    dialect: dict[str, Dialect]
    words: list[Words]
    table: list[Table]
    pattern: list[Pattern]


def words(id: str) -> frozenset[str]:
    """Return the words of an entry."""
    return next(frozenset(each.words) for each in known().words if each.id == id)


def table(id: str) -> Mapping[str, str]:
    """Return what the words of an entry stand for."""
    return next(each.table for each in known().table if each.id == id)


def pattern(id: str) -> re.Pattern[str]:
    """Return the pattern of an entry."""
    return next(re.compile(each.pattern) for each in known().pattern if each.id == id)


def dialects() -> Mapping[str, Dialect]:
    """Return how each framework writes what repairs need."""
    return known().dialect


@lru_cache(maxsize=1)
def known() -> _File:
    """Return all that `rules/repairs.toml` says."""
    text = (rules_directory() / REPAIRS).read_text(encoding="utf-8")
    return msgspec.convert(tomli.loads(text), _File)
