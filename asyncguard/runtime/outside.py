"""Waits that somebody else saw: which of them are those of hooks, and which lie outside.

What is seen inside a named sync point agrees with the catalogue, if a site is charged for it: hooks
that judge by the result may find afterwards that the call was none (`x.to(dtype)`). The rest goes
to the recorder as it was seen.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import NamedTuple, Protocol

from asyncguard import catalogue
from asyncguard.model import SyncKind
from asyncguard.runtime.hub import state
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Blocker, Site


class Seen(NamedTuple):
    """A wait, by somebody else's account; of no length where that is not known."""

    site: Site | None
    begin: int
    end: int


class Counts(Protocol):
    """Who takes the waits: the session's recorder."""

    def waited(self, site: Site, begin: int, end: int) -> None:
        """A wait was found."""


class Outside(Sink):
    """Listens to the hooks as a `hub.Sink`, and takes what was `seen` outside of them for waits."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._lock = threading.Lock()
        # By thread: what was seen within each of the calls that are being timed, the innermost last
        self._seen_within: dict[int, list[list[Seen]]] = {}
        self.inside = self.outside = 0

    def seen(self, site: Site | None, begin: int, end: int) -> None:
        """The calling thread waits, or has waited."""
        found = Seen(site, begin, end)
        if not state.doing.waiting:
            self._report(found)
        # Else a hook times the call, or it is asyncguard itself that waits.
        elif open_calls := self._seen_within.get(threading.get_ident()):
            open_calls[-1].append(found)

    def finish(self) -> None:
        """Nothing more is told: what this thread was in the middle of is left over."""
        for seen in self._seen_within.pop(threading.get_ident(), ()):
            self._unexplained(seen)
        # What another thread is in the middle of is left open.
        self._seen_within.clear()

    def begin(self) -> None:
        """A hook begins to time a call that may wait."""
        self._seen_within.setdefault(threading.get_ident(), []).append([])

    enter = begin

    def end(self, site: Site, began: None) -> None:
        """The call has waited, and `site` is charged for it."""
        seen = self._last()
        with self._lock:
            self.inside += len(seen)

    part = end

    def leave(self, site: Site, entered: None, parts: Sequence[None]) -> None:
        """What was seen beside the reads inside is the composite call's, too."""
        self.end(site, entered)

    def cancel(self, began: None) -> None:
        """The call was charged to no site; a read inside a composite call is that one's."""
        seen = self._last()
        if around := self._seen_within.get(threading.get_ident()):
            around[-1] += seen
        else:
            self._unexplained(seen)

    def _last(self) -> list[Seen]:
        """What was seen within the call that this thread began to time last."""
        open_calls = self._seen_within.get(threading.get_ident())
        return open_calls.pop() if open_calls else []

    def _unexplained(self, seen: Iterable[Seen]) -> None:
        for each in seen:
            self._report(each)

    def _report(self, seen: Seen) -> None:
        if seen.site is not None:
            with self._lock:
                self.outside += 1
            self._counts.waited(seen.site, seen.begin, seen.end)


def blocker_of(api: str, advice: str, kind: SyncKind = SyncKind.BARRIER) -> Blocker:
    """Stands for what waits without an entry in the catalogue, on the device that torch uses."""
    points = catalogue.load().frameworks["torch"].sync
    like = next(point for point in points if point.kind is SyncKind.BARRIER)
    return Blocker(like._replace(id=api, kind=kind, advice=advice), "cuda", stand_in=False)


def main_frame() -> FrameType | None:
    """What the main thread is doing: it is charged with the waits of threads without Python.

    The backward pass runs in such threads of torch's own, while the thread that called it waits.
    """
    return sys._current_frames().get(threading.main_thread().ident or 0)
