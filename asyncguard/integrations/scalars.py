"""Sync points and CPU stall a step as scalars, written while the program runs.

    with asyncguard.trace() as trace, ScalarExport(trace, SummaryWriter(), every=100):
        train()

The target is anything with `add_scalar(name, value, step)` (TensorBoard's SummaryWriter), or a
function that takes a dictionary and `step=` (`wandb.log`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from asyncguard.api import Trace
from asyncguard.integrations.recording import NOTHING, rates
from asyncguard.runtime.hub import hub

Write = Callable[[dict[str, float], int], None]


class ScalarExport:
    """While entered, writes the figures of a running trace every `every` steps, and at the end.

    The steps are those that the trace counts. A target that raises is logged once and written to
    no more. Raises TypeError for a target that is neither a writer nor a function, ValueError for
    `every` below 1.
    """

    def __init__(self, trace: Trace, target: Any, every: int = 50) -> None:
        if every < 1:
            raise ValueError(f"every must be 1 or more steps, not {every!r}")
        self._trace = trace
        self._write = _writing(target)
        self._every = every
        self._marks = 0
        self._written = NOTHING
        self._failed = False

    def __enter__(self) -> ScalarExport:
        self._written = self._trace.totals()
        hub.add_marked(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        hub.remove_marked(self)
        self._export(at_least=1)

    def mark(self, source: object | None) -> None:
        """Somebody marked a step. Most of the time all there is to do is to count."""
        self._marks += 1
        if self._marks >= self._every:
            self._export(at_least=self._every)

    def _export(self, at_least: int) -> None:
        now = self._trace.totals()
        if now.steps < self._written.steps:  # the user marked a step: it began to count anew
            self._written = NOTHING
        steps = now.steps - self._written.steps
        if self._failed or steps < at_least:
            self._marks = max(steps, 0)  # of several optimizers only one ends a step
            return
        figures = rates(now, self._written)
        self._marks, self._written = 0, now
        try:
            self._write(figures, now.steps)
        except Exception as error:  # noqa: BLE001  the user's training must go on
            self._failed = True
            hub.fail("the export of scalars", error)


def _writing(target: Any) -> Write:
    if hasattr(target, "add_scalar"):

        def write(figures: dict[str, float], step: int) -> None:
            for name, value in figures.items():
                target.add_scalar(name, value, step)

        return write
    if callable(target):
        return lambda figures, step: target(figures, step=step)
    raise TypeError(f"{target!r} has no add_scalar and cannot be called")
