"""Host memory that copies go beside the program from or to, and which of them may be in flight.

A copy that was told not to block does so all the same where the host's memory is not pinned, or not
one block (`Memory`). One that does not block is in flight until an event behind it, its stream or
its device was waited for (`InFlight`): a semilattice of its own, whose `joined` merges what two
control-flow paths know. What is not known says nothing: no memory, no race.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

PAGEABLE, GAPPED, UNPINNED = "pageable", "gapped", "unpinned destination"
MAYBE = "pageable, if there is enough of it"
WHOLE, PREFIX = "", ":"  # parts of a block: all of it, and what begins where it begins


class Made(NamedTuple):
    """What tells allocations, copies, events and streams apart: where the call stands."""

    path: str
    place: tuple[int, int, int, int]  # line, column, end line, end column


class Layout(enum.IntEnum):
    """How the elements of an array stand in its memory."""

    DENSE = 0
    TRANSPOSED = 1  # without gaps, in another order
    GAPPED = 2
    UNKNOWN = 3


class Size(enum.IntEnum):
    """Whether an array's numbers fit in the 64 KiB of which CUDA takes a copy at once."""

    FEW = 0
    UNKNOWN = 1
    MANY = 2


class Memory(NamedTuple):
    """What is known of the host memory of an array."""

    pinned: bool | None = None
    layout: Layout = Layout.UNKNOWN
    size: Size = Size.UNKNOWN
    block: Made | None = None  # which allocation it is a part of
    part: str | None = WHOLE  # which part; None where that is not known
    rows: int = 0  # along so many of the first axes there is one of everything

    def upload_held(self, *, keeps_order: bool) -> str:
        """Return why an upload blocks that was told not to; "" if it does not, or may not.

        `keeps_order`: it gives a tensor with its elements in the same order.
        """
        if self.size is Size.FEW or self.pinned is None:
            return ""
        held = self._held(PAGEABLE, keeps_order=keeps_order)
        return MAYBE if held == PAGEABLE and self.size is not Size.MANY else held

    def download_held(self) -> str:
        """Return why a copy from the device into it blocks that was told not to, likewise."""
        return "" if self.pinned is None else self._held(UNPINNED, keeps_order=False)

    def _held(self, unpinned: str, *, keeps_order: bool) -> str:
        if not self.pinned:
            return unpinned
        gaps = self.layout is Layout.GAPPED
        return GAPPED if gaps or (self.layout is Layout.TRANSPOSED and not keeps_order) else ""

    def joined(self, other: Memory) -> Memory | None:
        """Return what two paths know alike; None if that is nothing."""
        same = Memory(
            self.pinned if self.pinned == other.pinned else None,
            self.layout if self.layout == other.layout else Layout.UNKNOWN,
            self.size if self.size == other.size else Size.UNKNOWN,
            self.block if self.block == other.block else None,
            self.part if self.part == other.part else None,
            self.rows if self.rows == other.rows else 0,
        )
        return None if same.pinned is None and same.block is None else same


PAGED = Memory(pinned=False, layout=Layout.DENSE)  # what operations on the host give


def combined(operands: Iterable[Memory]) -> Memory:
    """Return the memory of what an operator makes of arrays: the largest decides on its size."""
    return PAGED._replace(size=max((operand.size for operand in operands), default=Size.UNKNOWN))


class Copy(NamedTuple):
    """An asynchronous copy from or into a part of a block."""

    block: Made
    part: str | None
    fills: bool  # it writes the host's memory
    made: Made  # where it is started

    def meets(self, memory: Memory) -> bool:
        """Whether it is for certain from or into some of this memory."""
        if self.block != memory.block:
            return False
        mine, other = self.part, memory.part
        return WHOLE in (mine, other) or (mine is not None and mine == other)


Stream = str | Made
CURRENT: Stream = ""  # the stream that a function finds
ANY: Stream = "?"  # one that cannot be told from others


class Flight(NamedTuple):
    """A copy in flight, and what it is behind."""

    copy: Copy
    streams: frozenset[Stream]  # one of which is done no sooner than it
    guards: int  # conditions that it is started under


