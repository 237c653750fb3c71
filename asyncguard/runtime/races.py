"""Races that asynchronous copies make: host memory used while a copy may still read or write it.

What is known to be done follows from waits alone, never from how long anything took:

* A stream's work is done in the order in which it was enqueued.
* An event is reached when all is done that its stream had when it was recorded. What is enqueued
  on a stream that was told to wait for an event comes after it.
* The host knows of what it waited for: an event, a stream, a device; or of an event or a stream
  that it asked, and that said it was done. What is enqueued from then on comes after that.

Threads of the host count as one: how they wait for each other is not seen.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple, Protocol

from asyncguard.model import AsyncguardError
from asyncguard.runtime.frames import charged, line_of, qualname
from asyncguard.runtime.sites import ranks

UNFINISHED, REUSED = "ASG404", "ASG405"
MOST_FOUND = 1_000  # different races that are kept
Stream = Hashable  # of any device; each is one object
Mark = Mapping[Stream, int]  # how many copies of each stream are done when a place is reached


class Order:
    """Which copies are known to be done: to the host, and to what is enqueued on each stream."""

    def __init__(self) -> None:
        self._ends: dict[Stream, int] = {}  # copies enqueued on each stream
        self._streams: dict[Stream, dict[Stream, int]] = {}  # what each stream comes after
        self._host: dict[Stream, int] = {}  # what the host knows

    def enqueue(self, stream: Stream) -> int:
        """A copy is enqueued; return its number, from 1 on each stream."""
        number = self._ends[stream] = self._ends.get(stream, 0) + 1
        return number

    def record(self, stream: Stream) -> Mark:
        """The present end of a stream."""
        return {**self._before(stream), stream: self._ends.get(stream, 0)}

    def follow(self, stream: Stream, mark: Mark) -> None:
        """What is enqueued on `stream` from now on comes after a place."""
        _learn(self._before(stream), mark)

    def wait(self, mark: Mark) -> None:
        """The host knows that a place is reached."""
        _learn(self._host, mark)

    def is_known(self, stream: Stream, number: int, by: Stream | None = None) -> bool:
        """Whether a copy is done before what is enqueued next on `by`; None: before the host's."""
        if self._host.get(stream, 0) >= number:
            return True
        if by is None:
            return False
        return by == stream or self._before(by).get(stream, 0) >= number

    def _before(self, stream: Stream) -> dict[Stream, int]:
        return self._streams.setdefault(stream, {})


class Ordering(Protocol):
    """What knows which copies are done: see `Order`."""

    def enqueue(self, stream: Stream) -> int:
        """A copy is enqueued; return its number."""

    def record(self, stream: Stream) -> Mark:
        """The present end of a stream."""

    def follow(self, stream: Stream, mark: Mark) -> None:
        """What is enqueued on a stream comes after a place."""

    def wait(self, mark: Mark) -> None:
        """The host knows that a place is reached."""

    def is_known(self, stream: Stream, number: int, by: Stream | None = None) -> bool:
        """Whether a copy is done before the host, or a stream, goes on."""


def _learn(known: dict[Stream, int], more: Mark) -> None:
    for stream, number in more.items():
        if known.get(stream, 0) < number:
            known[stream] = number


class Place(NamedTuple):
    """A line of the user's."""

    path: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" + (f" in {self.function}" if self.function else "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"path": self.path, "line": self.line, "function": self.function}

    @classmethod
    def of(cls, frame: FrameType | None) -> Place:
        """The line that a call in `frame` is charged to."""
        user = charged(frame, ranks)
        if user is None:
            return cls("<unknown>", 0)
        return cls(user.f_code.co_filename, line_of(user, ranks), qualname(user.f_code))


class Copy(NamedTuple):
    """A copy in flight, and the bytes of the host's memory that it uses, counted from 0."""

    stream: Stream
    number: int
    low: int
    high: int
    fills: bool  # whether it writes the host's memory, rather than reads it
    name: str
    place: Place


@dataclass(frozen=True)
class Race:
    """A copy, and what uses its host memory while nothing says that it is done.

    code:   ASG404 where the copy fills the memory, ASG405 where it is read and then overwritten.
    use:    "read", "written", "copied from" or "copied into".
    """

    code: str
    copy: str
    copied_at: Place
    use: str
    used_at: Place

    @property
    def message(self) -> str:
        """What happens where, and what to do."""
        if self.code == UNFINISHED:
            told = (
                f"the host tensor is {self.use} while `{self.copy}` may still be filling it: wait"
                " for an event recorded after the copy (or for its stream) first"
            )
        else:
            told = (
                f"the pinned buffer is {self.use} while `{self.copy}` may still be reading it: wait"
                " for an event recorded after the copy first, or take another buffer"
            )
        return f"{self.code} {told}\n  copied at {self.copied_at}\n  {self.use} at {self.used_at}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "code": self.code,
            "copy": self.copy,
            "copied_at": self.copied_at.to_dict(),
            "use": self.use,
            "used_at": self.used_at.to_dict(),
        }


