"""What hooks report to: the base of all listeners, and any number of them as one.

A call that waits is reported by `begin` and `end`, or `cancel` where it proved to wait for nothing,
or raised. Some calls do work of their own around the reads that wait in them (`GradScaler.step`
updates the parameters, `torch.save` writes a file). Such a call is *composite*: it is reported by
`enter` and `leave`, and each read inside by `begin` and `part`. Any other function of Python's is
reported by `begin`, and by `leave` where reads were seen inside, else by `end`. So is a call of
which only its result shows whether it waited; where it has not, by `cancel`, and by `apart` what
was seen inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from asyncguard.runtime.sites import Site


class Event(NamedTuple):
    """One event of a timeline, as `TimelineEvent`, on the listeners' clock; waits have a site."""

    kind: str
    name: str
    begin: int
    end: int
    thread: str = ""
    serial: int | None = None
    nbytes: int | None = None
    site: Site | None = None


class Sink:
    """A listener that minds nothing; each overrides what it wants to know.

    Called in the threads that wait: what `begin` and `enter` return is handed to the call that
    follows them in the same thread.
    """

    def begin(self) -> Any:
        """Called right before a call that may wait."""

    def end(self, site: Site, began: Any) -> None:
        """Called right after the wait."""

    def cancel(self, began: Any) -> None:
        """The call was no wait after all, or raised."""

    def enter(self) -> Any:
        """Called right before a composite call."""

    def part(self, site: Site, began: Any) -> Any:
        """A read inside a composite call at `site` is over; `leave` is given what it returns."""

    def leave(self, site: Site, entered: Any, parts: Sequence[Any]) -> None:
        """A composite call is over. Without `parts` nothing inside was seen to wait."""

    def apart(self, site: Site, part: Any) -> None:
        """The call around what `part` stands for has not waited: a wait of its own, at `site`."""

    def waited(self, site: Site, begin: int, end: int) -> None:
        """A framework that keeps time itself reports a wait."""

    def idled(self, site: Site, begin: int, end: int) -> None:
        """A wait left the device without work; reported once that is over."""

    def event(self, event: Event) -> None:
        """Something for the timeline: an operation was enqueued or ran."""


class Several(Sink):
    """Any number of listeners at once but one: each measures on its own clock."""

    def __init__(self, sinks: tuple[Sink, ...]) -> None:
        self._sinks = sinks

    def begin(self) -> Any:
        return [sink.begin() for sink in self._sinks]

    def end(self, site: Site, began: Any) -> None:
        for sink, start in zip(self._sinks, began, strict=True):
            sink.end(site, start)

    def cancel(self, began: Any) -> None:
        for sink, start in zip(self._sinks, began, strict=True):
            sink.cancel(start)

    def enter(self) -> Any:
        return [sink.enter() for sink in self._sinks]

    def part(self, site: Site, began: Any) -> Any:
        return [sink.part(site, start) for sink, start in zip(self._sinks, began, strict=True)]

    def leave(self, site: Site, entered: Any, parts: Sequence[Any]) -> None:
        for at, (sink, start) in enumerate(zip(self._sinks, entered, strict=True)):
            sink.leave(site, start, [part[at] for part in parts])

    def apart(self, site: Site, part: Any) -> None:
        for sink, own in zip(self._sinks, part, strict=True):
            sink.apart(site, own)

    def waited(self, site: Site, begin: int, end: int) -> None:
        for sink in self._sinks:
            sink.waited(site, begin, end)

    def idled(self, site: Site, begin: int, end: int) -> None:
        for sink in self._sinks:
            sink.idled(site, begin, end)

    def event(self, event: Event) -> None:
        for sink in self._sinks:
            sink.event(event)
