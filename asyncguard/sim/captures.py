"""Captures under way: what is recorded of which streams, and what a capture forbids.

On CUDA a capturing stream runs nothing. What is handed to it becomes a node of a graph, which
follows the node before it and the events that the stream waits for; a stream that waits for an
event of a capture takes part in it from there on. A call that a capture forbids raises and breaks
the capture, which says so again with the next operation and where it ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import torch

from asyncguard.places import place_of
from asyncguard.runtime.shells import named
from asyncguard.timeline.virtual import Stream

MODES = ("global", "thread_local", "relaxed")
UNSUPPORTED = 900, "operation not permitted when stream is capturing"
INVALIDATED = 901, "operation failed due to a previous error during capture"
UNJOINED = 904, "capturing stream has unjoined work"
ISOLATION = 905, "dependency created on uncaptured work in another stream"
IMPLICIT = 906, "operation would make the legacy stream depend on a capturing blocking stream"
CAPTURED_EVENT = 907, "operation not permitted on an event last recorded in a capturing stream"
_NAMES = {
    900: "cudaErrorStreamCaptureUnsupported", 901: "cudaErrorStreamCaptureInvalidated",
    904: "cudaErrorStreamCaptureUnjoined", 905: "cudaErrorStreamCaptureIsolation",
    906: "cudaErrorStreamCaptureImplicit", 907: "cudaErrorCapturedEvent",
}  # fmt: skip
_Base: Any = getattr(torch, "AcceleratorError", RuntimeError)  # since torch 2.8
_OURS = ("torch.", "asyncguard.", "contextlib")
Kind = tuple[int, str]  # of an error: CUDA's number, and its words


class CaptureError(_Base):  # type: ignore[misc]
    """What CUDA says of a call that a capture forbids; `error_code` is its number for it."""

    error_code = 0


class Capture:
    """One capture: its nodes, when each can be done, and which the streams in it stand behind.

    origin:    the stream that it began on.
    began:     "path:line" of the program's code.
    recording: what the nodes compute; see `recording`.
    """

    def __init__(self, origin: Stream, mode: str, began: str, recording: Any) -> None:
        self.origin = origin
        self.mode = mode
        self.began = began
        self.recording = recording
        self.thread = threading.get_ident()
        self.broken = ""  # why it has failed
        self.release: Callable[[], object] = int  # to be called when it is over
        self._ends: list[int] = []  # of the nodes, in ns from the start of the graph
        self._after: list[frozenset[int]] = []  # the nodes that each follows
        self._heads: dict[Stream, frozenset[int]] = {origin: frozenset()}

    def holds(self, stream: Stream) -> bool:
        """Whether the stream takes part."""
        return stream in self._heads

    def add(self, stream: Stream, duration: int) -> None:
        """A node that takes `duration` ns is handed to a stream of the capture."""
        self.check()
        after = self._heads[stream]
        begin = max((self._ends[node] for node in after), default=0)
        self._heads[stream] = frozenset({len(self._ends)})
        self._ends.append(begin + duration)
        self._after.append(after)

    def heads(self, stream: Stream) -> frozenset[int]:
        """The nodes that what is handed to the stream next will follow."""
        return self._heads[stream]

    def join(self, stream: Stream, heads: frozenset[int]) -> None:
        """Let what is handed to a stream follow these nodes; it takes part from now on."""
        self._heads[stream] = self._heads.get(stream, frozenset()) | heads

    def check(self) -> None:
        """Raise what CUDA raises within a capture that has failed."""
        if self.broken:
            raise error(INVALIDATED, self.broken)

    def fail(self, kind: Kind, what: str) -> CaptureError:
        """Break the capture; returns the error to raise for it."""
        told = f"{what}, in the capture that began at {self.began}"
        self.broken = self.broken or told
        return error(kind, told)

    @property
    def is_joined(self) -> bool:
        """Whether all nodes lie before where the first stream stands."""
        found, ahead = set(self._heads[self.origin]), list(self._heads[self.origin])
        while ahead:
            new = self._after[ahead.pop()] - found
            found |= new
            ahead += new
        return len(found) == len(self._ends)

    @property
    def nodes(self) -> int:
        """How many nodes it has."""
        return len(self._ends)

    @property
    def duration(self) -> int:
        """What the graph takes on an idle device, in ns: its longest path."""
        return max(self._ends, default=0)


class Captures:
    """All captures under way in the process."""

    def __init__(self) -> None:
        self.under_way: tuple[Capture, ...] = ()

    def of(self, stream: Stream) -> Capture | None:
        """The capture that a stream takes part in."""
        return next((each for each in self.under_way if each.holds(stream)), None)

    def forbid(self, what: str) -> None:
        """A call that is unsafe beside captures: it raises, as their modes say."""
        here = threading.get_ident()
        for each in self.under_way:
            if each.mode == "global" or (each.mode == "thread_local" and each.thread == here):
                raise each.fail(UNSUPPORTED, what)

    def forbid_on(self, stream: Stream, what: str) -> None:
        """A call that no capture allows on its streams."""
        capture = self.of(stream)
        if capture is not None:
            raise capture.fail(UNSUPPORTED, what)

    def forbid_on_device(self, device: int, what: str) -> None:
        """A call that no capture allows on its device."""
        for each in self.under_way:
            if each.origin.device == device:
                raise each.fail(UNSUPPORTED, what)


class Mark(NamedTuple):
    """Where a capture has recorded an event."""

    capture: Capture
    heads: frozenset[int]


def mark(stream: Stream) -> Mark | None:
    """An event is recorded in a stream: where, if that captures."""
    capture = captures.of(stream)
    return None if capture is None else Mark(capture, capture.heads(stream))


def follow(stream: Stream, event: Mark | None, recorded: bool) -> bool:
    """A stream is to wait for an event: whether that is a matter of a capture, which it joins.

    event: where a capture has recorded it; recorded: whether anything else has.
    """
    capture = captures.of(stream)
    if event is None:
        if capture is not None and recorded:
            raise capture.fail(ISOLATION, "a captured stream waits for one that is not")
        return capture is not None
    if event.capture not in captures.under_way:
        raise error(CAPTURED_EVENT, f"a capture at {event.capture.began}, now over, recorded it")
    if not stream.number:
        raise event.capture.fail(IMPLICIT, "the default stream waits for a captured one")
    if capture is not None and capture is not event.capture:
        raise capture.fail(ISOLATION, "a captured stream waits for another capture")
    event.capture.join(stream, event.heads)
    return True


def forbid_query(event: Mark | None, what: str) -> None:
    """An event is asked, or waited for: no capture may have recorded it, nor any be near."""
    if event is not None:
        raise event.capture.fail(CAPTURED_EVENT, what)
    captures.forbid(what)


def error(kind: Kind, what: str) -> CaptureError:
    """CUDA's error, with what the simulation knows of its cause."""
    code, words = kind
    made = CaptureError(f"CUDA error: {words} ({_NAMES[code]})\n(asyncguard simulates it: {what})")
    made.error_code = code
    return made


def caller() -> str:
    """The "path:line" of the program's own code that has called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return "?" if frame is None else place_of(named(frame.f_code.co_filename), frame.f_lineno)


captures = Captures()
