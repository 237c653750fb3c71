"""What a value, or a read, depends on: parameters of the function that it stands in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from operator import or_
from typing import NamedTuple


class Dependence(NamedTuple):
    """Parameters by their positions: those that data comes from, and a condition on calls.

    Of `when_omitted`, it happens only in calls that leave these out: `if p is None: p = make()`.
    """

    on: frozenset[int] = frozenset()
    when_omitted: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return self != INDEPENDENT

    def __or__(self, other: Dependence) -> Dependence:
        """Return what either of two depends on."""
        if other is INDEPENDENT or self == other:
            return self
        if self is INDEPENDENT:
            return other
        return Dependence(self.on | other.on, self.when_omitted | other.when_omitted)

    def __and__(self, other: Dependence) -> Dependence:
        """Return what both of two depend on."""
        return Dependence(self.on & other.on, self.when_omitted & other.when_omitted)

    @property
    def only(self) -> int:
        """The one parameter that it depends on; -1 if there are others, conditions, or none."""
        return next(iter(self.on)) if len(self.on) == 1 and not self.when_omitted else -1


INDEPENDENT = Dependence()


@cache
def on_parameter(position: int) -> Dependence:
    """Return that of a value that comes from one parameter."""
    return Dependence(frozenset({position}))


def together(dependences: Iterable[Dependence]) -> Dependence:
    """Return what any of some depends on."""
    return reduce(or_, dependences, INDEPENDENT)