class CopyRace(AsyncguardError, RuntimeError):  # noqa: N818  reads as what is the case
    """The program uses host memory that an asynchronous copy may not be done with."""


@dataclass
class Flight:
    """The copies in flight of one piece of host memory; kept by the memory itself."""

    copies: list[Copy] = field(default_factory=list)


Tell = Callable[[Race], None]


def warn(race: Race) -> None:
    """Warn where the memory is used."""
    warnings.warn_explicit(race.message, RuntimeWarning, race.used_at.path, race.used_at.line)


Touches = Callable[[int, int], bool]  # whether a use has to do with bytes from low up to high


class Races:
    """Keeps the order of copies, and tells of races.

    tell: is called with each race. order: what tells which copies are done.
    """

    def __init__(self, tell: Tell, order: Ordering | None = None) -> None:
        self.order: Ordering = order or Order()
        self.found: dict[Race, int] = {}  # how often each was seen
        self._tell = tell
        self._lock = threading.RLock()

    def copied(
        self, flight: Flight, stream: Stream, low: int, high: int, *, fills: bool, name: str
    ) -> None:
        """A copy that does not hold the host is enqueued; it uses bytes from low up to high."""
        place = Place.of(sys._getframe(1))
        with self._lock:
            self.used(flight, lambda a, b: a < high and low < b, writes=fills, by=stream, name=name)
            copy = Copy(stream, self.order.enqueue(stream), low, high, fills, name, place)
            key = copy[2:5]
            flight.copies = [
                other
                for other in self._pending(flight)
                if other.stream != stream or other[2:5] != key  # which is done before this one
            ]
            flight.copies.append(copy)

    def used(
        self, flight: Flight, touches: Touches, *, writes: bool, by: Stream | None = None,
        name: str = "",
    ) -> None:  # fmt: skip
        """The host (`by` None), or a copy by `name` on a stream, reads or writes memory."""
        with self._lock:
            races = list(self._races(flight, touches, writes=writes, by=by))
            flight.copies = list(self._pending(flight))
        if by is None:
            use = "written" if writes else "read"
        else:
            use = "copied into" if writes else "copied from"
        for copy in races:
            here = Place.of(sys._getframe(1))
            code = UNFINISHED if copy.fills else REUSED
            self._found(Race(code, copy.name, copy.place, use, here))

    def _races(
        self, flight: Flight, touches: Touches, *, writes: bool, by: Stream | None
    ) -> Iterator[Copy]:
        for copy in flight.copies:
            is_done = self.order.is_known(copy.stream, copy.number, by)
            if (writes or copy.fills) and not is_done and touches(copy.low, copy.high):
                yield copy

    def _pending(self, flight: Flight) -> Iterable[Copy]:
        known = self.order.is_known
        return (copy for copy in flight.copies if not known(copy.stream, copy.number))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the races that were found as JSON-ready data."""
        return [{**race.to_dict(), "count": count} for race, count in self.found.items()]

    def _found(self, race: Race) -> None:
        seen = self.found.get(race, 0)
        if seen or len(self.found) < MOST_FOUND:
            self.found[race] = seen + 1
        self._tell(race)


def touches(
    offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], width: int, low: int, high: int
) -> bool:
    """Whether a strided array has a byte from low up to high.

    offset: of its first byte; strides: in bytes, from 0 up; width: bytes of an element.
    """
    if low >= high or 0 in sizes:
        return False
    dims = sorted(
        (stride, size) for stride, size in zip(strides, sizes, strict=True) if size > 1 and stride
    )
    return _touches(offset, dims, width, low, high)


def _touches(offset: int, dims: list[tuple[int, int]], width: int, low: int, high: int) -> bool:
    extent = width + sum(stride * (size - 1) for stride, size in dims)
    if offset >= high or offset + extent <= low:
        return False
    if not dims:
        return True
    (stride, size), inner = dims[-1], dims[:-1]
    within = extent - stride * (size - 1)  # of what lies at one index of the outermost dimension
    first = max(0, -(-(low - within + 1 - offset) // stride))
    last = min(size - 1, (high - 1 - offset) // stride)
    return any(
        _touches(offset + at * stride, inner, width, low, high) for at in range(first, last + 1)
    )
