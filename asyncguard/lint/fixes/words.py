"""What repairs know of other people's APIs and names, read from `rules/repairs.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from asyncguard.catalogue import REPAIRS, build, entries, read, rules_directory


class Words(NamedTuple):
    """Words of one meaning."""

    id: str
    reason: str
    words: tuple[str, ...]


class Table(NamedTuple):
    """Words, each with what it stands for."""

    id: str
    reason: str
    table: Mapping[str, str]


class Pattern(NamedTuple):
    """A pattern that is searched in a name or a text; `hit` and `miss` are its tests."""

    id: str
    reason: str
    pattern: str
    hit: tuple[str, ...]
    miss: tuple[str, ...]


class Dialect(NamedTuple):
    """How one framework writes what repairs need. A form that it lacks is "".

    Of `modules`, what the file imports is tried first to last; `arrays` has `maximum` and its like.
    `wide` makes a scalar that sums like Python's floats, `exact` says whether it does so bit for
    bit; `long` makes an integer that sums like Python's, up to 64 bits; `together` reads a list of
    scalars at once; `scalar` has no dimension; `double` is the widest type; `copy` has memory of
    its own; `wait` waits for one value, and is there where Python may run ahead without bound;
    `upload` says what comes of sending a list without a wait, `pinning` whether that is faster
    from pinned memory.

    A dialect `of` a framework differs from the framework's own in what it says: for `apis` that
    begin so, in files with a `text` that fits.
    """

    modules: tuple[str, ...]
    arrays: str
    wide: str
    exact: bool
    detach: str = ""
    together: str = ""
    long: str = ""
    scalar: str = "{}.reshape(())"
    wait: str = ""
    double: str = ".double()"
    copy: str = ""
    upload: str = ""
    pinning: bool = True
    of: str = ""
    apis: str = ""
    text: str = ""


class Known(NamedTuple):
    """All that the file says."""

    dialect: Mapping[str, Dialect]
    words: tuple[Words, ...]
    table: tuple[Table, ...]
    pattern: tuple[Pattern, ...]


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


@cache
def dialects_of(framework: str) -> Sequence[Dialect]:
    """Return those of a framework, its own last."""
    own = dialects().get(framework)
    others = [each for each in dialects().values() if each.of == framework]
    return [*others, own] if own is not None else others


@lru_cache(maxsize=1)
def known() -> Known:
    """Return all that `rules/repairs.toml` says."""
    data = read(rules_directory() / REPAIRS, Known._fields)
    told = data["dialect"]
    return Known(
        {
            name: build(Dialect, {**told.get(each.get("of"), {}), **each}, f"{REPAIRS}: {name}")
            for name, each in told.items()
        },
        tuple(build(Words, each, REPAIRS) for each in entries(REPAIRS, "words", data)),
        tuple(build(Table, each, REPAIRS) for each in entries(REPAIRS, "table", data)),
        tuple(build(Pattern, each, REPAIRS) for each in entries(REPAIRS, "pattern", data)),
    )
