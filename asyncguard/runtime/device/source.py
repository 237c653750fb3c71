"""What every source of device times has in common.

A source reports, on a clock of its own, what the device ran and when the host had enqueued it.
`asyncguard.runtime.device` picks one, turns its times into the session's, and charges idle time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class Unavailable(Exception):  # noqa: N818  reads as what is the case
    """The source cannot measure here; the message says why."""


class Run(NamedTuple):
    """The device executed a kernel, a copy or a memset; `correlation` names the enqueueing call."""

    device: int
    begin: int
    end: int
    correlation: int
    name: str


class Launch(NamedTuple):
    """The call of the host that enqueued a run."""

    begin: int
    end: int


@dataclass
class Records:
    """What a source has seen since it was last asked; times in ns of its own clock."""

    runs: list[Run] = field(default_factory=list)
    launches: dict[int, Launch] = field(default_factory=dict)  # by correlation
    unfinished: int = 0  # runs whose times are missing

    def __len__(self) -> int:
        return len(self.runs) + len(self.launches)

    def add_run(self, device: int, begin: int, end: int, correlation: int, name: str) -> None:
        """Take in a run; CUPTI gives zeros for the times of what was in flight or got lost."""
        if 0 < begin <= end:
            self.runs.append(Run(device, begin, end, correlation, name))
        else:
            self.unfinished += 1

    def add_launch(self, correlation: int, begin: int, end: int) -> None:
        """Take in the call that enqueued: of a nested one (driver in runtime) the outermost."""
        known = self.launches.get(correlation)
        if begin > 0 and (known is None or begin < known.begin):
            self.launches[correlation] = Launch(begin, max(begin, end))


class Source(Protocol):
    """CUPTI or torch's profiler."""

    name: str

    def start(self, full: Callable[[], None]) -> None:
        """Begin to collect; call `full` from time to time when `drain` has much to give.

        `full` returns at once, so that it can be called where nothing else may be done.
        Raises Unavailable where that is not possible; then nothing has been changed.
        """

    def timestamp(self) -> int:
        """Now, on the source's clock."""

    def drain(self) -> Records:
        """What has been collected since the last call."""

    def stop(self) -> None:
        """Stop, leave as little behind in the process as can be, and make the rest ready.

        What `drain` has to give is valid also where this raises.
        """

    def lost(self) -> int:
        """How many records were lost for want of room."""
