"""The names that the definitions of a file use, and what it imports: who may be reached from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from asyncguard.lint.source.switches import sum_of


class Bound(NamedTuple):
    """A name that an import binds: to a name in a module, or to the module if `name` is "".

    `level` counts the dots before the module. What everything is imported from binds `*`.
    """

    bound: str
    level: int
    module: str
    name: str = ""


class Registered(NamedTuple):
    """A definition that a table has under its name or under keys: by a decorator, or in a dict."""

    name: str
    table: str  # the decorator or the dict: `MODELS.register`, `loss`, `BUFFERS`
    keys: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()  # of its body, one of which may be its key
    listed: bool = False  # in a dict, which its file uses the name for, and for nothing else


class Mentions(NamedTuple):
    """The sums of the names that each definition uses, `""` being the module's own statements.

    `decorated` are those that a decorator may make known to others, `registered` by which table.
    """

    by: Mapping[str, bytes] = {}
    decorated: frozenset[str] = frozenset()
    imports: tuple[Bound, ...] = ()
    registered: tuple[Registered, ...] = ()

    @property
    def words(self) -> set[int]:
        """The sums of all names that the file uses, writes as texts or imports."""
        stated = [one for one in self.imports if "." not in one.bound]
        parts = {part for one in stated for part in (one.module, one.name) if part}
        sums = {sum_of(part.rpartition(".")[2]) for part in parts}
        return sums.union(*(memoryview(own).cast("I") for own in self.by.values()))


NO_MENTIONS = Mentions()
