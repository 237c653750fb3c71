"""Which functions of the files around lead to those that are checked alone.

Of a file of which nothing is reported, only what may call a checked function matters: what mentions
its name, or that of another function that does. The rest need not be run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from asyncguard.lint.names import family

_WORD = re.compile(r"\w+")
_HEADER = re.compile(r"^([ \t]*)(?:(?:async +)?(def|class) +(\w+)|@)")
# What is called by no name: by syntax, or as `model(x)` is. Making an object names its class.
_PROTOCOL = re.compile(r"^(call|__(?!init__|new__|post_init__)\w+__)$")
_FORWARD = family("function.forward_of")


class Leading(NamedTuple):
    """Files of which nothing is reported, and names that lead from them to those that are."""

    paths: frozenset[str]
    names: frozenset[str]

    def leads(self, path: str, lines: Iterable[str]) -> bool:
        """Whether a function of a file, by its lines, may lead to what is reported."""
        if path not in self.paths:
            return True
        return any(not self.names.isdisjoint(_WORD.findall(line)) for line in lines)


@dataclass
class _Defined:
    """A function or class of a text, with the words of its lines, those of its decorators too."""

    indent: int
    is_class: bool = False
    name: str = ""  # "" while only a decorator was seen
    owner: str = ""  # the class around it
    words: set[str] = field(default_factory=set)


def leading_to(named: Iterable[str], near: Mapping[str, str]) -> Leading | None:
    """Return the names that lead from the texts of near files, by path, to the named texts.

    None if everything may: something is called by no name, as `forward` is.
    """
    by_word: dict[str, list[_Defined]] = {}
    for text in near.values():
        for one in _definitions(text):
            for word in one.words:
                by_word.setdefault(word, []).append(one)
    names: set[str] = set()
    pending = [one for text in named for one in _definitions(text)]
    while pending:
        one = pending.pop()
        if _is_called_by_no_name(one):
            return None
        made = {one.owner} if one.name == "__init__" and one.owner else set()
        for name in {one.name} | made:
            names.add(name)
            pending += by_word.pop(name, ())
    return Leading(frozenset(near), frozenset(names))


def _is_called_by_no_name(one: _Defined) -> bool:
    return not one.is_class and bool(_PROTOCOL.match(one.name) or _FORWARD(one.name))


def _definitions(text: str) -> Iterator[_Defined]:
    """Yield the functions and classes of a text, with the words of all that is in them.

    One ends where the next begins that is no part of it, so it may have some words too many.
    """
    still_open: list[_Defined] = []
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header is not None:
            indent = len(header[1])
            decorated = still_open and still_open[-1].indent == indent and not still_open[-1].name
            if not decorated:
                yield from _closed(still_open, indent)
                still_open.append(_Defined(indent))
            if header[2]:
                one = still_open[-1]
                above = still_open[-2] if len(still_open) > 1 else None
                one.is_class, one.name = header[2] == "class", header[3]
                one.owner = above.name if above is not None and above.is_class else ""
        if still_open:
            still_open[-1].words.update(_WORD.findall(line))
    yield from _closed(still_open, 0)


def _closed(still_open: list[_Defined], indent: int) -> Iterator[_Defined]:
    """Yield the definitions that end before a line of this indent; add their words to the outer."""
    while still_open and still_open[-1].indent >= indent:
        one = still_open.pop()
        if still_open:
            still_open[-1].words |= one.words
        if one.name:
            yield one
