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
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime import torch_private as private
from asyncguard.runtime import watch
from asyncguard.runtime.hub import hub
from asyncguard.runtime.outside import Counts, Outside, blocker_of, main_frame

UNATTRIBUTED = "unattributed"
ADVICE = "Find what waits here; if it is a public API, the catalogue lacks it."
REGISTRIES = (
    "StreamSynchronizationCallbacks",
    "EventSynchronizationCallbacks",
    "DeviceSynchronizationCallbacks",
)


class CrossCheck(Outside):
    """Listens to torch's GPU trace between `start` and `stop`, and as a `hub.Sink` to the hooks."""

    def __init__(self, counts: Counts, clock: Callable[[], int]) -> None:
        super().__init__(counts)
        self._clock = clock
        self._callback_lists: list[list[Any]] = []
        self._why_not = "torch was not imported"
        self._watcher = watch.Watcher(lambda name: self._listen())
        self._blocker = blocker_of(UNATTRIBUTED, ADVICE)

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
        self.finish()

    def _fired(self, *_: int) -> None:
        """torch is about to wait; called in the thread that will."""
        try:
            now = self._clock()
            self.seen(self._blocker.site(_user(sys._getframe(1))), now, now)
        except Exception as error:  # noqa: BLE001  torch's own call must go on
            hub.fail("torch's GPU trace", error)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the agreement, or with the reason why nothing was checked."""
        if self._why_not:
            note = f"No cross-check: {self._why_not}."
            return replace(record, notes=(*record.notes, note))
        found = {"attributed": self.inside, "unattributed": self.outside}
        notes = record.notes
        if self.outside:
            notes = (
                *notes,
                f"torch waited {self.outside} times at places that asyncguard does not know"
                f' (api "{UNATTRIBUTED}"); how long is not known, and they show no stall.',
            )
        return replace(record, notes=notes, extra={**record.extra, "cross_check": found})


def _user(frame: FrameType) -> FrameType:
    """The frame that waits; where a thread runs no Python but torch's callback, the main one's."""
    return frame if frame.f_back is not None else main_frame() or frame
