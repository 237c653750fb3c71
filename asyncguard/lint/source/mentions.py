"""The names that the definitions of a file use, and what it imports: who may be reached from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Bound(NamedTuple):
    """A name that an import binds: to a name in a module, or to the module if `name` is "".

    `level` counts the dots before the module. What everything is imported from binds `*`.
    """

    bound: str
    level: int
    module: str
    name: str = ""


class Mentions(NamedTuple):
    """The sums of the names that each definition uses, `""` being the module's own statements.

    `decorated` are those that a decorator may make known to others.
    """

    by: Mapping[str, bytes] = {}
    decorated: frozenset[str] = frozenset()
    imports: tuple[Bound, ...] = ()


NO_MENTIONS = Mentions()
