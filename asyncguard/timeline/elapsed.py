"""What a program takes without some of its waits: its times alone, in one pass over its actions.

`program.play` says the same of a whole program, with each wait and the devices' idle time. A replay
that ranks suggestions asks hundreds of times, and for no more than this.
"""

from __future__ import annotations

import heapq
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from asyncguard.timeline.program import Handover, Pause, Program, Work


@dataclass(frozen=True)
class Left:
    """What is left of a program: the waits `gone` do not happen.

    Where one of a site in `kept` goes, the host works for `kept_ns` instead. A step ends with a
    wait for the newest operation that it enqueued, where `wait_each_step`; with a name, of it.
    """

    gone: AbstractSet[int] = frozenset()
    kept: AbstractSet[int | None] = frozenset()
    kept_ns: int = 0
    wait_each_step: bool | str = False


class Elapsed(NamedTuple):
    """How long it took, host and devices being done; of that, the work of each.

    `device_ns` is the work of the stream that had most.
    """

    duration_ns: int
    steps: int
    host_ns: int
    device_ns: int
    peak_pending_bytes: int

    @property
    def step_ns(self) -> float:
        """The mean time of a step."""
        return self.duration_ns / max(self.steps, 1)


def elapsed(program: Program, left: Left) -> Elapsed:
    """Carry out what is left of a program."""
    now = host = steps = 0
    newest: int | None = None  # what the end of the step waits for
    tails: dict[str, int] = {}  # of the streams: when they will be done,
    busy: dict[str, int] = {}  # and the work of each
    ends: dict[int | None, int] = {}
    behind: dict[int | None, int] = {}  # an operation -> one that was enqueued later and ran first
    pending = _Pending()
    gone = left.gone
    for action in program.actions:
        if isinstance(action, Work):
            now += action.ns
            host += action.ns
        elif isinstance(action, Handover):
            if action.within in gone:
                continue
            key, stream, lasts, latency, gap, host_ns, nbytes, _, name, before = action
            tail = tails.get(stream, 0)
            end = max(now + latency, tail + gap, tail) + lasts
            tails[stream] = ends[key] = end
            busy[stream] = busy.get(stream, 0) + lasts
            if before is not None:
                behind[key] = before
            if nbytes:
                pending.hold(now, end, nbytes)
            if left.wait_each_step in {True, name}:
                newest = key
            now += host_ns
            host += host_ns
        elif isinstance(action, Pause):
            ns = left.kept_ns if action.site in left.kept else 0
            if action.number not in gone:
                target, ns = action.target, action.return_ns
                now = max(now, ends.get(target, now), ends.get(behind.get(target, target), now))
            now += ns
            host += ns
        else:
            now = max(now, ends.get(newest, now), ends.get(behind.get(newest, newest), now))
            newest, steps = None, steps + 1
    until = max([now, *tails.values()])
    return Elapsed(until, steps, host, max(busy.values(), default=0), pending.peak)


class _Pending:
    """The bytes of what is enqueued and not done."""

    def __init__(self) -> None:
        self.peak = self._bytes = 0
        self._held: list[tuple[int, int]] = []  # heap of end, bytes

    def hold(self, now: int, end: int, nbytes: int) -> None:
        while self._held and self._held[0][0] <= now:
            self._bytes -= heapq.heappop(self._held)[1]
        heapq.heappush(self._held, (end, nbytes))
        self._bytes += nbytes
        self.peak = max(self.peak, self._bytes)
