"""The simulated device that is in use, for who records beside it: its clock and what it has to say.

`asyncguard.sim` sets it. While it is set, sessions run on its virtual clock.
"""

from __future__ import annotations

from typing import Protocol

from asyncguard.model import TraceRecord

MARK = " (simulated)"  # behind the device's name, in every record


class Model(Protocol):
    """A simulated device."""

    def now(self) -> int:
        """The host's virtual time in ns."""

    def settle(self) -> None:
        """A trace ends: tell the sinks of the idle time of the waits so far."""

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying which of its figures are modelled."""


class Present:
    """Which model is in use, if any."""

    def __init__(self) -> None:
        self.model: Model | None = None


present = Present()
