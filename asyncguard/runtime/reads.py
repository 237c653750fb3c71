"""The short way of a read: the commonest wait, `value.item()`, at a line that waited before.

A read that happens once a step finds no cache warm: each object that it looks at and each
instruction that it runs costs several times what it does in a tight loop. So it compares where it
is with where it was the last time, takes the time twice, and notes the wait down in a log that is
added up later. All else goes the long way (`hooks`), which also looks at the whole stack every so
often: `tickets` says for how many reads the call path is taken for granted.

It is here twice: in Python, and compiled (`_quick.c`), where it costs a third. What both do every
so often is `_Rare`'s.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sized
from itertools import repeat
from operator import length_hint
from types import FrameType
from typing import Any, NamedTuple

from asyncguard.runtime.adapter import Adapter, Judge
from asyncguard.runtime.callers import TOP, Way
from asyncguard.runtime.compiled import quick as compiled
from asyncguard.runtime.copies import FRESH
from asyncguard.runtime.detours import Function
from asyncguard.runtime.faults import forget_this_frame
from asyncguard.runtime.hub import BATCH, Beat, Doing, front, hub, running_loop
from asyncguard.runtime.sites import Site

__warningregistry__ = None  # see `warned`
GLOBALS = globals()
# What a read compares: what it waits for, and instruction and code of the line and three callers.
_Place = tuple[Any, ...]
_NOWHERE: _Place = (object(), -2, None, -2, None, -2, None, -2, None)
_getframe, getrefcount, get_ident = sys._getframe, sys.getrefcount, threading.get_ident


def read_hook(
    original: Function, name: str, judge: Judge, hook: Function, adapter: Adapter, up: int
) -> Function:
    """Put the short way in front of another hook.

    It is open for one listener, where no limit holds, in its first thread, outside of asyncio's
    tasks, for reads without arguments while no value is known to be a copy on the host.
    """
    rare, known = _Rare(name, judge, adapter, FRESH[up].read), adapter.copies.known
    if compiled is not None:
        read: Function = compiled.Read(
            original, judge, rare, hook, known, front, Beat, Doing, above=up - 1
        )
        return read
    return _read_hook(original, judge, rare, hook, known, up)


def _read_hook(
    original: Function,
    judge: Callable[[Any], object],
    rare: _Rare,
    hook: Function,
    known: Sized,
    up: int,
) -> Function:
    """The short way in Python."""
    last, by_type, stand_in = _NOWHERE, False, False
    tickets: Iterator[Site | None] = iter(())

    def read(self: Any, /, *rest: Any, **named: Any) -> Any:
        nonlocal last, by_type, stand_in, tickets
        try:
            site = None
            beat = front.reads
            if (
                get_ident() == beat.thread
                and not (doing := beat.doing).waiting
                and not (rest or named or known)
            ):
                try:
                    frame = _getframe(up)
                    one = frame.f_back or TOP
                    two = one.f_back or TOP
                    three = two.f_back or TOP
                    value, at, code, at1, code1, at2, code2, at3, code3 = last
                    if (
                        frame.f_lasti == at
                        and frame.f_code is code
                        and one.f_lasti == at1
                        and one.f_code is code1
                        and two.f_lasti == at2
                        and two.f_code is code2
                        and three.f_lasti == at3
                        and three.f_code is code3
                        and (type(self) if by_type else judge(self)) is value
                    ):
                        site = next(tickets, None)
                    if site is None:
                        found = rare.look(self, frame, length_hint(tickets))
                        last, by_type, stand_in = found.place, found.by_type, found.stand_in
                        tickets = repeat(found.site, found.tickets)
                        site = next(tickets, None)
                    if site is not None:
                        clock = beat.clock
                        began = clock()
                except Exception as error:  # noqa: BLE001  the user's call must go on
                    site = None
                    rare.failed(error)
            if site is None:
                return hook(self, *rest, **named)
            doing.waiting = True
            try:
                result = original(self)
            finally:
                doing.waiting = False
            try:
                beat.log.append((site, began, clock(), beat.step))
                if stand_in and result is self:
                    held = getrefcount(self)
                    rare.gave_itself(self, frame, held)
            except Exception as error:  # noqa: BLE001
                rare.failed(error)
            return result
        except BaseException as error:
            forget_this_frame(error)
            raise

    return read


class _Found(NamedTuple):
    """What a look at a read has found: nothing, where it is not settled what waits there."""

    place: _Place = _NOWHERE
    site: Site | None = None
    tickets: int = 0  # for how many reads there the site may be taken for granted
    by_type: bool = False  # whether what the place waits for is told by the value's type
    stand_in: bool = False  # whether the value stands in for a device's


class _Rare:
    """What one read does at most every so often, kept together out of its way."""

    def __init__(self, name: str, judge: Judge, adapter: Adapter, fresh: int) -> None:
        self._name = name
        self._judge = judge
        self._adapter = adapter
        self._fresh = fresh
        self._way: Way | None = None

    def look(self, value: Any, frame: FrameType, unused: int) -> _Found:
        """Look at a read of `value` by `frame`; `unused` are left of the last look's tickets."""
        if self._way is not None:
            self._way.left = min(self._way.left, unused)
            self._way = None
        if len(front.reads.log) >= BATCH:  # what the long way reports to adds it up
            return _Found()
        blocker = self._judge(value)
        site = blocker and blocker.cache.get((id(frame.f_code), frame.f_lasti))
        way = site.way if site else None
        if not site or way is None or way.flat is None or running_loop() is not None:
            return _Found()  # what is deeper in a library is compared by the long way
        if not way.leads_to(frame):
            return _Found()
        self._way = way
        by_type = self._adapter.has_one_device()
        told = type(value) if by_type else blocker
        place = told, frame.f_lasti, frame.f_code, *way.flat
        return _Found(place, site, 1 + way.left, by_type, site.blocker.stand_in)

    def gave_itself(self, value: Any, frame: FrameType, held: int) -> None:
        """Note that a value which stands in for a device's is its own copy on the host."""
        self._adapter.copies.add(value, frame, held - self._fresh)

    def failed(self, error: Exception) -> None:
        """Note a fault of asyncguard's own."""
        hub.fail(self._name, error)
