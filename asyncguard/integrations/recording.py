"""What the trainers' callbacks have in common: a trace that begins and ends with the training.

Knows no trainer. A callback calls `begin`, `end_step` and `finish` where its trainer says so, and
hands `rates()` to its trainer's logger.
"""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from asyncguard.api import Trace, trace
from asyncguard.runtime import ranks, store
from asyncguard.runtime.figures import Totals

SYNCS = "asyncguard/sync_points_per_step"
STALL = "asyncguard/cpu_stall_ms_per_step"
NOTHING = Totals(0, 0, 0)

R = TypeVar("R", bound="Recording")


def rates(now: Totals, before: Totals) -> dict[str, float]:
    """Sync points and milliseconds of CPU stall a step between two snapshots; {} without steps."""
    if now.steps < before.steps:  # the user marked a step: the trace began to count anew
        before = NOTHING
    steps = now.steps - before.steps
    if steps <= 0:
        return {}
    return {
        SYNCS: (now.syncs - before.syncs) / steps,
        STALL: (now.cpu_stall_ns - before.cpu_stall_ns) / steps / 1e6,
    }


class Recording:
    """Records one training at a time; the base of every callback.

    path: where the trace goes when the training ends; of several ranks each writes its own
    (`trace.rank3.json`). None: nowhere, it stays in `trace`. The options are those of
    `asyncguard.trace`. As a context manager it finishes whatever happens inside.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        super().__init__()
        self._path = None if path is None else Path(path)
        self._options = options
        self._seat: ranks.Seat | None = None
        self._logged = NOTHING
        self._recording = False
        self._trace: Trace | None = None

    @property
    def trace(self) -> Trace | None:
        """The trace of the training that runs or ran last; None before the first."""
        return self._trace

    def begin(self, seat: ranks.Seat | None = None) -> None:
        """The training begins; `seat`: which rank this is, where the environment does not say.

        A training that an exception ended without anybody telling us is finished first.
        """
        self.finish()
        self._seat = seat if seat is not None and seat.world_size > 1 else ranks.seat()
        self._logged = NOTHING
        self._trace = trace(**self._options)
        self._trace.__enter__()
        self._recording = True
        atexit.register(self.finish)

    def end_step(self) -> None:
        """An optimizer step and what belongs to it are over."""
        if self._recording and self._trace is not None:
            self._trace.step()

    def finish(self) -> None:
        """Stop recording and save; does nothing where nothing is being recorded."""
        if not self._recording or self._trace is None:
            return
        self._recording = False
        atexit.unregister(self.finish)
        self._trace.__exit__(None, None, None)
        if self._path is not None:
            record = ranks.seated(self._trace.record, self._seat)
            store.save(record, ranks.own_path(self._path, self._seat))

    def rates(self) -> dict[str, float]:
        """The figures a step since the last call, by name; {} where no step has ended since."""
        if self._trace is None:
            return {}
        now = self._trace.totals()
        found = rates(now, self._logged)
        if found:
            self._logged = now
        return found

    def __enter__(self: R) -> R:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish()
