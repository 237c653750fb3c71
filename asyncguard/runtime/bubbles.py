"""Device idle time, and the waits that caused it: pure functions over intervals of one clock.

A device is *dry* from the moment at which the last operation that had been enqueued ends, up to the
start of the next one. A dry spell is charged to a wait by the rules of the reference engine
(`asyncguard.engine.hooks.IdleMeter`), whose exact figures these functions reproduce:

* Where a wait was in progress when the device ran dry, it pays for the whole spell: the host was
  held up, so nobody could enqueue the next operation. Of several waits the youngest pays.
* Where the device was dry before the wait began, the host was slow for reasons of its own: the
  wait pays for the time that it lasted, no more.
* A wait that begins within the spell relieves the one that paid so far, unless the next operation
  is enqueued by then. So each idle instant of a device is charged to at most one wait.
* What nobody waited for is nobody's, and so is the time before a device's first operation. After
  its last one a wait pays until it returns, or until another one relieves it.

Gaps between operations that had all been enqueued belong to the device, not to the host, and are
not charged. Several devices are told apart; their idle times add up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

# What happens first at one instant. A wait that begins or ends as the device runs dry was in
# progress then; work that is enqueued as the last operation ends came in time.
BEGIN_WAIT, ENQUEUE, START, END, END_WAIT = range(5)


class Wait(NamedTuple):
    """The host was blocked from `begin` to `end`; `owner` (a site) is handed through."""

    begin: int
    end: int
    owner: Any = None


class Activity(NamedTuple):
    """A device ran something: a kernel, a copy, a memset.

    `enqueued` is when the host had handed it over, None where that is not known: then the idle time
    in front of it is charged to nobody, because it may have been in the queue all along.
    """

    device: int
    begin: int
    end: int
    enqueued: int | None = None


class Bubble(NamedTuple):
    """`device` was idle from `begin` to `end` on account of `wait`."""

    wait: Wait
    device: int
    begin: int
    end: int


class _Event(NamedTuple):
    time: int
    what: int
    order: int  # waits that begin at once: in the order in which they were told
    wait: Wait | None
    enqueued: int = 0  # of what ends: since when the device had it for sure


def bubbles(waits: Iterable[Wait], activities: Iterable[Activity], slack: int = 0) -> list[Bubble]:
    """All idle time that the waits caused; see `Sweep` for `slack`."""
    sweep = Sweep(slack)
    sweep.add(waits, activities)
    return sweep.settle()


class Sweep:
    """Takes waits and activities in portions, so that a long run needs little memory.

    slack: by how much the clocks of host and device may differ, in ns: what had been enqueued when
           a wait ended, and ends up to so long after it, is what it waited for and ended within it.
           What was enqueued later cannot be.
    """

    def __init__(self, slack: int = 0) -> None:
        self._slack = slack
        self._waits: list[Wait] = []
        self._activities: list[Activity] = []
        self._devices: dict[int, _Device] = {}
        self._open: list[tuple[int, Wait]] = []  # begun before the horizon, and not ended
        self._order = 0

    def add(self, waits: Iterable[Wait], activities: Iterable[Activity]) -> None:
        """Take in more of both, in any order; what ends before it begins is left out."""
        self._waits += [wait for wait in waits if wait.begin <= wait.end]
        self._activities += [run for run in activities if run.begin <= run.end]

    def __len__(self) -> int:
        return len(self._waits) + len(self._activities)

    def middle(self) -> int:
        """A time that about half of what is held precedes."""
        begins = [wait.begin for wait in self._waits] + [run.begin for run in self._activities]
        return sorted(begins)[len(begins) // 2] if begins else 0

    def settle(self, until: int | None = None) -> list[Bubble]:
        """What is known of the time before `until` (None: of all time, and nothing follows).

        Exact where everything that began or was enqueued before `until` has been added.
        """
        self._admit_activities(until)
        self._admit_waits(until)
        found = [bubble for device in self._devices.values() for bubble in device.advance(until)]
        if until is None:
            found += [bubble for device in self._devices.values() for bubble in device.close()]
        return sorted(found, key=lambda bubble: (bubble.begin, bubble.device))

    def _admit_activities(self, until: int | None) -> None:
        later = []
        for run in sorted(self._activities, key=lambda run: run.begin):
            known_since = run.begin if run.enqueued is None else min(run.enqueued, run.begin)
            if until is not None and known_since >= until:
                later.append(run)
            else:
                self._device(run.device).admit(run)
        self._activities = later

    def _device(self, number: int) -> _Device:
        device = self._devices.get(number)
        if device is None:
            device = self._devices[number] = _Device(number, self._slack)
            for order, wait in self._open:
                device.wait(wait, order)
        return device

    def _admit_waits(self, until: int | None) -> None:
        later = []
        for wait in self._waits:
            if until is not None and wait.begin >= until:
                later.append(wait)
                continue
            self._order += 1
            self._open.append((self._order, wait))
            for device in self._devices.values():
                device.wait(wait, self._order)
        self._waits = later
        if until is not None:
            self._open = [item for item in self._open if item[1].end + self._slack >= until]


class _Device:
    """What one device was doing at the time that the sweep has reached."""

    def __init__(self, number: int, slack: int) -> None:
        self._number = number
        self._slack = slack
        self._events: list[_Event] = []
        self._busy_until: int | None = None  # the newest end of what has been admitted
        self._pending = 0  # enqueued and not yet ended
        self._dry = False
        self._waits: list[Wait] = []  # in progress, the youngest last
        self._payer: Wait | None = None  # who is charged for the present spell
        self._since = 0  # up to where the payer has been charged
        self._until_return = False  # the payer owes no more than the wait itself

    def admit(self, run: Activity) -> None:
        """Take in an activity; those of one device come in the order of their begins."""
        enqueued = run.enqueued
        if enqueued is None:
            enqueued = run.begin if self._busy_until is None else self._busy_until
        self._push(min(enqueued, run.begin), ENQUEUE)
        self._push(run.begin, START)
        known_since = min(run.begin if run.enqueued is None else run.enqueued, run.begin)
        self._push(run.end, END, enqueued=known_since)
        self._busy_until = max(run.end, self._busy_until or run.end)

    def wait(self, wait: Wait, order: int) -> None:
        """Take in a wait."""
        self._push(wait.begin, BEGIN_WAIT, order, wait)
        self._push(wait.end + self._slack, END_WAIT, order, wait)

    def _push(
        self, time: int, what: int, order: int = 0, wait: Wait | None = None, enqueued: int = 0
    ) -> None:
        heapq.heappush(self._events, _Event(time, what, order, wait, enqueued))

    def advance(self, until: int | None) -> Iterator[Bubble]:
        """Go through everything before `until`."""
        while self._events and (until is None or self._events[0].time < until):
            event = heapq.heappop(self._events)
            if event.wait is not None:
                yield from self._waited(event, event.wait)
            else:
                yield from self._ran(event)

    def close(self) -> Iterator[Bubble]:
        """Nothing follows: a device that has no more work is idle for no longer than the wait."""
        if self._payer is not None:
            yield from self._settle(max(self._since, self._payer.end))

    def _ran(self, event: _Event) -> Iterator[Bubble]:
        if event.what == ENQUEUE:
            self._pending += 1
        elif event.what == START:
            self._dry = False
            yield from self._settle(event.time)
        else:
            self._pending -= 1
            self._dry = self._pending == 0
            payer = self._in_progress(event) if self._dry else None
            if payer is not None:
                self._charge(payer, event.time, until_return=False)

    def _in_progress(self, event: _Event) -> Wait | None:
        """The youngest wait within which something ended, by its own clock or by cause."""
        moment = min(event.time, event.enqueued)
        return next((wait for wait in reversed(self._waits) if moment <= wait.end), None)

    def _waited(self, event: _Event, wait: Wait) -> Iterator[Bubble]:
        if event.what == BEGIN_WAIT:
            if self._dry and self._pending == 0:
                yield from self._settle(event.time)
                self._charge(wait, event.time, until_return=True)
            self._waits.append(wait)
        else:
            self._waits.remove(wait)
            if self._payer is wait and self._until_return:
                yield from self._settle(wait.end)

    def _charge(self, payer: Wait, since: int, until_return: bool) -> None:
        self._payer, self._since, self._until_return = payer, since, until_return

    def _settle(self, now: int) -> Iterator[Bubble]:
        payer, self._payer = self._payer, None
        if payer is None:
            return
        end = min(now, payer.end) if self._until_return else now
        if end > self._since:
            yield Bubble(payer, self._number, self._since, end)
