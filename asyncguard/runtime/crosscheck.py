"""The cross-check: does torch itself see waits that the catalogue does not name?

torch's GPU trace calls back before each wait for a stream, an event or the device, blocking copies
included: all that `torch.cuda.set_sync_debug_mode` warns of, and the explicit waits that it
leaves out. So the debug mode is left as the user has set it. What fires inside a named sync point
agrees with the catalogue, if a site is charged for it: hooks that judge by the result may find
afterwards that the call was none (`x.to(dtype)`). The rest is reported as api "unattributed", with
its stack; how long those waits took is not known, as the call comes before the wait.

torch cannot switch its GPU trace off again: callbacks are taken away, and the rest of the process
pays a look at an empty list for each CUDA event.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, Protocol

from asyncguard import catalogue
from asyncguard.model import SyncKind, TraceRecord
from asyncguard.runtime import torch_private as private
from asyncguard.runtime import watch
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Blocker, Site

UNATTRIBUTED = "unattributed"
REGISTRIES = (
    "StreamSynchronizationCallbacks",
    "EventSynchronizationCallbacks",
    "DeviceSynchronizationCallbacks",
)


Fired = tuple["Site | None", int]  # where torch waited, and when


class Counts(Protocol):
    """Who takes the waits: the session's recorder."""

    def waited(self, site: Site, begin: int, end: int) -> None:
        """A wait was found."""


class CrossCheck(Sink):
    """Listens to torch's GPU trace between `start` and `stop`, and as a `hub.Sink` to the hooks."""

    def __init__(self, counts: Counts, clock: Callable[[], int]) -> None:
        self._counts = counts
        self._clock = clock
        self._callback_lists: list[list[Any]] = []
        self._why_not = "torch was not imported"
        self._watcher = watch.Watcher(lambda name: self._listen())
        self._lock = threading.Lock()
        # By thread: what fired within each of the calls that are being timed, the innermost last.
        self._fired_within: dict[int, list[list[Fired]]] = {}
        self._attributed = self._unattributed = 0
        self._blocker = _blocker()

    def start(self) -> None:
        """Register the callbacks, now or once torch is imported."""
        if "torch" in sys.modules:
            self._listen()
        else:
            self._watcher.watch(frozenset({"torch"}))

    def _listen(self) -> None:
        self._watcher.watch(frozenset())
        try:
            trace = private.activate_gpu_trace(sys.modules["torch"])
            lists = [getattr(trace, name).callback_list for name in REGISTRIES]
        except (AttributeError, ImportError) as error:
            self._why_not = f"this torch has no GPU trace ({error})"
            return
        for callbacks in lists:
            callbacks.append(self._fired)
        self._callback_lists = lists
        self._why_not = ""

    def stop(self) -> None:
        """Take the callbacks away."""
        self._watcher.watch(frozenset())
        while self._callback_lists:
            self._callback_lists.pop().remove(self._fired)
        # What another thread is in the middle of is left open.
        for fired in self._fired_within.pop(threading.get_ident(), ()):
            self._unexplained(fired)
        self._fired_within.clear()

    def begin(self) -> None:
        """A hook begins to time a call that may wait."""
        self._fired_within.setdefault(threading.get_ident(), []).append([])

    enter = begin

    def end(self, site: Site, began: None) -> None:
        """The call has waited, and `site` is charged for it."""
        fired = self._last()
        with self._lock:
            self._attributed += len(fired)

    part = end

    def leave(self, site: Site, entered: None, parts: Sequence[None]) -> None:
        """What fired beside the reads inside is the composite call's, too."""
        self.end(site, entered)

    def cancel(self, began: None) -> None:
        """The call was charged to no site; a read inside a composite call is that one's."""
        fired = self._last()
        if around := self._fired_within.get(threading.get_ident()):
            around[-1] += fired
        else:
            self._unexplained(fired)

    def _last(self) -> list[Fired]:
        """What fired within the call that this thread began to time last."""
        open_calls = self._fired_within.get(threading.get_ident())
        return open_calls.pop() if open_calls else []

    def _unexplained(self, fired: Iterable[Fired]) -> None:
        for site, when in fired:
            self._report(site, when)

    def _fired(self, *_: int) -> None:
        """torch is about to wait; called in the thread that will."""
        try:
            site, now = self._blocker.site(_user(sys._getframe(1))), self._clock()
            if not state.doing.waiting:
                self._report(site, now)
            # Else a hook times the call, or it is asyncguard itself that waits.
            elif open_calls := self._fired_within.get(threading.get_ident()):
                open_calls[-1].append((site, now))
        except Exception as error:  # noqa: BLE001  torch's own call must go on
            hub.fail("torch's GPU trace", error)

    def _report(self, site: Site | None, when: int) -> None:
        if site is not None:
            with self._lock:
                self._unattributed += 1
            self._counts.waited(site, when, when)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the agreement, or with the reason why nothing was checked."""
        if self._why_not:
            note = f"No cross-check: {self._why_not}."
            return replace(record, notes=(*record.notes, note))
        found = {"attributed": self._attributed, "unattributed": self._unattributed}
        notes = record.notes
        if self._unattributed:
            notes = (
                *notes,
                f"torch waited {self._unattributed} times at places that asyncguard does not know"
                f' (api "{UNATTRIBUTED}"); how long is not known, and they show no stall.',
            )
        return replace(record, notes=notes, extra={**record.extra, "cross_check": found})


def _blocker() -> Blocker:
    """Stands for whatever it is that waits, on the device that torch uses."""
    points = catalogue.load().frameworks["torch"].sync
    like = next(point for point in points if point.kind is SyncKind.BARRIER)
    advice = "Find what waits here; if it is a public API, the catalogue lacks it."
    return Blocker(like._replace(id=UNATTRIBUTED, advice=advice), "cuda", stand_in=False)


def _user(frame: FrameType) -> FrameType:
    """The frame that waits; in a thread that runs no Python but torch's callback, the main one's.

    The backward pass runs in such threads of torch's own, while the thread that called it waits.
    """
    if frame.f_back is not None:
        return frame
    return sys._current_frames().get(threading.main_thread().ident or 0, frame)
