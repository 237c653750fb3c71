"""Options by name: those that a program leaves as they are by default, and what else it gives them.

A name is off where a parameter, a field, a parser's option or an entry of a configuration file of
that name is `False`, `None` or 0 by default, and stays off unless an assignment, an argument of a
call or an entry of a dictionary or a file gives it anything else; likewise one stays on that is
`True` wherever it is given. What is merely handed on under its own name changes nothing; nor does
what is given where another option is on that is off, nor a default that all calls replace.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Hanging(NamedTuple):
    """What an option is given only where others are on, or where a class is made without it."""

    what: int  # the field of `Switches` that it belongs to then
    name: str
    under: frozenset[str] = frozenset()  # the options that must be on
    by: str = ""  # the class whose default it is


class Positional(NamedTuple):
    """A place among the arguments of a class: `name` is its parameter, or the option put there."""

    owner: str
    place: int
    name: str


class Switches(NamedTuple):
    """Names of a file's options, by what they are given.

    `hanging` may be given more. `made` are classes that the file uses, `handed` those with each
    option that all its calls hand them. `renamed` are given an option of another name:
    `self.check = cfg.check_logits`; so are parameters that are `passed` one.
    """

    off: frozenset[str] = frozenset()  # nothing, by default
    true: frozenset[str] = frozenset()  # `True`
    false: frozenset[str] = frozenset()  # nothing, by default or by a call
    other: frozenset[str] = frozenset()  # something else
    hanging: frozenset[Hanging] = frozenset()
    made: frozenset[str] = frozenset()
    handed: frozenset[tuple[str, str]] = frozenset()
    worded: frozenset[str] = frozenset()  # a word
    renamed: frozenset[str] = frozenset()
    passed: frozenset[Positional] = frozenset()  # options, or "" for `True`
    taken: frozenset[Positional] = frozenset()  # parameters
    said: bytes = b""  # sums of the words that may be given to any of them, four bytes each
    words: bytes = b""  # sums of all words, of what configures a program


def sum_of(name: str) -> int:
    """Return four bytes that stand for a name."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


def sums_of(names: Iterable[str]) -> bytes:
    """Return the sums of some names, each once."""
    return array("I", sorted(set(map(sum_of, names)))).tobytes()


NO_SWITCHES = Switches()
IS = "="  # between the name of an option and the word that it is where a place is run
NOT = "not "  # before the name of an option where a place is run if it is off


def settled(
    files: Iterable[Switches], asked: Iterable[str] = (), configured: Switches = NO_SWITCHES
) -> frozenset[str]:
    """Return the options that all of these leave off, and `NOT` those that they leave on.

    Of those that are `asked` to be a word, those too that nothing in sight gives that word. What
    configurations leave off is not turned on by what happens only where it is on.
    """
    files = [*files, configured]
    passed = _passed(files)
    hanging = [each for each in (*_reached(files), *passed) if not _is_idle(each, configured)]
    names = [frozenset[str]().union(*given) for given in zip(*(f[:4] for f in files), strict=True)]
    names[_OFF] = names[_OFF].union(*(f.renamed for f in files), (each.name for each in passed))
    unsaid = _unsaid(files, {*asked, *(name for each in hanging for name in each.under)})
    left, before = unsaid | _left(names, hanging), frozenset[str]()
    while left != before:  # what these keep from being given leaves others as they are
        hanging = [each for each in hanging if each.under.isdisjoint(left)]
        before, left = left, left | _left(names, hanging)
    return left


_OFF, _TRUE, _FALSE, _OTHER = range(4)


def _is_idle(each: Hanging, configured: Switches) -> bool:
    return each.name in each.under and each.name in configured.off


def _passed(files: Sequence[Switches]) -> list[Hanging]:
    """Return what parameters of classes are given by their place; of several of a name, each."""
    taken: dict[tuple[str, int], set[str]] = {}
    for each in (t for file in files for t in file.taken):
        taken.setdefault((each.owner, each.place), set()).add(each.name)
    given = {p for file in files for p in file.passed}
    return [
        Hanging(_OTHER, name, frozenset({p.name} if p.name else ()))
        for p in given
        for name in taken.get((p.owner, p.place), ())
        if name != p.name
    ]


def _unsaid(files: Sequence[Switches], asked: Iterable[str]) -> frozenset[str]:
    """Return those of which an option has words, but nothing says this one but to ask for it."""
    worded = frozenset[str]().union(*(each.worded | each.off for each in files))
    said = {total for each in files for total in memoryview(each.said).cast("I")}
    words = ((each, *each.partition(IS)) for each in asked if IS in each)
    return frozenset(a for a, name, _, word in words if name in worded and sum_of(word) not in said)


def _left(names: Sequence[frozenset[str]], hanging: Iterable[Hanging]) -> frozenset[str]:
    more: tuple[set[str], ...] = set(), set(), set(), set()
    for each in hanging:
        more[each.what].add(each.name)
    off, true, false, other = (name | more[what] for what, name in enumerate(names))
    return (off - true - other) | {f"{NOT}{name}" for name in true - false - other}


def _reached(files: Sequence[Switches]) -> list[Hanging]:
    """Return what may be given, without the defaults that all who make a class replace."""
    made = Counter(name for each in files for name in each.made)
    handed = Counter(pair for each in files for pair in each.handed)
    found = frozenset[Hanging]().union(*(each.hanging for each in files))
    return [h for h in found if not h.by or not 0 < made[h.by] == handed[h.by, h.name]]
