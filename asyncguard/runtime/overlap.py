"""How busy a backend was while the host worked: from the CPU time of the other threads.

An asynchronous CPU backend (MXNet, JAX, TensorFlow) reports no intervals, but it takes CPU time.
While the host is blocked the backend works: that shows how much CPU time it takes when busy.
What it took while the host worked, relative to that, is the share of the time in which it worked
beside the host, for each site that of the host's time before the waits there. The clocks of process
and threads are read around each wait, which costs some microseconds; so it is only done where a
timeline was asked for.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from asyncguard.model import TraceRecord
from asyncguard.runtime.reading import relative
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Site
from asyncguard.timeline.inferred import RETURN_NS, WOKEN_LATE_NS

ENOUGH = 0.02  # of the time has to be spent waiting, or its CPU time says nothing
DOUBT = 0.1  # of a share: a backend takes as much CPU time beside the host as alone, more or less
TASKS = "/proc/self/task"


class Steps(Protocol):
    """Who counts the steps: the session's recorder."""

    @property
    def step(self) -> int:
        """The number of the step under way."""


class Sample(NamedTuple):
    """Three clocks at one moment, in ns; `others` is the CPU time of all threads but this one."""

    now: int
    others: int


class Clocks:
    """Reads the clocks.

    The kernel adds up a thread's CPU time when it stops running, or at a tick, every 4 ms; a clock
    of the process that is read in between misses what threads on other cores have taken since. In
    a wait of 2 ms that may be all of it. To read a thread's own clock brings it up to date.
    """

    def __init__(self) -> None:
        self._threads: list[int] = []  # their clocks
        self._step = -1

    def __call__(self, step: int) -> Sample:
        """Return the clocks now, in a step in which new threads are looked for once."""
        if step != self._step:
            self._step, self._threads = step, _thread_clocks()
        for clock in self._threads:
            _bring_up_to_date(clock)
        return Sample(time.perf_counter_ns(), time.process_time_ns() - time.thread_time_ns())


def _bring_up_to_date(clock: int) -> None:
    with contextlib.suppress(OSError):  # that thread has ended, and its time is counted
        time.clock_gettime_ns(clock)


def _thread_clocks() -> list[int]:
    """The CPU clocks of the threads that there are, as Linux knows them."""
    if sys.platform != "linux":
        return []
    try:
        return [_clock_of(int(thread)) for thread in os.listdir(TASKS)]
    except OSError:  # no /proc here
        return []


def _clock_of(thread: int) -> int:
    """The number under which Linux knows the CPU clock of a thread: see clock_getcpuclockid(3)."""
    per_thread, scheduled = 4, 2
    return ~thread << 3 | per_thread | scheduled


class Share(NamedTuple):
    """A share of the host's own time, as it most likely is, and its bounds."""

    likely: float
    least: float
    most: float


@dataclass
class _Beside:
    """The host's own time, and the backend's CPU time in it, in ns."""

    worked: int = 0
    cpu: int = 0

    def add(self, worked: int, cpu: int) -> None:
        self.worked += worked
        self.cpu += cpu


@dataclass
class _Waited:
    """Time in waits and the backend's CPU time in it, in ns.

    Of each wait a part is the call's own, or the host being woken late, and the rest the device's:
    `blocked` where the part is the usual one, `at_least` where it is as long as it gets.
    """

    whole: int = 0
    blocked: int = 0
    at_least: int = 0
    cpu: int = 0

    def add(self, waited: int, cpu: int) -> None:
        self.whole += waited
        self.blocked += max(waited - RETURN_NS, 0)
        self.at_least += max(waited - WOKEN_LATE_NS, 0)
        self.cpu += cpu

    def share(self, beside: _Beside) -> Share | None:
        """The share of that time in which the backend took CPU time as it does in a wait."""
        waited = self.whole >= ENOUGH * (self.whole + beside.worked)
        if not waited or not beside.worked or self.cpu <= 0:
            return None
        likely, least, most = (
            beside.cpu * busy / self.cpu / beside.worked
            for busy in (self.blocked, self.at_least, self.whole)
        )
        return Share(_share(likely), _share(least - DOUBT), _share(most + DOUBT))


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


class Overlap(Sink):
    """A `hub.Sink` that compares CPU time within waits and between them.

    `clocks` is given the number of the step under way.
    """

    def __init__(
        self, steps: Steps, warmup: int, clocks: Callable[[int], Sample] | None = None
    ) -> None:
        self._steps = steps
        self._warmup = warmup
        self._clocks = clocks or Clocks()
        self._host = threading.get_ident()
        self._last: Sample | None = None  # when the last wait was over
        self._waited = _Waited()
        self._beside: dict[Site, _Beside] = {}  # before the waits at each site

    def begin(self) -> Sample:
        """Called right before a wait."""
        return self._clocks(self._steps.step)

    def end(self, site: Site, began: Sample) -> None:
        """Called right after it."""
        if threading.get_ident() != self._host or not _is_asynchronous(site):
            return
        step = self._steps.step
        now = self._clocks(step)
        if step >= self._warmup and self._last is not None:
            beside = self._beside.setdefault(site.home, _Beside())
            beside.add(began.now - self._last.now, began.others - self._last.others)
            self._waited.add(now.now - began.now, now.others - began.others)
        self._last = now if step >= self._warmup else None

    part = end

    @property
    def share(self) -> Share | None:
        """The share of the host's own time in which the backend worked; None where unknown."""
        whole = _Beside()
        for beside in self._beside.values():
            whole.add(beside.worked, beside.cpu)
        return self._waited.share(whole)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record with the share, and with those before the waits at each site."""
        share = self.share
        if share is None:
            return record
        before = {
            _Place(
                relative(site.path, record.root), site.line, site.blocker.point.id, site.reason
            ): self._waited.share(beside)
            for site, beside in self._beside.items()
        }
        by_site = {}
        for at, site in enumerate(record.sites):
            around = before.get(_Place(site.path, site.line, site.api, site.allowed))
            if around is not None:
                by_site[str(at)] = list(around)
        found = {
            "backend_overlap": share.likely,
            "backend_overlap_range": [share.least, share.most],
            "backend_overlap_by_site": by_site,
        }
        return replace(record, extra={**record.extra, **found})


class _Place(NamedTuple):
    """What tells sites of a record apart, but for the thread."""

    path: str
    line: int
    api: str
    allowed: str | None


def _is_asynchronous(site: Site) -> bool:
    blocker = site.blocker
    return not blocker.stand_in and "cpu" in blocker.device.lower()
