"""The words of a program's own names, as items of evidence: what people call a thing says much.

Only those that enough packages use are fitted, each by itself: no list of words is kept here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asyncguard.lint.names import singular, split

WORDS = ("word.", "class.", "via.", "name.", "made.")  # what such items begin with
_SHORTEST = 4  # letters of a word that is looked at


def of_function(function: str) -> Iterator[str]:
    """Yield the words of a function's name, and of its classes'."""
    owner, _, name = function.rpartition(".")
    yield from of_name("word", name)
    yield from of_name("class", owner)


def of_callers(callers: Iterable[str]) -> Iterator[str]:
    """Yield the words that the functions on the way to a place are named by."""
    for caller in callers:
        yield from of_name("via", caller.rpartition(".")[2])


def of_name(about: str, name: str, shortest: int = _SHORTEST) -> Iterator[str]:
    """Yield the words of a name, as items that begin with what it is about."""
    return (f"{about}.{singular(word)}" for word in split(name) if len(word) >= shortest)
