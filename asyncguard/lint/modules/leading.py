"""Which functions of the files around lead to those that are checked alone.

Of a file of which nothing is reported, only what may call a checked function matters: what mentions
its name, or that of another function that does. The rest need not be run. What a file imports that
only calls what is checked need not be read: its calls are the same without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from asyncguard.lint.names import family

_WORD = re.compile(r"\w+")
# What defines a name: a function or class, which a decorator may begin, or a module's variable.
_HEADER = re.compile(
    r"^([ \t]*)(?:(?:async +)?(def|class) +(\w+)|@)|^(?!__)(\w+)(?=[ \t]*(?::[^=\n]*)?=(?!=))"
)
# What is called by no name: by syntax, or as `model(x)` is. Making an object names its class.
_PROTOCOL = re.compile(r"^(call|__(?!init__|new__|post_init__)\w+__)$")
_FORWARD = family("function.forward_of")


class Leading(NamedTuple):
    """Files of which nothing is reported, and names that lead from them to those that are.

    `names` is None if everything may lead there: something is called by no name, as `forward` is.
    `callers` are those of the files that are there for how they call what is reported; `checked`
    are the files that are reported.
    """

    paths: frozenset[str]
    names: frozenset[str] | None
    callers: frozenset[str] = frozenset()
    checked: frozenset[str] = frozenset()

    def leads(self, path: str, lines: Iterable[str]) -> bool:
        """Whether a function of a file, by its lines, may lead to what is reported."""
        if self.names is None or path not in self.paths:
            return True
        return any(not self.names.isdisjoint(_WORD.findall(line)) for line in lines)


@dataclass
class _Defined:
    """A function, class or variable of a text, and the words of its lines and decorators."""

    indent: int
    kind: str = ""  # "def" or "class"; "" of a variable, or a decorator
    name: str = ""  # "" while only a decorator was seen
    owner: str = ""  # the class around it
    words: set[str] = field(default_factory=set)


class Leads:
    """The names that lead to some texts, from them and from those that are added.

    `names` are all, `tops` those that a module defines for others. What is called by no name is
    not among them: then `by_no_name` is true, and everything may lead to the texts.
    """

    def __init__(self, named: Iterable[str]) -> None:
        self.names: set[str] = set()
        self.tops: set[str] = set()
        self.by_no_name = False
        self._mentioning: dict[str, list[_Defined]] = {}
        for text in named:
            self._reach(_definitions(text))

    def add(self, text: str) -> None:
        """Add a text that may call what leads to the others."""
        defined = list(_definitions(text))
        for one in defined:
            for word in one.words:
                self._mentioning.setdefault(word, []).append(one)
        self._reach([one for one in defined if not self.names.isdisjoint(one.words)])

    def _reach(self, defined: Iterable[_Defined]) -> None:
        """Note that definitions lead to the texts, and what mentions them."""
        pending = list(defined)
        while pending:
            one = pending.pop()
            if one.kind == "def" and (_PROTOCOL.match(one.name) or _FORWARD(one.name)):
                self.by_no_name = True
                continue
            if not one.indent:
                self.tops.add(one.name)
            made = {one.owner} if one.name == "__init__" and one.owner else set()
            for name in {one.name} | made:
                self.names.add(name)
                pending += self._mentioning.pop(name, ())


def _definitions(text: str) -> Iterator[_Defined]:
    """Yield what a text defines, with the words of all that is in it.

    One ends where the next begins that is no part of it, so it may have some words too many.
    """
    still_open: list[_Defined] = []
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header is not None:
            indent, kind, name = len(header[1] or ""), header[2] or "", header[3] or header[4] or ""
            decorated = still_open and still_open[-1].indent == indent and not still_open[-1].name
            if not decorated:
                yield from _closed(still_open, indent)
                still_open.append(_Defined(indent))
            one, above = still_open[-1], still_open[-2:-1]
            one.kind, one.name = kind, name
            one.owner = above[0].name if above and above[0].kind == "class" else ""
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
