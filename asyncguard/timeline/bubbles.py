"""Device idle time, and the waits that caused it, from intervals of one clock in any order.

`asyncguard.idle` has the rule. Here the waits and activities of several devices that were measured
are put into the order in which they happened; idle times of several devices add up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from asyncguard.idle import Bubble, DryMeter, Wait

# What happens first at one instant. A wait that begins or ends as the device runs dry was in
# progress then; work that is enqueued as the last operation ends came in time.
BEGIN_WAIT, ENQUEUE, START, END, END_WAIT = range(5)


class Activity(NamedTuple):
    """A device ran something: a kernel, a copy, a memset.

    `enqueued` is when the host had handed it over, None where that is not known: then the idle time
    in front of it is charged to nobody, because it may have been in the queue all along.
    """

    device: int
    begin: int
    end: int
    enqueued: int | None = None


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
        self._meter: DryMeter[Wait] = DryMeter(number)
        self._slack = slack
        self._events: list[_Event] = []
        self._busy_until: int | None = None  # the newest end of what has been admitted
        self._pending = 0  # enqueued and not yet ended

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
            settled = self._ran(event) if event.wait is None else self._waited(event, event.wait)
            if settled:
                yield settled

    def close(self) -> Iterator[Bubble]:
        """Nothing follows."""
        settled = self._meter.close()
        if settled:
            yield settled

    def _ran(self, event: _Event) -> Bubble | None:
        if event.what == START:
            return self._meter.started(event.time)
        if event.what == ENQUEUE:
            self._pending += 1
            self._meter.refilled()
        else:
            self._pending -= 1
            if self._pending == 0:
                self._meter.ran_dry(event.time, event.enqueued)
        return None

    def _waited(self, event: _Event, wait: Wait) -> Bubble | None:
        if event.what == BEGIN_WAIT:
            return self._meter.wait_began(wait)
        return self._meter.wait_ended(wait)
