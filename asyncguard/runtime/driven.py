"""Waits that the driver saw: those of hooks, and those outside, in all threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import FrameType

from asyncguard.model import TraceRecord
from asyncguard.runtime.device.calls import DriverCalls, kind_of
from asyncguard.runtime.hub import hub
from asyncguard.runtime.outside import Counts, Outside, blocker_of, main_frame
from asyncguard.runtime.sites import Blocker

ADVICE = "A library or an extension waits here below Python; see its call stack in Nsight Systems."


class Driven(Outside):
    """Counts what the driver tells between `start` and `stop`; a `hub.Sink`.

    A wait outside of hooks is recorded under the name of CUDA's call, with the time that it took
    and the line of Python's. In a thread that runs no Python, as torch's backward pass does, it is
    the line at which the main thread stands meanwhile.
    """

    def __init__(
        self,
        counts: Counts,
        clock: Callable[[], int],
        make: Callable[..., DriverCalls] = DriverCalls,
    ) -> None:
        super().__init__(counts)
        self._calls = make(clock, self._waited)
        self._blockers: dict[str, Blocker] = {}

    def start(self) -> None:
        """Listen to CUPTI. Raises AsyncguardError with the remedy where that cannot be."""
        self._calls.start()

    def stop(self) -> None:
        """Leave CUPTI; a failure of its is a fault of the trace, and no exception."""
        try:
            self._calls.stop()
        except Exception as error:  # noqa: BLE001  the user's program must go on
            hub.fail("CUPTI's callbacks", error)
        self.finish()

    def _waited(self, api: str, frame: FrameType | None, begin: int, end: int) -> None:
        blocker = self._blockers.get(api)
        if blocker is None:
            blocker = self._blockers.setdefault(api, blocker_of(api, ADVICE, kind_of(api)))
        self.seen(blocker.site(frame or main_frame()), begin, end)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying how many waits hooks saw and which lie outside of them."""
        places = [site for site in record.sites if site.api in self._blockers]
        note = (
            f"Seen by the driver: {self.inside + self.outside:,} waits, {self.inside:,} of them by "
            f"hooks and {self.outside:,} outside"
        )
        if places:
            apis = ", ".join(sorted({site.api for site in places}))
            note += f" ({apis} at {len(places):,} of the sites above)"
        found = {"by_hooks": self.inside, "outside": self.outside}
        return replace(
            record, notes=(*record.notes, f"{note}."), extra={**record.extra, "driver": found}
        )
