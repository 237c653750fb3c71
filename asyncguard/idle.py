"""Who pays for the time in which a device has no work: the rule, fed with what happens in order.

A device is *dry* from the moment at which the last operation that had been enqueued ends, up to the
start of the next one. A dry spell is charged to a wait: by the reference engine as it happens, by
timelines and the simulated device in the order in which it happened.

* Where a wait was in progress when the device ran dry, it pays for the whole spell: the host was
  held up, so nobody could enqueue the next operation. Of several waits the youngest pays.
* Where the device was dry before the wait began, the host was slow for reasons of its own: the
  wait pays for the time that it lasted, no more.
* A wait that begins within the spell relieves the one that paid so far, unless the next operation
  is enqueued by then. So each idle instant of a device is charged to at most one wait.
* What nobody waited for is nobody's, and so is the time before a device's first operation. After
  its last one a wait pays until it returns, or until another one relieves it.

Gaps between operations that had all been enqueued belong to the device, not to the host, and are
not charged.
"""

from __future__ import annotations

import sys
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

ENDLESS = sys.maxsize  # the end of a wait that is in progress


class Blocked(Protocol):
    """A wait: from when to when the host was blocked (ns); ENDLESS while it still is."""

    @property
    def begin(self) -> int: ...

    @property
    def end(self) -> int: ...


W = TypeVar("W", bound=Blocked)


class Wait(NamedTuple):
    """The host was blocked from `begin` to `end` (ns); `owner` (a site) is handed through."""

    begin: int
    end: int
    owner: Any = None


class Bubble(NamedTuple):
    """`device` was idle from `begin` to `end` (ns), for no time perhaps, on account of `wait`."""

    wait: Any  # the `Blocked` that the meter was told of
    device: int
    begin: int
    end: int

    def __bool__(self) -> bool:
        """Whether it comes to anything."""
        return self.end > self.begin


class DryMeter(Generic[W]):
    """Charges the dry spells of one device. Each method but `ran_dry` and `refilled` returns the
    spell that it settles, if there is one; it may come to nothing.
    """

    def __init__(self, device: int = 0) -> None:
        self._device = device
        self._dry = False  # nothing runs, and nothing is enqueued
        self._waits: list[W] = []  # in progress, the youngest last
        self._payer: W | None = None  # who is charged for the present spell
        self._since = 0  # up to where the payer has been charged
        self._until_return = False  # the payer owes no more than the wait itself

    def ran_dry(self, at: int, enqueued: int) -> None:
        """The last operation that had been enqueued ended, and had been there since `enqueued`.

        It pays whose wait was in progress; by another clock than the device's, also a wait that is
        over, where it can have waited for that operation.
        """
        self._dry = True
        moment = min(at, enqueued)
        payer = next((wait for wait in reversed(self._waits) if moment <= wait.end), None)
        if payer is not None:
            self._charge(payer, at, until_return=False)

    def refilled(self) -> None:
        """An operation was enqueued; the spell lasts until it starts."""
        self._dry = False

    def started(self, at: int) -> Bubble | None:
        """An operation starts."""
        return self._settle(at)

    def wait_began(self, wait: W) -> Bubble | None:
        """A wait begins."""
        relieved = None
        if self._dry:
            relieved = self._settle(wait.begin)
            self._charge(wait, wait.begin, until_return=True)
        self._waits.append(wait)
        return relieved

    def wait_ended(self, wait: W) -> Bubble | None:
        """A wait is over."""
        self._waits.remove(wait)
        return self._settle(wait.end) if self._payer is wait and self._until_return else None

    def close(self) -> Bubble | None:
        """Nothing follows: a device without more work is idle for no longer than the wait."""
        if self._payer is None:
            return None
        end = self._payer.end
        return self._settle(self._since if end == ENDLESS else max(self._since, end))

    def owes(self, wait: W) -> bool:
        """Whether it is not known yet for how long a wait pays."""
        return self._payer is wait

    def _charge(self, payer: W, since: int, until_return: bool) -> None:
        self._payer, self._since, self._until_return = payer, since, until_return

    def _settle(self, now: int) -> Bubble | None:
        payer, self._payer = self._payer, None
        if payer is None:
            return None
        end = min(now, payer.end) if self._until_return else now
        return Bubble(payer, self._device, self._since, max(end, self._since))