class InFlight(NamedTuple):
    """The copies in flight at one place, and those that events were recorded behind."""

    flights: frozenset[Flight] = frozenset()
    done: frozenset[Copy] = frozenset()  # on one of the paths that lead here
    events: frozenset[tuple[Made, frozenset[Copy]]] = frozenset()

    def started(self, copy: Copy, stream: Stream, guards: int) -> InFlight:
        """Return it with one more copy, which a stream has."""
        others = frozenset(f for f in self.flights if f.copy != copy)
        flight = Flight(copy, frozenset({stream}), guards)
        return self._replace(flights=others | {flight}, done=self.done - {copy})

    def renamed(self, block: Made, older: Made) -> InFlight:
        """Return it with another name for a block, since one was made anew in its place."""

        def change(copy: Copy) -> Copy:
            return copy._replace(block=older) if copy.block == block else copy

        return InFlight(
            frozenset(f._replace(copy=change(f.copy)) for f in self.flights),
            frozenset(map(change, self.done)),
            frozenset((event, frozenset(map(change, behind))) for event, behind in self.events),
        )

    def with_those_of(self, callee: InFlight, current: Stream, guards: int) -> InFlight:
        """Return it with what a function has left in flight that was called on a stream."""
        started = {copy for copy, *_ in callee.flights}
        flights = {f for f in self.flights if f.copy not in started}
        for copy, streams, _ in callee.flights:
            here = frozenset(current if stream == CURRENT else stream for stream in streams)
            flights.add(Flight(copy, here, guards))
        recorded = {event for event, _ in callee.events}
        events = {pair for pair in self.events if pair[0] not in recorded} | callee.events
        return InFlight(frozenset(flights), self.done - started, frozenset(events))

    def after(self, stream: Stream, guards: int) -> InFlight:
        """Return what is in flight once a stream is done; ANY: whichever that was."""
        behind = {f.copy for f in self.flights if stream == ANY or f.streams & {stream, ANY}}
        return self._without(behind, guards)

    def after_event(self, event: Made | None, guards: int) -> InFlight:
        """Return what is in flight once an event is done, which may be recorded out of sight."""
        recorded = dict(self.events)
        if event is None or event not in recorded:
            return self.after(ANY, guards)
        return self._without(recorded[event], guards)

    def _without(self, copies: Iterable[Copy], guards: int) -> InFlight:
        """Return it without copies that are done.

        Where more conditions were met than when one was started, it may be in flight after them;
        else whoever leaves out the wait knows, as a rule, that there is nothing to wait for.
        """
        gone = {f for f in self.flights if f.copy in copies}
        for_good = frozenset(f.copy for f in gone if guards <= f.guards)
        return self._replace(flights=self.flights - gone, done=self.done | for_good)

    def recorded(self, event: Made, stream: Stream) -> InFlight:
        """Return it with an event recorded on a stream, behind all that this has."""
        behind = frozenset(f.copy for f in self.flights if f.streams & {stream, ANY})
        others = frozenset(pair for pair in self.events if pair[0] != event)
        return self._replace(events=others | {(event, behind)})

    def ordered(self, stream: Stream, *, after: Stream | None, event: Made | None) -> InFlight:
        """Return it once a stream waits for another one, or for an event."""
        behind = {f.copy for f in self.flights}
        if after is not None:
            behind = {f.copy for f in self.flights if after == ANY or f.streams & {after, ANY}}
        elif event is not None:
            behind &= dict(self.events).get(event, behind)
        flights = frozenset(
            f._replace(streams=f.streams | {stream}) if f.copy in behind else f
            for f in self.flights
        )
        return self._replace(flights=flights)

    def used(self, memory: Memory, *, writes: bool) -> Copy | None:
        """Return the copy that a use of memory races with, if one does for certain."""
        met = (f.copy for f in self.flights if (writes or f.copy.fills) and f.copy.meets(memory))
        return min(met, default=None, key=lambda copy: (not copy.fills, copy.made))

    def told(self, copy: Copy) -> InFlight:
        """Return it without a copy of which a race was told."""
        return self._replace(flights=frozenset(f for f in self.flights if f.copy != copy))

    def joined(self, other: InFlight) -> InFlight:
        """Return what may be in flight after either of two paths.

        What was waited for on one of them was not on the other, as a rule, because there was
        nothing to wait for.
        """
        if self is other:
            return self
        done = self.done | other.done
        flights: dict[Copy, Flight] = {}
        for flight in (*self.flights, *other.flights):
            known = flights.get(flight.copy, flight)
            streams, guards = known.streams | flight.streams, max(known.guards, flight.guards)
            flights[flight.copy] = Flight(flight.copy, streams, guards)
        events: dict[Made, frozenset[Copy]] = {}
        for event, behind in (*self.events, *other.events):
            events[event] = events.get(event, frozenset()) | behind
        still = frozenset(flight for copy, flight in flights.items() if copy not in done)
        return InFlight(still, done, frozenset(events.items()))


NOTHING = InFlight()


class Race(NamedTuple):
    """A use of host memory that an asynchronous copy may not be done with."""

    copy: Copy
    writes: bool
    node: object  # what uses it, of the tree
    guarded: bool
