"""What a call hands, of which the function is known only once all files are: `x.method(a, b)`.

It says which of the functions of that name it may mean, and what it hands their parameters.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from queue import Queue
from typing import NamedTuple

from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence

OF_NAME = "~"  # `~kernel.sample`: a method of a class that is named like the variable
OF_PYTHON = frozenset(  # methods that Python's own classes have, which say nothing of whose it is
    name
    for kind in (str, bytes, list, dict, set, tuple, object, deque, Queue, Future)
    for name in dir(kind)
)


class Given(enum.IntFlag):
    """What is known of one argument."""

    UNKNOWN = 0
    ON_HOST = 1  # a number, or an array in host memory
    ARRAY = 2
    OMITTED = 4  # it may be `None`
    TRUE = 8  # a constant that is true
    FALSE = 16  # likewise
    ABSENT = 32  # it is `None`
    THERE = 64  # an array on the device
    STAYS = 128  # arrays in host memory for good


class Handed(NamedTuple):
    """The arguments of one call; `open`: there may be more of them, by `*args` or `**kwargs`."""

    positional: tuple[Given, ...] = ()
    by_name: tuple[tuple[str, Given], ...] = ()
    open: bool = False


ANYTHING = Handed(open=True)


class Signature(NamedTuple):
    """What a function takes; `open`: any number of arguments."""

    names: tuple[str, ...] = ()
    required: int = 0  # parameters without a default, its instance too
    has_self: bool = False
    open: bool = False

    def takes(self, handed: Handed) -> bool:
        """Whether the function can be called so; its instance may be handed or not."""
        given = len(handed.positional)
        if not self.open:
            if given > len(self.names):
                return False
            if any(name not in self.names for name, _ in handed.by_name):
                return False
        return handed.open or given + len(handed.by_name) + self.has_self >= self.required

    def handed(self, arguments: Handed) -> Dependence:
        """Return what a call hands the parameters, as `Dependence.is_ruled_out_by` asks for it."""
        if arguments.open or self.open:
            return INDEPENDENT
        given = dict(self._given(arguments))
        if not given:
            return INDEPENDENT

        def those(asked: Given) -> frozenset[int]:
            bits = int(asked)
            return frozenset([index for index, what in given.items() if what & bits])

        passed = frozenset([i for i, what in given.items() if not _may_be_left_out(what)])
        return Dependence(
            on=those(Given.ON_HOST),
            when_omitted=passed,
            where_omitted=frozenset(given) - those(Given.OMITTED),
            unless_array=those(Given.ARRAY),
            unless_plain=frozenset(i for i, what in given.items() if what == Given.ON_HOST),
            unless_there=those(Given.THERE),
            unless_host=those(Given.STAYS),
            when_true=those(Given.FALSE),
            when_false=those(Given.TRUE),
            when_given=those(Given.ABSENT),
        )

    def _given(self, arguments: Handed) -> Iterator[tuple[int, int]]:
        """Yield the parameters that are handed something, and what: the bits of `Given`."""
        yield from enumerate(map(int, arguments.positional), self.has_self)
        for name, given in arguments.by_name:
            yield self.names.index(name), int(given)


_OMITTED, _ARRAY = int(Given.OMITTED), int(Given.ARRAY)
_ANY_ARRAY = int(Given.ARRAY | Given.ON_HOST)


def _may_be_left_out(given: int) -> bool:
    """Whether this is `None`, or a device value, which is read in any case."""
    return bool(given & _OMITTED) or given & _ANY_ARRAY == _ARRAY
